"""How our states look to tools that know fewer words: one mapping for JUnit, CTRF and the job summary."""

from enum import StrEnum
from typing import assert_never

from conformance.model import State
from conformance.reports.report import CheckResult


class Outcome(StrEnum):
    """What a test tool can say. `error`: nothing is known about the provider."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


def outcome_of(state: State) -> Outcome:
    """Translate a state. Whoever reads only this must never take an undecided check for a good one."""
    match state:
        case State.PASS | State.WARN:
            return Outcome.PASSED
        case State.FAIL | State.EXPECTED_FAIL:
            return Outcome.FAILED
        case (
            State.KIT_ERROR
            | State.ENV_ERROR
            | State.OVER_BUDGET
            | State.INCONCLUSIVE
            | State.UNSTABLE
            | State.UNEXPECTED_PASS
        ):
            return Outcome.ERROR
        case State.UNSUPPORTED | State.NOT_APPLICABLE | State.SKIPPED | State.BLOCKED:
            return Outcome.SKIPPED
        case _:
            assert_never(state)


def message_of(check: CheckResult) -> str:
    """Say in a sentence why a check is what it is; viewers often show nothing else."""
    blame = f" (blame: {check.blame})" if check.blame is not None else ""
    behind = f" behind {check.blocked_by}" if check.blocked_by is not None else ""
    reason = f": {check.reason}" if check.reason else ""
    return f"{check.state}{blame}{behind}{reason}"
