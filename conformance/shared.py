"""The leases that many checks share: one in each state that a host meets, made when it is first asked for."""

import asyncio
import contextlib
import itertools
import random
import statistics
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.answer import Answer
from conformance.checks import EXCLUSIVE
from conformance.errors import ProviderFault
from conformance.evidence import Blocked, Trace
from conformance.host.lease import Lease
from conformance.ledger import Entry
from conformance.login import Login
from conformance.provider import Provider
from conformance.purse import SHARED
from conformance.states import can_resume
from conformance.steps import acquire, destroy_lease, realize_workspace, realized_lease, release_lease

TRIES = 2
"""How often one may fail to be made before nobody tries again (our choice: each try may leave a sandbox behind)."""

MEASURED = 3
"""Short commands whose time is taken (our choice: the median of three forgives one that was held up)."""

LEFTOVERS = 5
"""How many leases may lie ready for others (our choice: they cost money while they wait)."""


@dataclass
class SharedLeases:
    """One lease in each state. Each method raises `Blocked` when there can be none."""

    seed: int
    _made: dict[str, Any] = field(default_factory=dict[str, Any])
    _leftovers: list[Entry] = field(default_factory=list[Entry])
    _passed: set[str] = field(default_factory=set[str])
    _promised: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _failures: dict[str, list[Blocked]] = field(default_factory=lambda: defaultdict(list[Blocked]))
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _taking_turns: dict[str, asyncio.Lock] = field(default_factory=lambda: {name: asyncio.Lock() for name in EXCLUSIVE})
    _sessions: set[str] = field(default_factory=set[str])
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def by_name(self) -> dict[str, Callable[[Provider], Awaitable[Any]]]:
        """How each argument of a check that names a lease is made."""
        return {
            "acquired": self.acquired,
            "lease": self.lease,
            "kept": self.kept,
            "reusable": self.reusable,
            "released": self.released,
            "gone": self.gone,
            "spare": self.spare,
            "doomed": self.doomed,
            "login": self.login,
        }

    async def acquired(self, provider: Provider) -> Answer:
        """The answer that made `lease`, as evidence for the check that asks."""
        async with self._lock:
            answer, _ = await self._share("acquired", lambda: acquire(self._owner(provider)))
            return replace(answer, trace=provider.trace)

    async def lease(self, provider: Provider) -> Lease:
        """A single-use lease, ready for commands."""

        async def make() -> Lease:
            _, lease = await self._share("acquired", lambda: acquire(self._owner(provider)))
            ready = await realize_workspace(self._owner(provider), lease)
            await self._measure(self._owner(provider), ready)
            return ready

        async with self._lock:
            ready = await self._share("lease", make)
            if "acquired" not in self._made:
                # Spoiled while it was made ready: it is for the check that asked, and then ended.
                self._made.pop("lease", None)
            return ready

    async def kept(self, provider: Provider) -> Lease:
        """A reusable lease that was released. A check may resume it, and then releases it again; or end it for good."""

        async def make() -> Lease:
            owner = self._owner(provider)
            lease = await realized_lease(owner, reuse=True)
            await release_lease(owner, lease)
            return lease

        async with self._lock:
            if "kept" in self._made and provider.ledger.ended(self._made["kept"].label):
                del self._made["kept"]
            return await self._share("kept", make)

    async def reusable(self, provider: Provider) -> Lease | None:
        """The lease that is kept, or None where the host would resume none of this provider."""
        return await self.kept(provider) if can_resume(provider) else None

    async def released(self, provider: Provider) -> Lease:
        """A single-use lease that was released, and never destroyed."""

        async def make() -> Lease:
            owner = self._owner(provider)
            lease = await realized_lease(owner)
            await release_lease(owner, lease)
            return lease

        async with self._lock:
            return await self._share("released", make)

    async def gone(self, provider: Provider) -> Lease:
        """A single-use lease that was destroyed."""

        async def make() -> Lease:
            owner = self._owner(provider)
            lease = await realized_lease(owner)
            await destroy_lease(owner, lease)
            return lease

        async with self._lock:
            return await self._share("gone", make)

    async def login(self, provider: Provider) -> Login:
        """The worker's one login terminal, on the lease that is ready for commands."""
        return Login(provider, await self.lease(provider), self._sessions)

    async def spare(self, provider: Provider) -> Lease:
        """A second lease that is shared, for what may be rough with it; only one check at a time has it."""

        async def make() -> Lease:
            return await realized_lease(self._owner(provider))

        async with self._lock:
            return await self._share("spare", make)

    async def doomed(self, provider: Provider) -> Lease:
        """A single-use lease of the check's own, ready for commands, to be ended. Another check may have used it."""
        async with self._lock:
            promised = self._promised.pop(provider.trace.check, None)
            if promised is not None:
                self._leftovers.append(promised)
            while self._leftovers:
                lease = await self._revived(provider, self._leftovers.pop())
                if lease is not None:
                    return lease
        return await realized_lease(provider)

    async def _revived(self, provider: Provider, entry: Entry) -> Lease | None:
        """A leftover lease for a check; None where it works no more, which is for others to judge."""
        if entry.lease is None or entry.ending is not None:
            return None
        with contextlib.suppress(Blocked, ProviderFault):
            owner = self._owner(provider)
            lease = await realize_workspace(owner, entry.lease)
            seen = await owner.execute(lease, lease.shell, ["-c", "exit 0"], cwd=lease.remote_cwd)
            if seen.fields.get("exitCode") == 0:
                provider.ledger.hand_over(entry, provider.trace.check)
                return lease
        with contextlib.suppress(ProviderFault):
            # It takes up the room of the fresh one that the check gets in its place.
            await self._owner(provider).destroy(entry.lease)
        return None

    def take_over(self, entry: Entry) -> bool:
        """Keep a lease that a check is done with for those that ask for a doomed one; False where it is not wanted."""
        if not entry.plain or len(self._leftovers) >= LEFTOVERS:
            return False
        self._leftovers.append(entry)
        return True

    @contextlib.asynccontextmanager
    async def turn(self, wanted: Collection[str]) -> AsyncGenerator[None]:
        """The time of one check that wants these arguments, some of which only one at a time may have."""
        async with contextlib.AsyncExitStack() as stack:
            for name in sorted(self._taking_turns.keys() & wanted):
                await stack.enter_async_context(self._taking_turns[name])
            yield

    def spoil(self) -> None:
        """Hand none of them to another check; they are closed with the rest."""
        self._made.clear()
        self._leftovers.clear()

    @property
    def leftovers(self) -> int:
        """How many leases lie ready for others."""
        return len(self._leftovers)

    def promise_leftover(self, check: str) -> Entry | None:
        """Set one aside for a check that is about to start, if there is one."""
        if self._leftovers:
            self._promised[check] = self._leftovers.pop()
        return self._promised.get(check)

    def take_back(self, check: str) -> None:
        """What was promised to a check that did not take it lies ready for others."""
        entry = self._promised.pop(check, None)
        if entry is not None:
            self._leftovers.append(entry)

    def drop_leftover(self) -> Entry | None:
        """Hand out one of them no more, if there is one: whoever calls this has to close it."""
        return self._leftovers.pop() if self._leftovers else None

    def alive(self) -> dict[str, Lease]:
        """Those that take up room at the backend, by the name under which checks ask for them."""
        found = {"lease": self._made["acquired"][1]} if "acquired" in self._made else {}
        return {**found, **{name: self._made[name] for name in ("kept", "spare") if name in self._made}}

    def is_made(self, name: str) -> bool:
        """Whether one is there for the checks that ask for this name."""
        return name in self._made or name in self._passed

    def note_passed(self, name: str) -> None:
        """A tour was taken: nothing of it is open, so whoever asks for it takes up no room."""
        self._passed.add(name)

    def forget(self, name: str) -> None:
        """Hand out one no more, with what was made of it; whoever calls this has to close it."""
        for each in {"lease": ("acquired", "lease")}.get(name, (name,)):
            self._made.pop(each, None)

    def forget_kept(self, entry: Entry) -> None:
        """Before an entry is closed: resumed under another id, a sandbox has two entries, and ends with either."""
        kept = self._made.get("kept")
        if kept is not None and entry.lease is not None and entry.lease.tenant == kept.tenant:
            del self._made["kept"]

    async def _measure(self, owner: Provider, lease: Lease) -> None:
        """Take the time of a few short commands; whether they work is judged elsewhere."""
        with contextlib.suppress(ProviderFault):
            times = [(await owner.execute(lease, lease.shell, ["-c", "exit 0"])).seconds for _ in range(MEASURED)]
            owner.launch.limits.pace.note(statistics.median(times))

    async def _share(self, name: str, make: Callable[[], Awaitable[Any]]) -> Any:
        if name not in self._made:
            failures = self._failures[name]
            if len(failures) >= TRIES:
                last = failures[-1]
                raise Blocked(last.by, f"{last.reason} (not tried again)", last.frames)
            try:
                made = await make()
                if name == "lease" and "acquired" not in self._made:
                    # Spoilt while its workspace was made: it ends with the check that asked, so no other gets it.
                    return made
                self._made[name] = made
            except Blocked as blocked:
                failures.append(blocked)
                raise
        return self._made[name]

    def _owner(self, provider: Provider) -> Provider:
        """Acts for nobody's check on the worker of one, each time for another tenant."""
        trace = Trace(provider.trace.requirement, SHARED)
        source = random.Random(f"{self.seed}/{SHARED}/{next(self._numbers)}")  # noqa: S311 - can be repeated
        return Provider(trace, provider.worker, provider.subject, provider.ledger, source)
