"""Closing what a ledger has open, in a fresh worker: release, then destroy, as a host does."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.account import Account, Told, read_account
from conformance.bench import Bench
from conformance.errors import ConformanceError, EnvironmentFault, ProviderFault, UsageFault
from conformance.evidence import Trace
from conformance.host.find import Unpacked
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.journal import Journal
from conformance.ledger import Ending, Entry, Ledger
from conformance.model import JsonObject, RequirementId, object_of
from conformance.plan import Plan, bench_for, make_plan
from conformance.provider import Launcher, Provider
from conformance.reaper.inventory import Inventory
from conformance.reaper.reference import with_config_of
from conformance.redact import Redactor
from conformance.settings import Settings, current_environment
from conformance.wire.transcript import Transcript

LOCK_LIMIT_S = 30.0
"""How long a process of the run may take to let go of its ledger (our choice: it is gone, or about to end)."""

CLOSE_LIMIT_S = 600.0
"""How long closing everything may take (our choice: every call has its own limit; this bounds their sum)."""

AT_ONCE = 8
"""How many entries are closed side by side (our choice: a backend that is asked for more may refuse)."""

DAMAGED = "What some lines of the ledger tell of is in no other line: it was changed or damaged."

_LOOK_AGAIN_S = 0.05
"""Pause between two tries to get the lock of a ledger."""


@dataclass(frozen=True)
class Reaped:
    """What became of the entries that were open, a sentence each. `problem`: why no worker could be asked."""

    closed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        """All of it, for people."""
        heads = (("Closed:", self.closed), ("May still exist, and cost money:", self.left))
        lines = [line for head, told in heads if told for line in (head, *(f"  {each}" for each in told))]
        return "\n".join([*([self.problem] if self.problem else []), *(lines or ["Nothing was open."])])


def reap(path: Path, settings: Settings, *, wait_s: float = 0.0) -> Reaped:
    """Close what the ledger at `path` has open, and write into it what became of that.

    Raises `UsageFault` when the ledger belongs to a run that still goes on, or to another provider or config, and
    `EnvironmentFault` when it cannot be written.
    """
    journal = _take_over(path, settings, wait_s)
    try:
        account = read_account(path)
        if account is None or not account.open:
            return Reaped() if account is None or account.settled else Reaped(left=(DAMAGED,))
        reaped = asyncio.run(_close_all(account, settings, journal))
    except ConformanceError as fault:
        _write(journal, f"Nothing was closed: {fault.sentence()}")
        raise
    else:
        _write(journal, reaped.text)
        return reaped
    finally:
        journal.close()


def _write(journal: Journal, text: str) -> None:
    journal.reaped(text)
    journal.end()
    with contextlib.suppress(OSError):
        journal.path.with_suffix(".txt").write_text(f"{text}\n", encoding="utf-8")


def _take_over(path: Path, settings: Settings, wait_s: float) -> Journal:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return Journal(path, Redactor(settings.secrets), frozenset())
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise UsageFault(f"{path} is in use: its run, or its reaper, still works.", "Wait for it.") from error
        time.sleep(_LOOK_AGAIN_S)


async def _close_all(account: Account, settings: Settings, journal: Journal) -> Reaped:
    was_open = account.open
    problem = ""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-reaper-") as folder:
        completed = with_config_of(account.header, settings)
        plan = make_plan(completed, Path(folder), unpacked=_unpacked(account.header))
        expect_the_same(account.header, plan)
        entries = [told.restored(plan.subject.config) for told in account.entries.values()]
        bench = bench_for(plan, Transcript(), Path(folder), current_environment(), journal=journal)
        bench.ledger = Ledger(record=journal, entries=entries)
        try:
            async with asyncio.timeout(CLOSE_LIMIT_S):
                problem = await _settle(bench, plan)
        except TimeoutError:
            problem = f"It was not done within {CLOSE_LIMIT_S:g} s."
        finally:
            bench.kill_workers()
    for entry in entries:
        if entry.ending is None:
            bench.ledger.settle(entry, Ending.UNKNOWN)
    return _told(was_open, {entry.label: entry for entry in entries}, problem)


async def _settle(bench: Bench, plan: Plan) -> str:
    """Close what calls can close, then what the hooks can. Returns what stands in the way of the rest."""
    ledger = bench.ledger
    inventory = Inventory(ledger, plan.subject.hooks, current_environment())
    with contextlib.suppress(EnvironmentFault):
        await inventory.look()
    named, problem = ledger.open_entries(), ""
    try:
        await _close_named(bench.launcher(Trace(RequirementId("LEASE-021"), "reaper")), ledger)
    except (ProviderFault, EnvironmentFault) as fault:
        problem = f"The provider could not be asked: {fault.sentence()} "
    return (problem + await inventory.settle([entry for entry in named if not entry.is_open])).strip()


def expect_the_same(header: JsonObject, plan: Plan) -> None:
    """Refuse another provider: it would say of every lease that it is gone. Raises `UsageFault`."""
    subject = plan.subject
    for what, was, now in (
        ("plugin", header.get("plugin"), subject.plugin_id),
        ("driver", header.get("driver"), subject.driver_key),
    ):
        if was != now:
            raise UsageFault(f"The ledger is of the {what} {was!r}, and this is {now!r}.", "Name it with --provider.")


def _unpacked(header: JsonObject) -> Unpacked | None:
    told = object_of(header.get("unpacked"))
    root, digest = told.get("root"), told.get("tarball")
    if not isinstance(root, str) or not isinstance(digest, str) or not Path(root).is_dir():
        return None
    return Unpacked(Path(root), digest)


async def _close_named(launcher: Launcher, ledger: Ledger) -> None:
    await _close_in_one_worker(launcher, ledger.open_entries())
    # A worker may break on one entry and take the others with it: each that is left gets a worker to itself.
    fault: ProviderFault | None = None
    for entry in ledger.open_entries():
        try:
            await _close_in_one_worker(launcher, [entry])
        except ProviderFault as found:
            fault = found
    if fault is not None:
        raise fault


async def _close_in_one_worker(launcher: Launcher, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    free = asyncio.Semaphore(AT_ONCE)

    async def close(provider: Provider, entry: Entry) -> None:
        async with free:
            with contextlib.suppress(ProviderFault):
                await _close(provider, entry)

    tenant = next((entry.held.tenant for entry in entries if entry.held is not None), None)
    async with launcher.worker(tenant=tenant) as provider:
        await provider.initialize()
        await asyncio.gather(*(close(provider, entry) for entry in entries))


async def _close(provider: Provider, entry: Entry) -> None:
    match entry.held:
        case Lease() as lease:
            with contextlib.suppress(ProviderFault):
                await provider.release(lease)
            await provider.destroy(lease)
        case Setup() as setup:
            await provider.cancel_setup(setup)
        case Template() as template:
            await provider.delete_template(template)
        case None:
            return


def _told(was_open: Iterable[Told], entries: dict[str, Entry], problem: str) -> Reaped:
    closed, left = list[str](), list[str]()
    for told in was_open:
        entry = entries[told.label]
        (left if entry.is_open else closed).append(f"{described(told)}: {entry.ending}")
    return Reaped(tuple(closed), tuple(left), problem)


def described(told: Told) -> str:
    """An entry in words, with what helps to find it at the backend."""
    name = told.id if told.id is not None else "of which no answer told the id"
    where = ", ".join(f"{key} {value}" for key, value in object_of(told.intent.get("request")).items() if value)
    return f"{told.label}, {told.kind} {name} (asked for by {told.check} at {told.intent.get('at')}; {where})"
