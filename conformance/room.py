"""Room for checks: leases are set aside before a check starts, and shared ones are closed when nobody needs them.

Where no check of any process can go on, a process that waits closes even the shared leases that it waits with, so
parallel processes never wait for each other in a ring.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from conformance.checks import Check
from conformance.ledger import Entry, Ledger
from conformance.model import Cost, State
from conformance.purse import SHARED, Grant, OverBudget, Purse, Stop
from conformance.shared import SharedLeases

T = TypeVar("T")

LOOK_AGAIN_S = 0.1
"""Between two looks at what the other processes have closed (our choice)."""

WATCH_S = 1.0
"""Longest time between two looks at the lease-seconds (our choice)."""

RETIRED = "retired"
"""Owner of the leases that nobody else will use, until they are closed."""

SOON = 32
"""How many checks ahead one is looked for that can use a lease which another is done with (our choice)."""

SHARED_LEASES = {
    "acquired": "lease",
    "lease": "lease",
    "login": "lease",
    "kept": "kept",
    "reusable": "kept",
    "spare": "spare",
    "released": "released",
    "gone": "gone",
    "tour": "tour",
    "setup": "setup",
}
"""What a check may ask for that takes a shared lease, and which one that is."""

SANDBOXES = {"setup": 2}
"""How many sandboxes are opened for it, one after the other, where that is not one."""


@dataclass(frozen=True)
class Refusal:
    """Why a check may not start."""

    state: State
    sentence: str


@dataclass
class _Retired:
    entry: Entry
    users: set[str]


@dataclass
class Room:
    """Lets checks of one process in and out. Without a purse nothing is bounded."""

    ledger: Ledger
    leases: SharedLeases
    end: Callable[[Entry], Awaitable[None]]
    purse: Purse | None = None
    to_come: Callable[[], Collection[Check]] | None = None
    """The checks that have not ended, where they are known: a shared lease that none of them wants is closed."""
    _users: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    _makers: set[str] = field(default_factory=set[str])
    _looking: bool = False
    _retired: list[_Retired] = field(default_factory=list[_Retired])
    _notes: list[str] = field(default_factory=list[str])
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)
    _left: asyncio.Event = field(default_factory=asyncio.Event)

    async def enter(self, check: Check, *, quiet: bool = False) -> Refusal | None:
        """Wait until the leases of a check are set aside; what is in the way when they never will be.

        `quiet`: while it is in, no check of another process uses the backend.
        """
        wants = shared_of(check)
        if self.purse is None:
            self._users[check.name] = wants
            return None
        stopped = self.purse.stopped
        if stopped is not None and (check.declaration.cost is not Cost.FREE or stopped[0] is Stop.ENVIRONMENT):
            return _refusal(stopped[0], stopped[1])
        if check.declaration.cost is Cost.FREE:
            self._users[check.name] = wants
            return None
        ready = takes_leftover(check) and self.leases.leftovers > 0 and not quiet
        if ready and self._reserve(self.purse, check, wants)[0] is Grant.YES:
            # What it needs is there already: it need not stand in line.
            return None
        async with self._line:
            return await self._wait_for_leases(self.purse, check, wants, quiet=quiet)

    async def _wait_for_leases(
        self, purse: Purse, check: Check, wants: frozenset[str], *, quiet: bool
    ) -> Refusal | None:
        waited = False
        while True:
            self._left.clear()
            self._looking = takes_leftover(check) and self.leases.leftovers == 0 and bool(self._makers)
            if self._looking:
                # One that runs now may leave its lease behind: that costs a moment, and a fresh one costs money.
                await self._left.wait()
                continue
            grant, sentence = self._reserve(purse, check, wants, quiet=quiet)
            if grant is Grant.YES:
                return None
            self._give_back_shared()
            if grant is Grant.NEVER and not await self._make_room(wants):
                stopped = purse.stopped
                if stopped is None and self._users:
                    # Those that run now hold the rest.
                    await self._left.wait()
                    continue
                purse.give_back(check.name)
                return _refusal(Stop.BUDGET if stopped is None else stopped[0], sentence)
            # A lease that lies ready may be taken in a moment: there is then room without closing it.
            idle = grant is Grant.LATER and (waited or self.leases.leftovers == 0) and not purse.anyone_inside()
            waited = not (idle and (await self._make_room(wants) or await self._make_room(frozenset())))
            if waited and grant is not Grant.NEVER:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._left.wait(), LOOK_AGAIN_S)

    def _reserve(self, purse: Purse, check: Check, wants: frozenset[str], *, quiet: bool = False) -> tuple[Grant, str]:
        leftover = self.leases.promise_leftover(check.name) if takes_leftover(check) else None
        if leftover is not None:
            self.ledger.hand_over(leftover, check.name)
        own = (check.leases, check.leases - (leftover is not None))
        shared = (self._slots(wants), self._missing(wants))
        grant, sentence = purse.reserve({check.name: own, SHARED: shared}, quiet=quiet)
        if grant is Grant.YES:
            self._users[check.name] = wants
            if leaves_leftover(check):
                self._makers.add(check.name)
        elif leftover is not None:
            self.leases.take_back(check.name)
            self.ledger.hand_over(leftover, SHARED)
        return grant, sentence

    async def leave(self, check: Check) -> None:
        """A check has ended, and its own leases are closed."""
        self._users.pop(check.name, None)
        self._makers.discard(check.name)
        for kind, lease in self.leases.alive().items():
            if self.ledger.ended(lease.label):
                self.leases.forget(kind)
                if kind == "lease":
                    self._notes.append(f"{check.requirement} {check.name} ended the shared lease: it is made afresh.")
        await self._retire_unwanted(check)
        for retired in list(self._retired):
            retired.users.discard(check.name)
        await self._end_retired()
        if self.purse is not None:
            self.purse.give_back(check.name)
        self._give_back_shared()
        self._left.set()

    def spoil(self, check: Check, state: State) -> None:
        """Nobody knows what a check did to the shared leases: the next one gets fresh ones."""
        alive = list(self.leases.alive())
        for kind in alive:
            self._retire(kind, except_for=check.name)
        while (leftover := self.leases.drop_leftover()) is not None:
            self._set_apart(leftover)
            self._retired.append(_Retired(leftover, set()))
        if alive:
            self._notes.append(f"{check.requirement} {check.name} ended as {state}: the shared leases are made afresh.")
        self.leases.spoil()

    def wants_leftover(self, check: Check) -> bool:
        """Whether one of the next checks after this one can use a lease that this one is done with."""
        if self.to_come is None or (self._looking and self.leases.leftovers == 0):
            return True
        enough = 1 if self.purse is None else max(1, self.purse.budget.at_once // 2)
        soon = self._after(check)[:SOON]
        return self.leases.leftovers < enough and any(takes_leftover(other) for other in soon)

    def take_notes(self) -> list[dict[str, str]]:
        """The events that tell of shared leases that were made afresh, once."""
        taken, self._notes = self._notes, []
        return [{"event": "note", "text": text} for text in taken]

    async def while_affordable(self, running: Coroutine[Any, Any, T]) -> T:
        """Run something until it ends. Raises `OverBudget` when the lease-seconds end first."""
        if self.purse is None:
            return await running
        task = asyncio.ensure_future(running)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=self._until_looked_at(self.purse))
                if not task.done() and self.purse.out_of_time():
                    raise OverBudget("Broken off: the lease-seconds are spent (--max-lease-seconds).")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _until_looked_at(self, purse: Purse) -> float:
        spent = purse.spent()
        left = (purse.budget.seconds - spent.seconds) / max(1, spent.open)
        return min(max(left, LOOK_AGAIN_S), WATCH_S)

    def _give_back_shared(self) -> None:
        if self.purse is not None:
            self.purse.give_back(SHARED, self._slots(frozenset()))

    def _slots(self, wants: frozenset[str]) -> int:
        return _weight(self._shared(wants)) + self.leases.leftovers

    def _missing(self, wants: frozenset[str]) -> int:
        missing = self._shared(wants) - self.leases.alive().keys()
        return max(_weight(missing), sandboxes_for(missing))

    def _shared(self, wants: frozenset[str]) -> frozenset[str]:
        """Shared leases that are there, or will be while these checks run."""
        passing = frozenset(kind for kind in ("gone", "released", "tour", "setup") if self.leases.is_made(kind))
        wanted = frozenset[str]().union(wants, *self._users.values())
        return (wanted - passing) | self.leases.alive().keys()

    async def _make_room(self, wants: frozenset[str]) -> bool:
        """Close a lease that nobody uses now; False when there is none."""
        if await self._close_leftover():
            return True
        used = frozenset[str]().union(wants, *self._users.values())
        for kind in self.leases.alive().keys() - used:
            await self._close(kind)
            return True
        return False

    async def _retire_unwanted(self, check: Check) -> None:
        if self.to_come is None:
            return
        later = self._after(check)
        while not any(takes_leftover(other) for other in later) and await self._close_leftover():
            pass
        used = frozenset[str]().union(*self._users.values(), *(shared_of(other) for other in later))
        for kind in self.leases.alive().keys() - used:
            await self._close(kind)

    def _after(self, check: Check) -> list[Check]:
        return [] if self.to_come is None else [other for other in self.to_come() if other != check]

    async def _close_leftover(self) -> bool:
        entry = self.leases.drop_leftover()
        if entry is not None:
            self._set_apart(entry)
            await self.end(entry)
            self._give_back_shared()
        return entry is not None

    async def _close(self, kind: str) -> None:
        self._retire(kind, except_for="")
        self.leases.forget(kind)
        await self._end_retired()
        self._give_back_shared()

    async def _end_retired(self) -> None:
        # Looked for anew each time: while one is ended, another check may leave and end the rest.
        while (retired := next((each for each in self._retired if not each.users), None)) is not None:
            self._retired.remove(retired)
            await self.end(retired.entry)

    def _retire(self, kind: str, *, except_for: str) -> None:
        label = self.leases.alive()[kind].label
        users = {name for name, kinds in self._users.items() if kind in kinds and name != except_for}
        for entry in self.ledger.entries:
            if entry.label == label:
                self._set_apart(entry)
                self._retired.append(_Retired(entry, users))

    def _set_apart(self, entry: Entry) -> None:
        # It takes up room until it is closed, beside the fresh one that may take its place.
        if self.purse is not None:
            self.purse.hand_over(entry.label, RETIRED)


def _weight(shared: Iterable[str]) -> int:
    """How many leases these are at once; the tour also asks for one that should be refused."""
    return sum(2 if name == "tour" else 1 for name in shared)


def takes_leftover(check: Check) -> bool:
    """Whether a check can go on with a lease that another is done with."""
    return "doomed" in check.arguments


def leaves_leftover(check: Check) -> bool:
    """Whether a check may be done with an ordinary lease that it does not end itself."""
    return check.declaration.cost in {Cost.OWN, Cost.MANY} and check.leases > 0 and not takes_leftover(check)


def shared_of(check: Check) -> frozenset[str]:
    """The shared leases that a check asks for."""
    return frozenset(SHARED_LEASES[name] for name in check.arguments if name in SHARED_LEASES)


def sandboxes_for(kinds: Iterable[str]) -> int:
    """How many sandboxes are opened to make these shared leases."""
    return sum(SANDBOXES.get(kind, 1) for kind in kinds)


def _refusal(stop: Stop, sentence: str) -> Refusal:
    state = State.ENV_ERROR if stop is Stop.ENVIRONMENT else State.OVER_BUDGET
    return Refusal(state, f"Not run: {sentence}")
