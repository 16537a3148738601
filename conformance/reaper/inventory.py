"""Settling what no call can settle: the author's inventory says what lives, and the kill hook removes it."""

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping

from conformance.errors import EnvironmentFault
from conformance.hooks import Hooks
from conformance.host.setup import Template
from conformance.ledger import Ending, Entry, Ledger

LATE_S = 10.0
"""How long after a request a list of machines may lag behind (our choice)."""

LOOK_AGAIN_S = 1.0
"""Pause between two looks (our choice: each is a command of the author's)."""


class Inventory:
    """The backend by the author's hooks, in the eyes of one ledger. Nothing is removed that the ledger does not hold.

    `environment` is the kit's own.
    """

    def __init__(self, ledger: Ledger, hooks: Hooks, environment: Mapping[str, str]) -> None:
        self._ledger = ledger
        self._hooks = hooks
        self._environment = environment
        self._understood = False

    async def look(self) -> frozenset[str]:
        """Ids of what lives; none where there is no hook. Raises `EnvironmentFault` when the hook fails."""
        if self._hooks.inventory is None:
            return frozenset()
        listed = await asyncio.to_thread(self._hooks.list_sandboxes, self._environment)
        # A hook that prints other names would say of every lease that it is gone.
        self._understood = self._understood or bool(listed & _ids(self._ledger.entries))
        return listed

    async def settle(self, closed: Collection[Entry] = ()) -> str:
        """Settle what is open as far as the hooks go, and look whether what calls have `closed` is really gone.

        Returns a sentence about what stands in the way of the rest. Best begun after a `look` while leases still lived,
        so that the hook is known to print their ids.
        """
        if self._hooks.inventory is None or (self._ledger.all_closed and not closed):
            return ""
        try:
            return await self._settle(closed)
        except EnvironmentFault as fault:
            return fault.sentence()

    async def _settle(self, closed: Collection[Entry]) -> str:
        listed = await self._until_gone(_ids(closed))
        for entry in closed:
            if _id(entry) in listed:
                self._ledger.doubt(entry.label)
        sandboxes = [entry for entry in self._ledger.entries if entry.is_sandbox and entry.is_open]
        nameless = [entry for entry in sandboxes if not entry.named]
        if nameless:
            newest = max(entry.asked for entry in nameless)
            await asyncio.sleep(max(0.0, LATE_S - (time.monotonic() - newest)))
            listed = await self.look()
        listed = await self._remove(_ids(sandboxes) & listed, listed)
        if listed and not self._understood:
            return "The inventory hook lists none of the leases that were open, so it may speak of other names."
        for entry in sandboxes:
            if entry.named and _id(entry) not in listed:
                self._ledger.settle(entry, Ending.GONE)
        strange = sorted(listed - _ids(self._ledger.entries))
        for entry in nameless:
            if not strange:
                self._ledger.settle(entry, Ending.NEVER_OPENED)
        return f"Alive, and perhaps one of those without an id: {', '.join(strange)}." if nameless and strange else ""

    async def _remove(self, ours: frozenset[str], listed: frozenset[str]) -> frozenset[str]:
        if not ours or self._hooks.kill is None:
            return listed
        for name in sorted(ours):
            await asyncio.to_thread(self._hooks.remove_sandbox, name, self._environment)
        return await self._until_gone(ours)

    async def _until_gone(self, names: frozenset[str]) -> frozenset[str]:
        """What lives once none of `names` does, or after a while."""
        deadline = time.monotonic() + LATE_S
        while (listed := await self.look()) & names and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(LOOK_AGAIN_S)
        return listed


def _ids(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(name for entry in entries if (name := _id(entry)) is not None)


def _id(entry: Entry) -> str | None:
    """What an inventory would call it: a template is no sandbox."""
    return None if entry.held is None or isinstance(entry.held, Template) else entry.held.id
