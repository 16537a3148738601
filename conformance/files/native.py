"""What checks of the sync methods need before they begin."""

import asyncio
import contextlib
import math
import shutil
from collections.abc import Coroutine, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.answer import Answer
from conformance.capabilities import lease_situations
from conformance.evidence import Blocked, Undecided
from conformance.files.sandbox import Place, make_place
from conformance.host.lease import Lease
from conformance.model import MethodName, RequirementId, Situation
from conformance.provider import Provider
from conformance.steps import run_to_success

PAIR = frozenset({MethodName("environmentSyncIn"), MethodName("environmentSyncOut")})

UNABLE = frozenset({Situation.JOB_LEASE, Situation.NATIVE_SYNC_UNSUPPORTED})
"""Situations in which the host moves files over commands, although the sync methods are there."""

LONG_TIME_MS = 300_000
"""What the config of a large sync grants the backend (our choice: as long as the host grants a transfer command)."""

COMMANDS_IN_A_LONG_CALL = 10
"""From how many commands' time on a call can hold somebody up (our choice)."""

MOST_OF_IT = 0.75
"""Share of a call that a command waits for at least, if it waits for the call (our choice: it was sent just after)."""

BLOCK_BYTES = 1 << 20
"""A large file is this block again and again, because making it must not take longer than moving it."""


async def place_for_sync(provider: Provider, lease: Lease) -> Place:
    """Two fresh directories, one on each side, for a host that syncs natively.

    Raises `Blocked` when one of the two methods is missing, and `Undecided` for a lease that is marked as unable to
    sync: a host would move all files over commands then.
    """
    if not frozenset(provider.worker.methods or ()).issuperset(PAIR):
        raise Blocked(RequirementId("CAP-002"), "only one of the two sync methods is there, so a host uses neither")
    if lease_situations(lease.metadata, reusable=False) & UNABLE:
        raise Undecided(
            "The lease is marked as unable to sync natively, so a host moves its files over commands. Give a config "
            "whose leases can, or declare native sync as false."
        )
    return await make_place(provider, lease)


def with_time(provider: Provider, lease: Lease) -> Lease:
    """A lease whose config grants the backend five minutes, where the driver knows such a setting."""
    known = "timeoutMs" in provider.subject.properties
    return lease.with_record({"timeoutMs": LONG_TIME_MS}) if known else lease


@dataclass(frozen=True)
class Beside:
    """One long call, and the short commands that ran while it was open.

    `alone` is what such a command takes by itself, `best` the quickest of those beside the call, in seconds.
    """

    answer: Answer
    alone: float
    best: float
    overtook: int

    @property
    def held_up(self) -> bool:
        """Whether no command was answered before the call, and each had to wait for most of it.

        A call that is over after a few commands' time holds nobody up: one slow command is as long.
        """
        is_long = self.answer.seconds > COMMANDS_IN_A_LONG_CALL * self.alone
        return is_long and self.overtook == 0 and self.best > self.alone + MOST_OF_IT * self.answer.seconds


async def commands_beside(provider: Provider, lease: Lease, call: Coroutine[Any, Any, Answer]) -> Beside:
    """Run short commands, one after another, until the call is answered. Raises what the call raises."""
    alone = min([(await run_to_success(provider, lease, ":")).seconds for _ in range(3)])
    task = asyncio.create_task(call)
    # Once round, so that the call is on the wire before the first command.
    await asyncio.sleep(0)
    best, overtook = math.inf, 0
    while not task.done():
        best = min(best, (await run_to_success(provider, lease, ":")).seconds)
        overtook += not task.done()
    return Beside(await task, alone, best, overtook)


@contextlib.contextmanager
def large_file(provider: Provider) -> Generator[Path]:
    """A file of the size that a sync should move in time, removed with everything beside it."""
    size = int(provider.launch.limits["large_sync"].value)
    folder = provider.scratch.resolve()
    # Plain text, so that this check says nothing about bytes: others do.
    block = provider.random.randbytes(BLOCK_BYTES // 2).hex().encode()
    try:
        with (folder / "large").open("xb") as file:
            for _ in range(size // BLOCK_BYTES):
                file.write(block)
            file.write(block[: size % BLOCK_BYTES])
        yield folder / "large"
    finally:
        shutil.rmtree(folder)
