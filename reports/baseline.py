"""What the author expects to be broken, laid over what the run found. It softens the exit code, never the verdict."""

from collections.abc import Sequence
from dataclasses import replace

from conformance.model import State
from conformance.reports.fields import Fields
from conformance.reports.report import BaselineEntry, BaselineUse, CheckResult, Use

_SOFT = {"fail": State.EXPECTED_FAIL, "warn": State.WARN, "skip": State.SKIPPED}
"""How a check counts that ended as its entry expects."""

_HARD = {"fail": State.FAIL, "warn": State.WARN, "skip": State.SKIPPED}


def state_by_baseline(state: State, expected: str | None) -> State:
    """How a check counts when a baseline expects `fail`, `warn` or `skip` of it, or nothing."""
    if expected is None:
        return state
    if state is _HARD[expected]:
        return _SOFT[expected]
    return State.UNEXPECTED_PASS if state is State.PASS else state


def apply(header: Fields, checks: Sequence[CheckResult]) -> tuple[tuple[CheckResult, ...], BaselineUse | None]:
    """The checks as they count beside the baseline in the header, and what became of each of its entries."""
    if header.json("baseline") is None:
        return tuple(checks), None
    fields = header.inner("baseline")
    entries = {(each.label("id"), each.label("check")): each for each in fields.rows("entries")}
    counted = tuple(_counted(check, entries.get((check.id, check.name))) for check in checks)
    states = {(check.id, check.name): check.state for check in counted}
    return counted, BaselineUse(
        file=fields.label("file"),
        digest=fields.label("digest"),
        entries=tuple(_entry(each, states.get(key)) for key, each in entries.items()),
    )


def softened(checks: Sequence[CheckResult], baseline: BaselineUse) -> tuple[CheckResult, ...]:
    """The checks as the exit code sees them: what the baseline expects counts as settled."""
    used = {(each.id, each.check) for each in baseline.entries if each.use is Use.USED}
    return tuple(
        replace(check, state=State.UNSUPPORTED if check.state is State.SKIPPED else State.WARN)
        if (check.id, check.name) in used
        else check
        for check in checks
    )


def _counted(check: CheckResult, entry: Fields | None) -> CheckResult:
    state = state_by_baseline(check.state, None if entry is None else entry.label("state"))
    if state is check.state:
        return check
    if state is State.UNEXPECTED_PASS:
        return replace(
            check, state=state, reason="It passes, and the baseline expects that it does not: remove its entry."
        )
    return replace(check, state=state)


def _entry(fields: Fields, state: State | None) -> BaselineEntry:
    expected = fields.label("state")
    settled = Use.USED if state is _SOFT[expected] else Use.UNUSED
    return BaselineEntry(
        id=fields.label("id"),
        check=fields.label("check"),
        state=expected,
        reason=fields.text("reason"),
        owner=fields.label("owner"),
        link=fields.text("link"),
        expires=fields.label("expires"),
        use=Use.STALE if state is State.UNEXPECTED_PASS else settled,
    )
