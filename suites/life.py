"""LIFE: the end of a worker, and what outlives it."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from conformance.answer import Answer, answer_of
from conformance.checks import Capability, check
from conformance.errors import WorkerGone, describe_exit
from conformance.evidence import Blocked
from conformance.expect import expect, expect_alive, expect_answered, expect_equal
from conformance.harmless import MAKING, harmless_call, unknown_lease
from conformance.host.lease import Lease
from conformance.model import Cost, Level, RequirementId
from conformance.overlap import fresh_directory, side_by_side
from conformance.provider import Launcher, Provider
from conformance.steps import (
    advertised_methods,
    initialize_worker,
    realize_workspace,
    realized_lease,
    release_lease,
    resume_lease,
    run_script,
    write_file,
)
from conformance.tour import UNKNOWN_METHOD, wrong_config

MUST, SHOULD = Level.MUST, Level.SHOULD

ENDLESS = "while :; do sleep 1; done"
"""A script that ends only with its sandbox, or when somebody ends it."""

ENDLESS_LIMIT_MS = 3_600_000
"""A time limit that has nothing to do with the end of it (our choice)."""


@check("LIFE-001", level=MUST, alone=True)
async def an_idle_worker_ends_after_shutdown(launcher: Launcher) -> None:
    """After shutdown the process ends by itself within 10.5 seconds: 10 for the answer, and half a second."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        since = time.monotonic()
        await answer_of(provider.shutdown())

        await expect_end(
            provider,
            shutdown_limit(provider),
            since,
            after="shutdown",
            advice="Close timers and connections, and end the process once the answer is written.",
        )


@check("LIFE-001", level=MUST, cost=Cost.SHARED, alone=True)
async def a_busy_worker_ends_after_shutdown(launcher: Launcher, spare: Lease) -> None:
    """The same holds with calls open: what still runs must not hold up the end."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        await run_script(provider, spare, "echo started")
        async with under_way(run_endlessly(provider, spare)):
            since = time.monotonic()
            await answer_of(provider.shutdown())

            await expect_end(
                provider,
                shutdown_limit(provider),
                since,
                after="shutdown during a command",
                advice="Do not wait for open calls: cut them off, answer what can be answered, and end.",
            )


@check("LIFE-002", level=SHOULD)
async def shutdown_is_answered_before_an_orderly_end(launcher: Launcher) -> None:
    """Shutdown gets a result, then the process ends with exit code 0; anything else looks like a crash."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        answer = await answer_of(provider.shutdown())
        expect_answered(answer, advice="Write the answer out before you end the process.")
        code = await end_after_shutdown(provider)

    expect_equal(answer, "the exit code after shutdown", code, 0, advice="End with exit code 0 after a shutdown.")


@check("LIFE-003", level=MUST, alone=True)
async def the_worker_ends_with_its_stdin(launcher: Launcher) -> None:
    """When the host dies, the end of stdin is all that a worker sees of it: before initialize, or after."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        provider.worker.peer.process.end_stdin()
        await expect_end_of_orphan(provider, 0, after="the end of stdin")
    async with launcher.worker() as provider:
        provider.worker.peer.process.end_stdin()
        # It has to start first, and may take the time of a start for that.
        start = provider.launch.limits.seconds("initialize")
        await expect_end_of_orphan(provider, start, after="a start with stdin at its end")


@check("LIFE-003", level=MUST, cost=Cost.SHARED, alone=True)
async def a_busy_worker_ends_with_its_stdin(launcher: Launcher, spare: Lease) -> None:
    """The same holds while a command runs: neither it nor a connection to a sandbox may keep the process alive."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        await run_script(provider, spare, "echo started")
        async with under_way(run_endlessly(provider, spare)):
            provider.worker.peer.process.end_stdin()

            await expect_end_of_orphan(provider, 0, after="the end of stdin during a command")


@check("LIFE-004", level=SHOULD, alone=True)
async def sigterm_ends_the_worker(launcher: Launcher) -> None:
    """SIGTERM ends the process within 5 seconds; then the host kills it."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        provider.worker.peer.process.send_signal(signal.SIGTERM)

        await expect_end(
            provider,
            provider.launch.limits.seconds("terminate_grace"),
            time.monotonic(),
            after="SIGTERM",
            advice="Leave SIGTERM to the system, or end the process at the end of your own handler.",
        )


@check("LIFE-005", level=MUST, cost=Cost.OWN)
async def a_lease_outlives_its_worker(launcher: Launcher) -> None:
    """Shutdown and crash leave a lease as it is: the next worker goes on with it."""
    advice = "Keep nothing about a lease in memory only, and remove no sandbox when the worker ends."
    async with launcher.worker() as first:
        await initialize_worker(first)
        lease = await realized_lease(first)
        await write_file(first, lease, kept_file(lease), "written before the shutdown")
        await answer_of(first.shutdown())
        await end_after_shutdown(first)

    async with launcher.worker(tenant=first.tenant) as second:
        await initialize_worker(second)
        seen = await answer_of(second.execute(lease, "cat", [kept_file(lease)]))
        expect_printed(seen, "written before the shutdown", after="a shutdown", advice=advice)
        await second.worker.kill()

    async with launcher.worker(tenant=first.tenant) as third:
        await initialize_worker(third)
        seen = await answer_of(third.execute(lease, "cat", [kept_file(lease)]))
        expect_printed(seen, "written before the shutdown", after="a crash", advice=advice)


@check("LIFE-005", level=MUST, needs=Capability.REUSABLE_LEASES, cost=Cost.SHARED)
async def a_reusable_lease_can_be_resumed_by_the_next_worker(provider: Provider, kept: Lease) -> None:
    """Resume brings the sandbox of a worker back that was shut down, or that crashed, with the files in it."""
    advice = "Find the sandbox by its id alone, and remove none when the worker ends."
    async with provider.fresh_worker() as first:
        lease = await realize_workspace(first, await resume_lease(first, kept))
        await write_file(first, lease, kept_file(lease), "written before the shutdown")
        await answer_of(first.shutdown())
        await end_after_shutdown(first)

    async with provider.fresh_worker() as second:
        again = expect_resumed(second, await answer_of(second.resume(lease)), after="a shutdown", advice=advice)
        seen = await answer_of(second.execute(again, "cat", [kept_file(again)]))
        expect_printed(seen, "written before the shutdown", after="a shutdown", advice=advice)
        await second.worker.kill()

    async with provider.fresh_worker() as third:
        again = expect_resumed(third, await answer_of(third.resume(again)), after="a crash", advice=advice)
        seen = await answer_of(third.execute(again, "cat", [kept_file(again)]))
        expect_printed(seen, "written before the shutdown", after="a crash", advice=advice)
        await release_lease(third, again)


@check("LIFE-006", level=MUST)
async def an_error_ends_one_call_and_not_the_worker(provider: Provider) -> None:
    """Whatever goes wrong in one call, all others on the same worker go on."""
    async with provider.fresh_worker() as other:
        bad = wrong_config(other)
        expect_survived(await answer_of(other.call(UNKNOWN_METHOD, {})))
        expect_survived(await answer_of(other.validate_config(bad)))
        expect_survived(await answer_of(other.acquire(bad)))
        for method in sorted({*advertised_methods(other)} - MAKING - {"shutdown"}):
            expect_survived(await answer_of(harmless_call(other, method)))
        await expect_alive(other)


@check("LIFE-007", level=SHOULD, cost=Cost.OWN)
async def two_workers_get_along(provider: Provider, lease: Lease) -> None:
    """While a host replaces a worker there are two, and neither may take what belongs to the other."""
    advice = "Share no lock, port or scratch file between workers, and take no unknown sandbox for a leftover."
    ours = f"{await fresh_directory(provider, lease)}/ours"
    await write_file(provider, lease, ours, "of the first worker")

    async with provider.fresh_worker() as other:
        acquired = await answer_of(other.acquire())
        expect_answered(acquired, advice=advice)
        theirs = other.leased(acquired) or lease
        expect_answered(await answer_of(other.realize(theirs)), advice=advice)
        beside, mine = await side_by_side(
            answer_of(other.execute(theirs, "echo", ["of the second"])),
            answer_of(provider.execute(lease, "cat", [ours])),
        )
        expect_printed(beside, "of the second\n", after="beside the first worker", advice=advice)
        expect_printed(mine, "of the first worker", after="beside the second worker", advice=advice)

    seen = await answer_of(provider.execute(lease, "cat", [ours]))
    expect_printed(seen, "of the first worker", after="the end of the second worker", advice=advice)


def shutdown_limit(provider: Provider) -> float:
    """How long a worker has after shutdown before the host uses force, in seconds."""
    limits = provider.launch.limits
    return limits.seconds("shutdown") + limits.seconds("shutdown_grace")


async def end_after_shutdown(provider: Provider) -> int | None:
    """Wait for the end of a worker that was shut down; its exit code. Blocked by LIFE-001 when it does not end."""
    process = provider.worker.peer.process
    if not await process.wait_exit(shutdown_limit(provider)):
        raise Blocked(RequirementId("LIFE-001"), "the worker does not end after shutdown", provider.frames)
    return process.exit_code


def run_endlessly(provider: Provider, lease: Lease) -> Coroutine[Any, Any, Answer]:
    """A command that never ends by itself."""
    return provider.execute(lease, lease.shell, ["-c", ENDLESS], timeout_ms=ENDLESS_LIMIT_MS)


@contextlib.asynccontextmanager
async def under_way(call: Coroutine[Any, Any, Answer]) -> AsyncGenerator[None]:
    """A call that is open while the block runs, and given up after it: what it does ends with the check's lease."""
    task = asyncio.create_task(answer_of(call))
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def kept_file(lease: Lease) -> str:
    """A file by which a sandbox is known again."""
    return f"{lease.remote_cwd}/known-again.txt"


async def expect_end(provider: Provider, seconds: float, since: float, *, after: str, advice: str) -> None:
    """Demand that the process ends by itself within a time that is counted from `since`, by the monotonic clock."""
    process = provider.worker.peer.process
    gone = await process.wait_exit(seconds - (time.monotonic() - since))
    provider.trace.spent((time.monotonic() - since) / seconds)
    expect(
        provider,
        gone,
        that=f"the process ends by itself within {seconds:g} s after {after}",
        observed=f"it {describe_exit(process.exit_code)}" if gone else "it still runs",
        advice=advice,
        timed=True,
    )


async def expect_end_of_orphan(provider: Provider, start: float, *, after: str) -> None:
    """Demand that the process ends with its stdin; `start` seconds are granted for a start before that."""
    await expect_end(
        provider,
        start + provider.launch.limits.seconds("stdin_end"),
        time.monotonic(),
        after=after,
        advice="End the process when reading stdin comes to its end, whatever timers and connections are open.",
    )


def expect_survived(answer: Answer) -> None:
    """Demand that the worker is still there after a call, however that ended."""
    expect(
        answer,
        not isinstance(answer.fault, WorkerGone),
        that="the process is still there after a call that cannot work",
        observed=answer.came,
        advice="Catch errors also in callbacks and in tasks that nobody waits for.",
    )


def expect_printed(answer: Answer, text: str, *, after: str, advice: str) -> None:
    """Demand what a command prints in a sandbox, as the sign that it is still the same one."""
    seen = answer.fields.get("stdout") if answer.fields.get("exitCode") == 0 else answer.came
    expect_equal(answer, f"what a command prints after {after}", seen, text, advice=advice)


def expect_resumed(provider: Provider, answer: Answer, *, after: str, advice: str) -> Lease:
    """Demand that resume hands a lease out, and return it."""
    lease = provider.leased(answer)
    expect(
        answer,
        lease is not None and lease.id is not None,
        that=f"resume hands the lease out after {after}",
        observed=answer.came,
        advice=advice,
    )
    return lease or unknown_lease(provider)
