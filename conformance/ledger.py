"""What this run has made at the backend, and what became of it. The kit touches only what stands here."""

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

from conformance.errors import EnvironmentFault
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.model import Json, JsonObject
from conformance.purse import Purse

Held: TypeAlias = Lease | Setup | Template


class Ending(StrEnum):
    """How an entry was settled."""

    RELEASED = "released"
    DESTROYED = "destroyed"
    GONE = "gone"
    """The backend itself no longer lists it."""

    NEVER_OPENED = "never-opened"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What an entry stands for."""

    LEASE = "lease"
    SETUP = "setup"
    TEMPLATE = "template"


@dataclass
class Entry:
    """One acquire, one setup or one captured template. `held` is None until it is answered; `ending`, while open."""

    label: str
    check: str
    kind: Kind = Kind.LEASE
    held: Held | None = None
    ending: Ending | None = None
    plain: bool = False
    """Whether it is an ordinary single-use lease: another check may go on with it."""

    disproved: Ending | None = None
    """An ending that was reported and turned out to be false: to hear it again proves nothing."""

    asked: float = field(default_factory=time.monotonic, compare=False)
    """When it was noted, by the clock of this process."""

    @property
    def lease(self) -> Lease | None:
        """The lease, where this is the entry of one."""
        return self.held if isinstance(self.held, Lease) else None

    @property
    def is_sandbox(self) -> bool:
        """Whether it runs and is billed as a sandbox. A template only takes up space."""
        return self.kind is not Kind.TEMPLATE

    @property
    def named(self) -> bool:
        """Whether what it holds, if anything, can be named in a call."""
        return self.held is not None and (isinstance(self.held, Template) or self.held.id is not None)

    @property
    def is_open(self) -> bool:
        """Whether what it stands for may still exist."""
        return self.ending in {None, Ending.UNKNOWN}


class Record(Protocol):
    """Where a ledger is written down. `intent` raises `EnvironmentFault` when it cannot; the others never do."""

    def intent(self, entry: Entry, params: JsonObject) -> None:
        """Write that a call is about to be sent which may make something; it is safe on the disk on return."""

    def answered(self, entry: Entry) -> None:
        """Write what an answer has handed out."""

    def settled(self, entry: Entry, ending: Ending) -> None:
        """Write how an entry was closed."""

    def doubted(self, entry: Entry, disproved: Ending) -> None:
        """Write that an ending turned out to be false."""


@dataclass
class Ledger:
    """Entries in the order of their acquires, the events that tell of them, and the record of them on the disk."""

    prefix: str = "L"
    record: Record | None = None
    purse: Purse | None = None
    """Counts the leases of all processes, and refuses what is over the budget."""
    entries: list[Entry] = field(default_factory=list[Entry])
    _untold: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])

    def take_events(self) -> list[dict[str, Json]]:
        """What nobody has taken yet, in the order in which it happened; `at` is the monotonic clock in seconds."""
        taken, self._untold = self._untold, []
        return taken

    def intend(
        self, check: str, kind: Kind = Kind.LEASE, params: JsonObject | None = None, *, unasked: bool = False
    ) -> Entry:
        """Note a call that may make something before it is sent with `params`; or a lease that came `unasked`.

        Raises `EnvironmentFault` when that cannot be written down, and `OverBudget`: the call must not be sent then.
        """
        entry = Entry(f"{self.prefix}{len(self.entries) + 1}", check, kind)
        if self.purse is not None and entry.is_sandbox:
            (self.purse.opened if unasked else self.purse.claim)(check, entry.label)
        if self.record is not None:
            try:
                self.record.intent(entry, {} if params is None else params)
            except EnvironmentFault:
                if self.purse is not None and entry.is_sandbox:
                    self.purse.never_opened(entry.label)
                raise
        self.entries.append(entry)
        if entry.is_sandbox:
            self._tell("lease-open", lease=entry.label, check=check)
        return entry

    def answer(self, entry: Entry, held: Held | None) -> None:
        """Add what the answer to the call has handed out."""
        entry.held = held
        if held is not None and self.record is not None:
            self.record.answered(entry)

    def settle(self, entry: Entry, ending: Ending) -> None:
        """Close an entry. An entry that was confirmed gone stays so; an unknown one may still be confirmed."""
        if entry.ending not in {None, Ending.UNKNOWN} or ending is entry.disproved:
            return
        entry.ending = ending
        if self.record is not None:
            self.record.settled(entry, ending)
        if self.purse is not None and entry.is_sandbox:
            _count(self.purse, entry.label, ending)
        if entry.is_sandbox:
            self._tell("lease-close", lease=entry.label, how=str(ending))

    def settle_lease(self, label: str, ending: Ending) -> None:
        """Close the entry of a lease by its label."""
        for entry in self.entries:
            if entry.label == label:
                self.settle(entry, ending)

    def hand_over(self, entry: Entry, owner: str) -> None:
        """Another check, or those that share leases, have it from now on."""
        entry.check = owner
        if self.purse is not None:
            self.purse.hand_over(entry.label, owner)

    def wear_out(self, lease_id: object) -> None:
        """No other check can go on with the leases of this id."""
        for entry in self.entries:
            if entry.lease is not None and entry.lease.id == lease_id:
                entry.plain = False

    def ended(self, label: str) -> bool:
        """Whether the lease of a label was settled."""
        return any(entry.label == label and entry.ending is not None for entry in self.entries)

    def doubt(self, label: str) -> None:
        """Open the entry of a lease again whose sandbox was found alive after it had been reported gone."""
        for entry in self.entries:
            disproved = entry.ending
            if entry.label == label and (disproved is Ending.RELEASED or disproved is Ending.DESTROYED):
                entry.disproved, entry.ending = disproved, None
                if self.record is not None:
                    self.record.doubted(entry, disproved)
                self._tell("lease-open", lease=label, check=entry.check)
                self.settle(entry, Ending.UNKNOWN)

    def settle_held(self, held: Setup | Template, ending: Ending) -> None:
        """Close the entry of a setup or of a template."""
        for entry in self.entries:
            if _names_same(entry.held, held):
                self.settle(entry, ending)

    def open_entries(self, check: str | None = None) -> list[Entry]:
        """Entries that hold something that may still exist and can be named; of one check, or of all."""
        return [
            entry for entry in self.entries if entry.is_open and entry.named and (check is None or entry.check == check)
        ]

    @property
    def all_closed(self) -> bool:
        """Whether nothing is left that may still exist, named or not."""
        return not any(entry.is_open for entry in self.entries)

    def _tell(self, event: str, **fields: str) -> None:
        self._untold.append({"event": event, "at": time.monotonic(), **fields})


def _count(purse: Purse, label: str, ending: Ending) -> None:
    match ending:
        case Ending.RELEASED | Ending.DESTROYED | Ending.GONE:
            purse.closed(label)
        case Ending.NEVER_OPENED:
            purse.never_opened(label)
        case Ending.UNKNOWN:
            purse.lost(label)


def _names_same(one: Held | None, other: Setup | Template) -> bool:
    # The host's record of a setup grows from call to call; its handle is what stays.
    if isinstance(other, Setup):
        return isinstance(one, Setup) and one.id == other.id
    return isinstance(one, Template) and one.ref == other.ref
