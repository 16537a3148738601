"""Whether a report may be believed: each way in which it may not has a number and a sentence of its own.

What the contract and the checks of this kit are is passed in: a report is not allowed to say by itself what it
should be measured by.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from conformance.model import Json, JsonObject, Verdict, items_of, object_of
from conformance.reports.collect import WIRE_CHECK
from conformance.reports.identity import VALID_DAYS, expires, started, subject_name
from conformance.reports.report import ProfileResult, Report, text_of
from conformance.reports.sanitize import one_line


class Cause(IntEnum):
    """Exit codes of `verify`, in the order in which the causes are looked for."""

    VERIFIED = 0
    NO_EVIDENCE = 30
    DAMAGED = 31
    UNSIGNED = 32
    SIGNATURE = 33
    OTHER_KIT = 34
    EDITED = 35
    CUSTOM_RUN = 36
    UNKNOWN_REVISION = 37
    UNKNOWN_CHECKS = 38
    OTHER_RULES = 39
    NO_COMMON_DIGEST = 40
    OTHER_PACKAGE = 41
    FAILED = 42
    INCOMPLETE = 43
    UNDATED = 44
    EXPIRED = 45
    SUPERSEDED = 46


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it."""

    cause: Cause
    sentence: str


@dataclass(frozen=True, slots=True)
class Measure:
    """What this kit holds to be true about one revision of the contract.

    What comes after `superseded` is compared with what the header of a stream says: it may claim nothing else.
    `checks` has the names of all checks of a requirement: each of them has to be in the report.
    """

    version: str
    kit_digest: str
    revision_digest: str
    checks_digest: str
    current_revision: str
    superseded: bool
    required: Mapping[str, Sequence[str]]
    requirements: JsonObject
    capabilities: JsonObject
    limits: Mapping[str, float]
    coverage: JsonObject
    proofs: JsonObject
    checks: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Held:
    """The package that somebody holds: what its digest was taken of, as in the subject of a report, and the digest."""

    key: str
    digest: str


def judge(
    report: Report,
    header: JsonObject,
    measure: Measure | None,
    today: dt.date,
    held: Held | None = None,
    profile: ProfileResult | None = None,
) -> Answer:
    """Judge a counted report by what the kit knows; the first cause against it is the answer.

    `measure` is None when the kit does not have the revision. `profile` narrows the question to one profile, as a badge
    does.
    """
    checks = (
        _custom(report, header, measure),
        _revision(report, measure),
        _rules(report, header, measure),
        _package(report, held),
        _verdict(report, profile),
        _dates(report, measure, today),
    )
    against = next((answer for found in checks for answer in found), None)
    return Answer(Cause.VERIFIED, _verified(report, profile)) if against is None else against


def _verified(report: Report, profile: ProfileResult | None) -> str:
    names = [each.name for each in report.selected() if each.verdict is Verdict.CERTIFIED]
    what = ", ".join(names) if profile is None else profile.name
    until = expires(report)
    day = "" if until is None else f", and stands until {until.isoformat()}"
    revision = one_line(text_of(report.revision, "id"), 40)
    return f"{subject_name(report)} is certified under contract {revision} for {what}{day}."


def _custom(report: Report, header: JsonObject, measure: Measure | None) -> Iterator[Answer]:
    run = object_of(header.get("run"))
    for reason in report.custom:
        yield Answer(Cause.CUSTOM_RUN, f"This is a custom run: {one_line(reason, 200)}")
    if items_of(run.get("filters")):
        yield Answer(Cause.CUSTOM_RUN, "This is a custom run: checks were filtered.")
    limits = object_of(run.get("limits"))
    standard: Mapping[str, float] = {} if measure is None else measure.limits
    for name in {*limits, *standard}:
        limit = object_of(limits.get(name))
        value = limit.get("value")
        if limit.get("changed") is not False or value != limit.get("default") or value != standard.get(name, value):
            yield Answer(
                Cause.CUSTOM_RUN, f"This is a custom run: the limit {one_line(name, 60)} is not the standard one."
            )


def _revision(report: Report, measure: Measure | None) -> Iterator[Answer]:
    revision = one_line(text_of(report.revision, "id"), 40) or "without a name"
    if measure is None:
        yield Answer(Cause.UNKNOWN_REVISION, f"This kit does not know the contract revision {revision}.")
    elif text_of(report.revision, "digest") != measure.revision_digest:
        yield Answer(Cause.UNKNOWN_REVISION, f"What the report calls revision {revision} is not the one of this kit.")


def _rules(report: Report, header: JsonObject, measure: Measure | None) -> Iterator[Answer]:
    if measure is None:
        return
    if text_of(report.kit, "checks_digest") != measure.checks_digest:
        version = one_line(text_of(report.kit, "version"), 40) or "unknown"
        advice = f"verify it with kit version {version}"
        if version == measure.version:
            advice = f"both say they are version {version}, so one of them was changed"
        yield Answer(Cause.UNKNOWN_CHECKS, f"The report was made with other checks than those of this kit: {advice}.")
    claimed = object_of(header.get("profiles"))
    required = {name: items_of(object_of(profile).get("required")) for name, profile in claimed.items()}
    if required != {name: list(ids) for name, ids in measure.required.items()}:
        yield Answer(Cause.OTHER_RULES, "The ids that the profiles require are not those of the contract.")
    if header.get("requirements") != measure.requirements or _untitled(header) != _bare(measure.capabilities):
        yield Answer(Cause.OTHER_RULES, "The rules or capabilities in the report are not those of the contract.")
    # Another build of the kit may have the same checks and more broken providers to prove them by.
    same_build = text_of(report.kit, "digest") == measure.kit_digest
    if header.get("coverage") != measure.coverage or (same_build and header.get("proofs") != measure.proofs):
        yield Answer(Cause.OTHER_RULES, "What the report says about its checks is not what this kit knows of them.")
    yield from _left_out(report, measure)


def _left_out(report: Report, measure: Measure) -> Iterator[Answer]:
    there: dict[str, set[str]] = {}
    for check in report.checks:
        there.setdefault(check.id, set()).add(check.name)
    for key in dict.fromkeys(key for profile in report.selected() for key in profile.required):
        known, found = measure.checks.get(key, frozenset[str]()), there.get(key, set[str]()) - {WIRE_CHECK}
        for name in sorted(known - found):
            yield Answer(Cause.OTHER_RULES, f"The report lacks the check {name} of {key}.")
        for name in sorted(found - known):
            yield Answer(
                Cause.OTHER_RULES, f"The report has a check of {key} that this kit has not: {one_line(name, 80)}."
            )


def _untitled(header: JsonObject) -> JsonObject:
    return _bare(object_of(header.get("capabilities")))


def _bare(capabilities: JsonObject) -> JsonObject:
    return {
        key: {name: value for name, value in object_of(rule).items() if name != "title"}
        for key, rule in capabilities.items()
    }


def _package(report: Report, held: Held | None) -> Iterator[Answer]:
    if held is None:
        return
    recorded: Json = report.subject.get(held.key)
    if not isinstance(recorded, str):
        what = "a tarball" if held.key == "tarball_digest" else "a package directory"
        yield Answer(
            Cause.NO_COMMON_DIGEST, f"The report is not about {what}, so it cannot be compared with the package."
        )
    elif recorded != held.digest:
        yield Answer(Cause.OTHER_PACKAGE, f"The report is about another package: {one_line(recorded, 100)}.")


def _verdict(report: Report, profile: ProfileResult | None) -> Iterator[Answer]:
    verdict = report.verdict if profile is None else profile.verdict
    reason = one_line(profile.reason if profile is not None else " ".join(report.reasons), 300)
    if report.invalid:
        yield Answer(Cause.INCOMPLETE, "The kit failed in this run, so it certifies nobody.")
    match verdict:
        case Verdict.CERTIFIED:
            return
        case Verdict.FAILED:
            yield Answer(Cause.FAILED, f"The report is genuine, and says failed: {reason}")
        case Verdict.CUSTOM_RUN:
            yield Answer(Cause.CUSTOM_RUN, f"This is a custom run: {reason}")
        case Verdict.INCOMPLETE | Verdict.UNSUPPORTED:
            yield Answer(Cause.INCOMPLETE, f"The report is genuine, and says {verdict}: {reason}")


def _dates(report: Report, measure: Measure | None, today: dt.date) -> Iterator[Answer]:
    issued, until = started(report), expires(report)
    if issued is None or until is None:
        yield Answer(Cause.UNDATED, "The report does not say when the run was, so nobody knows whether it has expired.")
        return
    if issued.date() > today + dt.timedelta(days=1):
        yield Answer(Cause.UNDATED, f"The report says that the run was on {issued.date()}, which is still to come.")
    if until < today:
        yield Answer(
            Cause.EXPIRED, f"The report has expired: it stood for {VALID_DAYS} days, until {until.isoformat()}."
        )
    if measure is not None and measure.superseded:
        now = measure.current_revision
        yield Answer(
            Cause.SUPERSEDED, f"The report has expired: contract revision {now} has taken the place of its own."
        )
