"""`ctrf.json`: the run in the Common Test Report Format, whose readers know five words and refuse unknown keys."""

import json

from conformance.model import Json
from conformance.reports.findings import replay_command
from conformance.reports.identity import started, subject_name
from conformance.reports.outcome import Outcome, message_of, outcome_of
from conformance.reports.report import CheckResult, Report, text_of
from conformance.reports.sanitize import clean_json

SPEC_VERSION = "0.0.0"
"""The format has no numbered release yet; its schema asks for some version, and its own examples say this one."""

_WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "other",
    Outcome.SKIPPED: "skipped",
}


def render(report: Report) -> str:
    """Write the document; what the format has no key for stands in `extra`."""
    outcomes = [outcome_of(each.state) for each in report.checks]
    moment = started(report)
    begin = 0 if moment is None else round(moment.timestamp() * 1000)
    document: Json = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "generatedBy": "sandbox-provider-conformance",
        "results": {
            "tool": {"name": "sandbox-provider-conformance", "version": text_of(report.kit, "version")},
            "summary": {
                "tests": len(outcomes),
                **{word: outcomes.count(outcome) for outcome, word in _WORDS.items()},
                "pending": 0,
                "start": begin,
                "stop": begin + round(report.seconds * 1000),
            },
            "tests": [_test(report, each) for each in report.checks],
            "extra": {
                "subject": subject_name(report),
                "verdict": report.verdict,
                "exitCode": report.exit_code,
                "profiles": {each.name: each.verdict for each in report.profiles if each.selected},
                "stream": report.digest,
            },
        },
    }
    return json.dumps(clean_json(document), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _test(report: Report, check: CheckResult) -> Json:
    outcome = outcome_of(check.state)
    told: dict[str, Json] = {
        "testId": f"{check.id}/{check.name}",
        "name": f"{check.id} {check.name.replace('_', ' ')}",
        "status": _WORDS[outcome],
        "rawStatus": check.state,
        "duration": round((check.seconds or 0) * 1000),
        "suite": [check.profile or "no-profile", check.area],
        "tags": [check.level],
    }
    if outcome is not Outcome.PASSED or check.reason:
        told["message"] = message_of(check)
    extra: dict[str, Json] = {
        "blame": check.blame,
        "expected": check.expected,
        "observed": check.observed,
        "sent": check.sent,
        "advice": check.advice,
        "frames": list(check.frames),
        "replay": replay_command(report, check),
    }
    return {**told, "extra": {key: value for key, value in extra.items() if value}}
