"""What the checks of one run share: a worker, a lease, a ledger, and the promise to close all of it."""

import asyncio
import contextlib
import random
from dataclasses import dataclass, field

from conformance.errors import ProviderFault
from conformance.evidence import Blocked, Trace
from conformance.host.tenant import Tenant
from conformance.host.worker import Launch, Worker
from conformance.ledger import Ending, Entry, Ledger
from conformance.model import RequirementId
from conformance.provider import Launcher, Provider
from conformance.purse import SHARED
from conformance.room import Room
from conformance.setup_tour import SetupTour, take_setup_tour
from conformance.shared import SharedLeases
from conformance.steps import remove
from conformance.subject import Subject
from conformance.tour import Tour, take_tour
from conformance.wire.peer import Violation

CLOSE_LIMIT_S = 90.0
"""How long closing one lease may take (our choice: three times the host's limit for a destroy)."""


@dataclass
class Bench:
    """The shared state of one kit process. `close` must be awaited whatever happened."""

    subject: Subject
    launch: Launch
    seed: int
    ledger: Ledger = field(default_factory=Ledger)
    _worker: Worker | None = None
    _tour: Tour | None = None
    _setup: SetupTour | None = None
    _startup_fault: ProviderFault | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _touring: asyncio.Lock = field(default_factory=asyncio.Lock)
    _setting_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    _judged_violations: dict[int, int] = field(default_factory=dict[int, int])

    def __post_init__(self) -> None:
        """Share no lease yet."""
        self.leases = SharedLeases(self.seed)
        self.room = Room(self.ledger, self.leases, self._end, self.ledger.purse)

    async def provider(self, trace: Trace) -> Provider:
        """The shared worker, started or replaced as needed. Raises `Blocked` when it does not initialize."""
        async with self._lock:
            if self._startup_fault is not None:
                raise Blocked(RequirementId("INIT-001"), self._startup_fault.sentence())
            if self._worker is not None and not self._worker.alive:
                await self._worker.kill()
                self._worker = None
            if self._worker is None:
                self._worker = await self._start(Trace(trace.requirement, SHARED))
            return self._provider(trace, self._worker)

    def launcher(self, trace: Trace) -> Launcher:
        """Starts workers for checks that judge the start itself."""
        return Launcher(trace, self.launch, self.subject, self.ledger, self._random(trace))

    async def tour(self, trace: Trace) -> Tour:
        """The tour of a worker that many checks look at; taken once."""
        async with self._touring:
            if self._tour is None:
                self._tour = await take_tour(self._guide("RPC-001", "tour"))
                self.leases.note_passed("tour")
            return self._tour.seen_by(trace)

    async def setup(self, trace: Trace) -> SetupTour:
        """The tour of a setup that many checks look at; taken once."""
        async with self._setting_up:
            if self._setup is None:
                worker = (await self.provider(trace)).worker
                guide = self._guide("SETUP-001", "setup")
                self._setup = await take_setup_tour(
                    Provider(guide.trace, worker, self.subject, self.ledger, guide.random)
                )
                self.leases.note_passed("setup")
            return self._setup.seen_by(trace)

    def new_violations(self) -> list[Violation]:
        """What the wire saw since the last call, over all workers."""
        found: list[Violation] = []
        for worker in self.launch.started:
            start = self._judged_violations.get(worker.number, 0)
            found.extend(worker.peer.violations[start:])
            self._judged_violations[worker.number] = len(worker.peer.violations)
        return found

    async def tidy(self, check: str, *, clean: bool = False) -> None:
        """End every worker that a check started, and every lease that it left open and nobody else can use.

        After a `clean` ending, ordinary leases are left to the checks that ask for a doomed one.
        """
        for worker in list(self.launch.living):
            if worker.owner == check:
                await worker.kill()
        for entry in self.ledger.open_entries(check):
            if clean and self.leases.take_over(entry):
                self.ledger.hand_over(entry, SHARED)
                continue
            self.leases.forget_kept(entry)
            await self._end(entry)

    async def close(self) -> None:
        """End what is open and stop the worker."""
        self.leases.spoil()
        with contextlib.suppress(ProviderFault, Blocked):
            for entry in self.ledger.open_entries():
                await self._end(entry)
        if self._worker is not None:
            await self._worker.stop()
            self._worker = None
        for worker in list(self.launch.living):
            await worker.kill()
        if self.ledger.purse is not None:
            self.ledger.purse.give_all_back()

    def kill_workers(self) -> None:
        """Last resort without an event loop: nothing that was started may survive."""
        for worker in list(self.launch.living):
            worker.peer.process.kill_now()

    async def _end(self, entry: Entry) -> None:
        trace = Trace(RequirementId("LEASE-021"), "tidy")
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                await _remove(await self.provider(trace), entry)
        except (ProviderFault, Blocked, TimeoutError):
            await self._end_in_a_fresh_worker(entry, trace)

    async def _end_in_a_fresh_worker(self, entry: Entry, trace: Trace) -> None:
        # The worker may be what is broken, not the sandbox: a host's sweep uses another process too.
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                worker = await self._start(trace)
                try:
                    await _remove(self._provider(trace, worker), entry)
                finally:
                    await worker.kill()
        except (ProviderFault, Blocked, TimeoutError):
            self.ledger.settle(entry, Ending.UNKNOWN)

    async def _start(self, trace: Trace) -> Worker:
        worker = self.launch.start(trace.check, Tenant.make(self._random(trace)))
        try:
            await worker.initialize()
        except ProviderFault as fault:
            await worker.kill()
            self._startup_fault = fault
            raise Blocked(RequirementId("INIT-001"), fault.sentence()) from fault
        except BaseException:
            await worker.kill()
            raise
        return worker

    def _provider(self, trace: Trace, worker: Worker) -> Provider:
        return Provider(trace, worker, self.subject, self.ledger, self._random(trace))

    def _guide(self, requirement: str, name: str) -> Launcher:
        """Starts workers that act for nobody's check."""
        rule = RequirementId(requirement)
        source = self._random(Trace(rule, name))
        return Launcher(Trace(rule, SHARED), self.launch, self.subject, self.ledger, source)

    def _random(self, trace: Trace) -> random.Random:
        return random.Random(f"{self.seed}/{trace.requirement}/{trace.check}")  # noqa: S311 - can be repeated


async def _remove(provider: Provider, entry: Entry) -> None:
    if entry.held is not None:
        await remove(provider, entry.held)
