"""`junit.xml`: one case for each check and one for each selected profile, for CI that knows nothing else."""

from xml.etree import ElementTree as ET

from conformance.model import Verdict
from conformance.reports.findings import replay_command
from conformance.reports.identity import started, subject_name
from conformance.reports.outcome import Outcome, message_of, outcome_of
from conformance.reports.report import CheckResult, ProfileResult, Report
from conformance.reports.sanitize import one_line

_NO_PROFILE = "no-profile"


def render(report: Report) -> str:
    """Write the document. The cases of the profiles keep a run that verified nothing from being green."""
    suite = ET.Element("testsuite", name=f"sandbox provider conformance: {subject_name(report)}")
    sources = {each.id: each.source for each in report.requirements}
    outcomes = [_profile(suite, each) for each in report.selected()]
    outcomes += [_check(suite, report, each, sources.get(each.id, "")) for each in report.checks]
    suite.set("tests", str(len(outcomes)))
    suite.set("failures", str(outcomes.count(Outcome.FAILED)))
    suite.set("errors", str(outcomes.count(Outcome.ERROR)))
    suite.set("skipped", str(outcomes.count(Outcome.SKIPPED)))
    suite.set("time", f"{report.seconds:.3f}")
    moment = started(report)
    if moment is not None:
        suite.set("timestamp", moment.isoformat())
    root = ET.Element("testsuites", dict(suite.items()))
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _profile(suite: ET.Element, profile: ProfileResult) -> Outcome:
    case = ET.SubElement(suite, "testcase", classname=profile.name, name="verdict", time="0")
    message = f"{profile.verdict}: {profile.reason}"
    match profile.verdict:
        case Verdict.CERTIFIED:
            return Outcome.PASSED
        case Verdict.FAILED:
            ET.SubElement(case, "failure", message=message, type=profile.verdict.value)
            return Outcome.FAILED
        case Verdict.INCOMPLETE | Verdict.CUSTOM_RUN:
            ET.SubElement(case, "error", message=message, type=profile.verdict.value)
            return Outcome.ERROR
        case Verdict.UNSUPPORTED:
            ET.SubElement(case, "skipped", message=message)
            return Outcome.SKIPPED


def _check(suite: ET.Element, report: Report, check: CheckResult, source: str) -> Outcome:
    name = f"{check.id} {check.name.replace('_', ' ')}"
    seconds = f"{check.seconds or 0:.3f}"
    case = ET.SubElement(suite, "testcase", classname=check.profile or _NO_PROFILE, name=name, time=seconds)
    properties = ET.SubElement(case, "properties")
    told = {"level": check.level, "state": check.state, "area": check.area, "blame": check.blame or "", "rule": source}
    for key, value in told.items():
        if value:
            ET.SubElement(properties, "property", name=key, value=one_line(value))
    message = one_line(message_of(check))
    outcome = outcome_of(check.state)
    match outcome:
        case Outcome.PASSED:
            if check.reason:
                ET.SubElement(case, "system-out").text = message
        case Outcome.FAILED:
            ET.SubElement(case, "failure", message=message, type=check.state.value).text = _story(report, check)
        case Outcome.ERROR:
            ET.SubElement(case, "error", message=message, type=check.state.value).text = _story(report, check)
        case Outcome.SKIPPED:
            ET.SubElement(case, "skipped", message=message)
    return outcome


def _story(report: Report, check: CheckResult) -> str:
    parts = (
        ("sent", check.sent),
        ("expected", check.expected),
        ("observed", check.observed),
        ("to do", check.advice),
        ("replay", replay_command(report, check)),
    )
    return "\n".join(f"{label}: {one_line(text)}" for label, text in parts if text)
