"""A run as numbered steps, each of which stands on one rule."""

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from conformance.answer import evidence_of
from conformance.errors import KitError, MalformedAnswer, ProviderFault
from conformance.evidence import Blocked, Evidence, Trace
from conformance.model import FrameNumber, RequirementId


@dataclass(frozen=True)
class Stage:
    """One step of a run, and the rule by which it is judged."""

    title: str
    rule: str


class Flow:
    """Where a rehearsal is.

    A step that stands on the rule of the check decides it. Any other step that does not hold blocks the check by its
    own rule, which has checks of its own. Either way the reason begins with the number and the title of the step.
    """

    def __init__(self, trace: Trace, stages: Sequence[Stage]) -> None:
        self.trace = trace
        self._stages = tuple(stages)
        self._place = 0
        if not any(stage.rule == trace.requirement for stage in stages):
            raise KitError(f"No step of the rehearsal {trace.check} stands on {trace.requirement}.")

    @property
    def stage(self) -> Stage:
        """The step that is under way."""
        return self._stages[self._place - 1]

    @property
    def where(self) -> str:
        """The step that is under way, for a reader of the finding."""
        return f"step {self._place} of {len(self._stages)}, {self.stage.title}"

    @contextlib.contextmanager
    def step(self, stage: Stage) -> Generator[None]:
        """The time of one step. What a call or another step raises in it is told with the step."""
        if self._place == len(self._stages) or self._stages[self._place] != stage:
            raise KitError(f"The rehearsal {self.trace.check} left its order at {stage.title!r}.")
        self._place += 1
        try:
            yield
        except MalformedAnswer as fault:
            self._refuse(fault.requirement, fault.sentence(), evidence_of(fault).frames)
        except ProviderFault as fault:
            answer = evidence_of(fault)
            self.demand(answer, holds=False, that=f"{answer.method} is answered with a result", observed=answer.came)
        except Blocked as blocked:
            self._refuse(blocked.by, blocked.reason, blocked.frames)

    def demand(
        self, evidence: Evidence, *, holds: bool, that: str, observed: object, advice: str = "", rule: str | None = None
    ) -> None:
        """Demand something by the rule of the step, or by `rule`, where a part of the step stands on another one."""
        by = RequirementId(self.stage.rule if rule is None else rule)
        if by == self.trace.requirement:
            self.trace.decide(
                holds=holds,
                expected=f"{self.where}: {that}",
                observed=observed,
                frames=evidence.frames,
                sent=evidence.sent,
                advice=advice,
            )
        elif not holds:
            raise Blocked(by, f"{self.where}: expected that {that}; saw {observed}", evidence.frames)

    def _refuse(self, by: RequirementId, reason: str, frames: Sequence[FrameNumber]) -> None:
        told = reason if reason.startswith(self.where) else f"{self.where}: {reason}"
        if by == self.trace.requirement:
            self.trace.decide(holds=False, expected=f"{self.where}: the step succeeds", observed=told, frames=frames)
        raise Blocked(by, told, frames)
