"""What a check saw, what it decided from it, and how it ends when the decision goes against the provider.

A check passes only if it decided something on evidence. Evidence comes from the wire or from the package; nothing
else can make one, so an assertion on nothing cannot pass for a check.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from conformance.model import Blame, FrameNumber, RequirementId

SHOWN_CHARACTERS = 600
"""Longest value shown in a finding (our choice: a finding must fit on a screen; the transcript has the rest)."""


@dataclass(frozen=True)
class Decision:
    """One deciding assertion: what the rule demands, what was seen, and whether it holds."""

    holds: bool
    expected: str
    observed: str
    frames: tuple[FrameNumber, ...]


class CheckEnded(Exception):
    """A check has its answer before its last line."""


class Finding(CheckEnded):
    """The rule is broken. `sent` and `advice` are for the person who has to mend it; `timed`: it came too late."""

    def __init__(
        self, decision: Decision, sent: str, advice: str, blame: Blame = Blame.PROVIDER, *, timed: bool = False
    ) -> None:
        super().__init__(f"expected {decision.expected}; observed {decision.observed}")
        self.decision = decision
        self.sent = sent
        self.advice = advice
        self.blame = blame
        self.timed = timed


class Blocked(CheckEnded):
    """The check could not be set up, because another rule is broken: `by` names it."""

    def __init__(self, by: RequirementId, reason: str, frames: Sequence[FrameNumber] = ()) -> None:
        super().__init__(f"blocked by {by}: {reason}")
        self.by = by
        self.reason = reason
        self.frames = tuple(frames)


class Undecided(CheckEnded):
    """The situation that the rule speaks about did not come up, so nothing can be said."""


@dataclass
class Trace:
    """The record of one check while it runs."""

    requirement: RequirementId
    check: str
    decisions: list[Decision] = field(default_factory=list[Decision])
    nearest_to_limit: float | None = None
    waits_for: str = ""
    """What it waits for now, for whoever watches the run."""

    def decide(
        self,
        *,
        holds: bool,
        expected: str,
        observed: object,
        frames: Sequence[FrameNumber] = (),
        sent: str = "",
        advice: str = "",
        most: int = SHOWN_CHARACTERS,
        timed: bool = False,
    ) -> None:
        """Record a decision; of `observed`, `most` characters are kept. Raises `Finding` when it does not hold.

        `timed` says that time decided it: what else ran then may be the reason.
        """
        shown = observed if isinstance(observed, str) else show(observed)
        decision = Decision(holds, expected, cut(shown, most), tuple(frames))
        self.decisions.append(decision)
        if not holds:
            raise Finding(decision, cut(sent), advice, timed=timed)

    def spent(self, share: float) -> None:
        """Note how much of its time limit a call used, 1.0 being all of it."""
        self.nearest_to_limit = share if self.nearest_to_limit is None else max(share, self.nearest_to_limit)


class Evidence(Protocol):
    """Something that was seen. `frames` are its lines in the transcript, `sent` says what provoked it."""

    @property
    def trace(self) -> Trace:
        """The check that saw it."""
        ...

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """Where it stands in the transcript."""
        ...

    @property
    def sent(self) -> str:
        """What provoked it, in words."""
        ...


def show(value: object) -> str:
    """A value as a person can read it: JSON where possible, with control characters escaped."""
    try:
        return json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError):
        return ascii(value)


def show_start(text: str, limit: int) -> str:
    """`show` of a text that may be very long, cut; what nobody is going to see is not made ready to be seen."""
    if len(text) <= limit:
        return cut(show(text), limit)
    return f"{show(text[:limit])[:limit]}… ({len(text) - limit} more characters)"


def cut(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    """At most `limit` characters, with a note of what is missing."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
