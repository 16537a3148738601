"""The steps of a sequence as data: what Hypothesis chooses, and what is left out to find the shortest row of them."""

from dataclasses import dataclass
from enum import StrEnum

FILES = ("f", "g")
"""Names of the files that sequences write: few, so that they meet."""


class Kind(StrEnum):
    """What a step does. Those about "the gone" concern a lease that was destroyed before the sequences began."""

    ACQUIRE = "acquire"
    WRITE = "write"
    READ = "read"
    RELEASE = "release"
    RESUME = "resume"
    DESTROY = "destroy"
    RELEASE_THE_GONE = "release the gone"
    DESTROY_THE_GONE = "destroy the gone"
    RESUME_THE_GONE = "resume the gone"
    RESTART = "restart"
    KILL = "kill"
    KILL_IN_A_WRITE = "kill in a write"


NEEDS_COMMANDS = frozenset({Kind.WRITE, Kind.READ, Kind.KILL_IN_A_WRITE})


@dataclass(frozen=True)
class Action:
    """One step, with the name of its lease and of its file where it has one."""

    kind: Kind
    lease: str = ""
    file: str = ""

    @property
    def needs_commands(self) -> bool:
        """Whether its lease must be one that takes commands."""
        return self.kind in NEEDS_COMMANDS
