"""What this run has made at the backend, and what became of it. The kit touches only what stands here."""

from dataclasses import dataclass, field
from enum import StrEnum

from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template


class Ending(StrEnum):
    """How an entry was settled."""

    RELEASED = "released"
    DESTROYED = "destroyed"
    NEVER_OPENED = "never-opened"
    UNKNOWN = "unknown"


@dataclass
class Entry:
    """One acquire, one setup or one captured template. `held` is None until it is answered; `ending`, while open."""

    label: str
    check: str
    held: Lease | Setup | Template | None = None
    ending: Ending | None = None
    plain: bool = False
    """Whether it is an ordinary single-use lease: another check may go on with it."""

    disproved: Ending | None = None
    """An ending that was reported and turned out to be false: to hear it again proves nothing."""

    @property
    def lease(self) -> Lease | None:
        """The lease, where this is the entry of one."""
        return self.held if isinstance(self.held, Lease) else None

    @property
    def is_sandbox(self) -> bool:
        """Whether it runs and is billed as a sandbox. A template only takes up space."""
        return not isinstance(self.held, Template)


@dataclass
class Ledger:
    """Entries in the order of their acquires, and the events that tell of them."""

    prefix: str = "L"
    entries: list[Entry] = field(default_factory=list[Entry])
    _untold: list[tuple[str, dict[str, str]]] = field(default_factory=list[tuple[str, dict[str, str]]])

    def take_events(self, *checks: str) -> list[dict[str, str]]:
        """The events of these checks, or of all, that nobody has taken yet; in the order in which they happened."""
        taken = [event for check, event in self._untold if not checks or check in checks]
        self._untold = [(check, event) for check, event in self._untold if checks and check not in checks]
        return taken

    def intend(self, check: str) -> Entry:
        """Note an acquire before it is sent."""
        entry = Entry(f"{self.prefix}{len(self.entries) + 1}", check)
        self.entries.append(entry)
        self._untold.append((check, {"event": "lease-open", "lease": entry.label, "check": check}))
        return entry

    def hold(self, check: str, template: Template) -> None:
        """Note a template. It is no lease, so the event stream says nothing of it."""
        self.entries.append(Entry(f"{self.prefix}{len(self.entries) + 1}", check, template))

    def settle(self, entry: Entry, ending: Ending) -> None:
        """Close an entry. An entry that was confirmed gone stays so; an unknown one may still be confirmed."""
        if entry.ending not in {None, Ending.UNKNOWN} or ending is entry.disproved:
            return
        entry.ending = ending
        if entry.is_sandbox:
            self._untold.append((entry.check, {"event": "lease-close", "lease": entry.label, "how": str(ending)}))

    def settle_lease(self, label: str, ending: Ending) -> None:
        """Close the entry of a lease by its label."""
        for entry in self.entries:
            if entry.label == label:
                self.settle(entry, ending)

    def ended(self, label: str) -> bool:
        """Whether the lease of a label was settled."""
        return any(entry.label == label and entry.ending is not None for entry in self.entries)

    def doubt(self, label: str) -> None:
        """Open the entry of a lease again whose sandbox was found alive after it had been reported gone."""
        for entry in self.entries:
            if entry.label == label and entry.ending in {Ending.RELEASED, Ending.DESTROYED}:
                entry.disproved, entry.ending = entry.ending, None
                self._untold.append((entry.check, {"event": "lease-open", "lease": label, "check": entry.check}))
                self.settle(entry, Ending.UNKNOWN)

    def settle_held(self, held: Setup | Template, ending: Ending) -> None:
        """Close the entry of a setup or of a template."""
        for entry in self.entries:
            if _names_same(entry.held, held):
                self.settle(entry, ending)

    def open_entries(self, check: str | None = None) -> list[Entry]:
        """Entries that hold something that may still exist and can be named; of one check, or of all."""
        return [
            entry
            for entry in self.entries
            if entry.held is not None
            and (entry.lease is None or entry.lease.id is not None)
            and entry.ending in {None, Ending.UNKNOWN}
            and (check is None or entry.check == check)
        ]


def _names_same(one: Lease | Setup | Template | None, other: Setup | Template) -> bool:
    # The host's record of a setup grows from call to call; its handle is what stays.
    if isinstance(other, Setup):
        return isinstance(one, Setup) and one.id == other.id
    return isinstance(one, Template) and one.ref == other.ref
