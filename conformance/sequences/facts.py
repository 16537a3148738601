"""What the contract settles about a lease after a row of calls, and nothing more."""

from dataclasses import dataclass, field
from enum import StrEnum

from conformance.host.lease import Lease


class Standing(StrEnum):
    """Where a lease is in its life."""

    ACTIVE = "active"
    KEPT = "kept"
    ENDED = "ended"


class Since(StrEnum):
    """What lay between a write and a read: the rule by which a loss is judged."""

    NOTHING = "EXEC-026"
    RELEASE = "LEASE-017"
    WORKER = "LIFE-005"


@dataclass
class Written:
    """What a file must hold; `text` is None where nobody knows: a write that was cut off may have done anything."""

    text: str | None
    since: Since = Since.NOTHING


@dataclass
class Facts:
    """One lease of a sequence, by the name that steps call it. Files that are not listed must not be there."""

    name: str
    lease: Lease
    reusable: bool
    real: bool = True
    """False where there were no leases left to make it: a stand-in, so that the choice of steps goes on the same."""

    standing: Standing = Standing.ACTIVE
    files: dict[str, Written] = field(default_factory=dict[str, Written])

    def write(self, file: str, text: str) -> None:
        """A write was answered with success."""
        self.files[file] = Written(text)

    def forget(self, file: str) -> None:
        """A write was cut off: the file may be old, new, a part, or gone."""
        self.files[file] = Written(None)

    def note(self, since: Since) -> None:
        """Something happened that files have to survive."""
        for written in self.files.values():
            # A release is the stronger of the two: there a sandbox may be moved or packed.
            written.since = Since.RELEASE if Since.RELEASE in {since, written.since} else since

    def expected(self, file: str) -> Written | None:
        """What a read must find; None for no such file."""
        return self.files.get(file)
