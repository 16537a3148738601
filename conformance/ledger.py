"""Which leases this run has opened, and what became of them. The kit touches only what stands here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from conformance.host.params import Lease


class Ending(StrEnum):
    """How an entry was settled."""

    RELEASED = "released"
    DESTROYED = "destroyed"
    NEVER_OPENED = "never-opened"
    UNKNOWN = "unknown"


def _unrecorded(_event: str, _fields: dict[str, object]) -> None:
    """Before a check runs, nobody listens."""


@dataclass
class Entry:
    """One acquire. `lease` is None until it is answered; `ending` is None while it is open."""

    label: str
    check: str
    lease: Lease | None = None
    ending: Ending | None = None


@dataclass
class Ledger:
    """Entries in the order of their acquires. `record` gets every event for the event stream."""

    prefix: str = "L"
    record: Callable[[str, dict[str, object]], None] = _unrecorded
    entries: list[Entry] = field(default_factory=list[Entry])

    def intend(self, check: str) -> Entry:
        """Note an acquire before it is sent."""
        entry = Entry(f"{self.prefix}{len(self.entries) + 1}", check)
        self.entries.append(entry)
        self.record("lease-open", {"lease": entry.label, "check": check})
        return entry

    def settle(self, entry: Entry, ending: Ending) -> None:
        """Close an entry. An entry that was confirmed gone stays so; an unknown one may still be confirmed."""
        if entry.ending is not None and entry.ending is not Ending.UNKNOWN:
            return
        entry.ending = ending
        self.record("lease-close", {"lease": entry.label, "how": ending})

    def settle_lease(self, label: str, ending: Ending) -> None:
        """Close the entry of a lease by its label."""
        for entry in self.entries:
            if entry.label == label:
                self.settle(entry, ending)

    def open_entries(self, check: str | None = None) -> list[Entry]:
        """Entries that hold a lease that may still exist; of one check, or of all."""
        return [
            entry
            for entry in self.entries
            if entry.lease is not None
            and entry.ending in {None, Ending.UNKNOWN}
            and (check is None or entry.check == check)
        ]
