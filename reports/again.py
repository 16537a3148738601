"""What a check that was run again says about the finding of a report: fixed, still failing, or different."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.model import ExitCode, State
from conformance.reports.fields import Fields
from conformance.reports.sanitize import one_line

_TEXT: Final = 200
_QUIET: Final = frozenset({State.UNSUPPORTED, State.NOT_APPLICABLE, State.SKIPPED})
_VOLATILE: Final = re.compile(
    r"(?<=: )\"(?:[^\"\\]|\\.)*(?:\"|$)"  # values in JSON, such as places and ids; the last one may be cut
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # ids that are drawn
    r"|\b(?=[0-9a-f]*[0-9])[0-9a-f]{6,}\b"  # digests
    r"|(?<![-\w])\d+(?:\.\d+)?",  # times, sizes and numbers of processes; an error code has its sign, and stays
    re.IGNORECASE,
)
"""What differs between two runs that saw the same."""

_CUT: Final = "\u2026 ("
"""How a long text that a check saw ends, before it says how much is missing."""


class Turn(StrEnum):
    """How the second look compares with the first."""

    FIXED = "fixed"
    STILL = "still failing"
    DIFFERENT = "different"
    AS_RECORDED = "as recorded"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check. None stands for a rule that nothing broke, where only the wire looks for it."""

    state: State | None
    reason: str = ""
    expected: str = ""
    observed: str = ""

    @classmethod
    def of(cls, row: Fields) -> "Outcome":
        """Read one row of `checks` in a certification document."""
        return cls(
            row.word("state", State),
            row.prose("reason") or "",
            row.prose("expected") or "",
            row.prose("observed") or "",
        )

    def like(self, other: "Outcome") -> bool:
        """Whether both saw the same kind of thing: the same answer to the same expectation."""
        same = _alike(self.expected, other.expected) and _alike(self.observed, other.observed)
        return self.state is other.state and same

    @property
    def good(self) -> bool:
        """Whether there is nothing left to mend."""
        return self.state in {None, State.PASS}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One sentence about one check, and the exit code it asks for."""

    turn: Turn
    sentence: str
    code: int


def compare(name: str, before: Outcome, after: Outcome) -> Comparison:
    """Compare what the report says about the check `name` with what the same check said now."""
    code = _code(after.state)
    if after.like(before) or (after.good and before.good):
        if after.good or after.state in _QUIET:
            return Comparison(Turn.AS_RECORDED, f"{name}: as recorded, {_now(after)}.", ExitCode.CERTIFIED)
        told = "" if after.state is State.FAIL else f" ({after.state})"
        return Comparison(Turn.STILL, f"{name}: still failing{told}. {_seen(after)}".strip(), code)
    if after.good and before.state not in _QUIET:
        return Comparison(Turn.FIXED, f"{name}: fixed, {_then(before)} and {_now(after)}.", code)
    told = "in another way " if after.state is before.state else ""
    sentence = f"{name}: different, {_then(before)} and {_now(after)} {told}".strip()
    return Comparison(Turn.DIFFERENT, f"{sentence}. {_seen(after)}".strip(), code)


def _then(outcome: Outcome) -> str:
    match outcome.state:
        case None | State.PASS:
            return "it passed in the report"
        case State.FAIL:
            return "it failed in the report"
        case _:
            return f"it was {outcome.state} in the report"


def _now(outcome: Outcome) -> str:
    match outcome.state:
        case None | State.PASS:
            return "passes now"
        case State.FAIL:
            return "fails now"
        case _:
            return f"is {outcome.state} now"


def _seen(outcome: Outcome) -> str:
    if outcome.state is State.PASS:
        return ""
    text = one_line(f"expected {outcome.expected}; observed {outcome.observed}", _TEXT) if outcome.expected else ""
    return text[:1].upper() + text[1:] if text else one_line(outcome.reason, _TEXT)


def _code(state: State | None) -> int:
    match state:
        case None | State.PASS:
            return ExitCode.CERTIFIED
        case State.FAIL | State.EXPECTED_FAIL | State.WARN:
            return ExitCode.FAILED
        case State.ENV_ERROR:
            return ExitCode.ENVIRONMENT
        case State.KIT_ERROR:
            return ExitCode.KIT
        case State.OVER_BUDGET:
            return ExitCode.BUDGET
        case State.UNSUPPORTED | State.NOT_APPLICABLE | State.SKIPPED:
            return ExitCode.NOTHING_VERIFIED
        case State.INCONCLUSIVE | State.BLOCKED | State.UNSTABLE | State.UNEXPECTED_PASS:
            return ExitCode.INCOMPLETE


def _alike(one: str, other: str) -> bool:
    left, right = (_VOLATILE.sub("#", text.partition(_CUT)[0]) for text in (one, other))
    if _CUT not in one + other:
        return left == right
    # Where a text was cut hangs on the length of what differs, so the ends say nothing.
    length = min(len(left), len(right)) * 9 // 10
    return left[:length] == right[:length]
