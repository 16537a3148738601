"""What changed between two reports: better, worse, new, gone, for checks, capabilities and profiles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from conformance.model import Json, State, Verdict, Word
from conformance.reports.fields import Fields

_Named = TypeVar("_Named", State, Word, Verdict)


class Turn(StrEnum):
    """Which way something went. `other`: it changed, and is neither better nor worse."""

    WORSE = "worse"
    GONE = "gone"
    BETTER = "better"
    NEW = "new"
    OTHER = "other"


class Kind(StrEnum):
    """What is compared."""

    PROFILE = "profile"
    CAPABILITY = "capability"
    CHECK = "check"


_BROKEN, _UNDECIDED, _UNCLAIMED, _NEARLY, _GOOD = range(5)
"""Grades, worst first. Not to claim something is better than to claim it falsely, and worse than to keep it."""

_STATES: Final[Mapping[State, int]] = {
    State.FAIL: _BROKEN,
    State.EXPECTED_FAIL: _BROKEN,
    State.KIT_ERROR: _UNDECIDED,
    State.ENV_ERROR: _UNDECIDED,
    State.OVER_BUDGET: _UNDECIDED,
    State.UNSTABLE: _UNDECIDED,
    State.INCONCLUSIVE: _UNDECIDED,
    State.UNEXPECTED_PASS: _UNDECIDED,
    State.BLOCKED: _UNDECIDED,
    State.SKIPPED: _UNDECIDED,
    State.UNSUPPORTED: _UNCLAIMED,
    State.NOT_APPLICABLE: _UNCLAIMED,
    State.WARN: _NEARLY,
    State.PASS: _GOOD,
}
_WORDS: Final[Mapping[Word, int]] = {
    Word.BROKEN_PROMISE: _BROKEN,
    Word.HOLLOW_PROMISE: _BROKEN,
    Word.BROKEN: _BROKEN,
    Word.UNPROVEN: _UNDECIDED,
    Word.NOT_CLAIMED: _UNCLAIMED,
    Word.DECLINED: _UNCLAIMED,
    Word.ABSENT: _UNCLAIMED,
    Word.CERTIFIED_BY_DISCOVERY: _GOOD,
    Word.CERTIFIED: _GOOD,
}
_VERDICTS: Final[Mapping[Verdict, int]] = {
    Verdict.FAILED: _BROKEN,
    Verdict.INCOMPLETE: _UNDECIDED,
    Verdict.UNSUPPORTED: _UNCLAIMED,
    Verdict.CUSTOM_RUN: _NEARLY,
    Verdict.CERTIFIED: _GOOD,
}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was. `regression`: somebody has to look."""

    kind: Kind
    key: str
    turn: Turn
    before: str | None
    after: str | None
    regression: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """All changes, regressions first, and what makes the two reports hard to compare."""

    changes: tuple[Change, ...]
    unlike: tuple[str, ...]

    @property
    def regressions(self) -> tuple[Change, ...]:
        """The changes for the worse."""
        return tuple(each for each in self.changes if each.regression)


def compare(old: Fields, new: Fields) -> Difference:
    """Compare two certification documents.

    What is gone is a regression only where the same checks were there to be run: then somebody left it out.
    """
    same_checks = old.inner("kit").json("checks_digest") == new.inner("kit").json("checks_digest")
    same_rules = old.inner("revision").json("id") == new.inner("revision").json("id")
    strict = same_checks and same_rules
    changes = [
        *_changes(Kind.PROFILE, _profiles(old), _profiles(new), _VERDICTS, strict=strict),
        *_changes(Kind.CAPABILITY, _capabilities(old), _capabilities(new), _WORDS, strict=strict),
        *_changes(Kind.CHECK, _checks(old), _checks(new), _STATES, strict=strict),
    ]
    order = list(Turn)
    changes.sort(key=lambda each: (not each.regression, order.index(each.turn)))
    return Difference(tuple(changes), tuple(_unlike(old, new)))


def _changes(
    kind: Kind, old: Mapping[str, _Named], new: Mapping[str, _Named], grades: Mapping[_Named, int], *, strict: bool
) -> Iterator[Change]:
    for key, before in old.items():
        after = new.get(key)
        if after is None:
            yield Change(kind, key, Turn.GONE, before, None, strict and grades[before] in {_NEARLY, _GOOD})
        elif after is not before:
            turn = _turn(grades[before], grades[after])
            yield Change(kind, key, turn, before, after, turn is Turn.WORSE)
    for key, after in new.items():
        if key not in old:
            # What was there all along and is only now looked for is not the newer version's fault.
            yield Change(kind, key, Turn.NEW, None, after, strict and grades[after] == _BROKEN)


def _turn(before: int, after: int) -> Turn:
    if before == after:
        return Turn.OTHER
    return Turn.BETTER if after > before else Turn.WORSE


def _profiles(document: Fields) -> dict[str, Verdict]:
    rows = (row for row in document.rows("profiles") if row.flag("selected"))
    return {row.label("name"): row.word("verdict", Verdict) for row in rows}


def _capabilities(document: Fields) -> dict[str, Word]:
    return {row.label("key"): row.word("word", Word) for row in document.rows("capabilities")}


def _checks(document: Fields) -> dict[str, State]:
    return {f"{row.label('id')} {row.label('name')}": row.word("state", State) for row in document.rows("checks")}


def _unlike(old: Fields, new: Fields) -> Iterator[str]:
    parts = (
        ("package", "subject", "name"),
        ("contract revision", "revision", "id"),
        ("kit", "kit", "version"),
        ("check set", "kit", "checks_digest"),
    )
    for words, part, key in parts:
        before, after = (each.inner(part).json(key) for each in (old, new))
        if before != after:
            yield f"{words}: {_shown(before)} -> {_shown(after)}"
    for which, document in (("old", old), ("new", new)):
        if document.inner("run").texts("custom"):
            yield f"the {which} one is a custom run"


def _shown(value: Json) -> str:
    return Fields({"value": value}, "").prose("value") or "nothing"
