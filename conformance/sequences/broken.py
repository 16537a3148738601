"""How a sequence of calls ends that does not go as the model says."""

from collections.abc import Sequence

from conformance.evidence import Evidence
from conformance.model import FrameNumber, RequirementId


class Broken(Exception):
    """The provider left the model: `steps` lead there, the last one shows it, `rule` is the one it breaks."""

    def __init__(self, evidence: Evidence, rule: str, that: str, observed: str) -> None:
        super().__init__(f"{rule}: expected that {that}; saw {observed}")
        self.rule = RequirementId(rule)
        self.that = that
        self.observed = observed
        self.sent: str = evidence.sent
        self.frames: tuple[FrameNumber, ...] = evidence.frames
        self.steps: tuple[str, ...] = ()

    def told(self) -> str:
        """The steps, numbered, and what came in the end: for a person who wants to do the same by hand."""
        return f"{numbered(self.steps)}; then {self.observed}"


def numbered(steps: Sequence[str]) -> str:
    """Steps as a person follows them."""
    return "; ".join(f"{number}. {step}" for number, step in enumerate(steps, 1)) or "at the start"
