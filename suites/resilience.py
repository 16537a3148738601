"""Resilience: calls that come in pieces, in lumps or at a bad moment, and workers that are killed in the middle of one.

What a worker does is known only from what the host sees afterwards: every call is answered, and whoever owned a lease
before can still use it, give it back and end it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import Any

from conformance.answer import Answer, answer_of
from conformance.backend import Backend, new_since
from conformance.checks import Capability, check
from conformance.disturb import (
    calls_at_once,
    calls_in_pieces,
    collected_from,
    deaf,
    started,
    stopped,
    unanswered,
    until_read,
)
from conformance.errors import AnswerTimeout, KitError
from conformance.expect import expect, expect_alive, expect_answered, expect_exit, expect_gone, expect_stdout
from conformance.files.operations import file, operation
from conformance.gates import BOTH_HOOKS
from conformance.host.lease import Lease
from conformance.model import Cost, Json, JsonObject, Level
from conformance.overlap import fresh_directory, until_file
from conformance.provider import Launcher, Provider
from conformance.steps import (
    initialize_worker,
    quote,
    resume_lease,
    run_script,
    run_to_success,
    write_file,
)
from conformance.tour import UNKNOWN_METHOD

MUST, SHOULD = Level.MUST, Level.SHOULD
REUSABLE = Capability.REUSABLE_LEASES
SYNC_IN, SYNC_OUT = Capability.NATIVE_SYNC_IN, Capability.NATIVE_SYNC_OUT

FEW = 12
"""Calls that are cut into pieces (our choice: enough that a cut falls into every part of a message)."""

BURST = 500
"""Calls in flight at once (our choice: a host has as many when all its runs look for output at one moment)."""

OVERFULL = 2_000
"""Calls whose answers, of 60 bytes at least, are more than a pipe of 64 KiB takes (our choice)."""

DEAF_S = 0.5
"""How long the host does not read (our choice: the worker has met the full pipe by then)."""

GIANT = 16 * 1024 * 1024
"""Characters of one value: four times the largest stdin that a host sends (our choice)."""

TO_BE_CUT_OFF = 16 * 1024 * 1024
"""Bytes of a file whose sync is cut off (our choice: no provider is done with it in the moment that a kill takes)."""

NO_NEWLINE = bytes(value for value in range(256) if value not in b"\n{[")
"""Bytes of which no line of JSON that is an object can be made."""

REST_S = 0.05
"""How long the worker stays stopped (our choice)."""

IN_THE_MIDDLE_S = 0.3
"""How long a call is let run before its worker is killed (our choice)."""

LARGE_IDS = (2**31 - 1, 2**32, 2**53 - 8)
"""Where ids outgrow 32 bits, and near the last whole number that JavaScript knows."""

DEEP = 20_000
"""Levels of a message (our choice: more than the parsers of many languages follow)."""

ODD_TEXTS = (
    "",
    "__proto__",
    "constructor",
    "\0",
    "\u2028",
    "\x7f\x1b[31m",
    "雪" * 100,
    "\U0001f600",
    "\ud800",
    "'; exit 1; '",
    "${HOME}",
    "%s%n",
)
"""Texts on which parsers, templates, shells and objects have stumbled."""

REUSED_ID = 700_001
"""An id far from those that the host has got to (our choice)."""

ODD_ANSWERS: tuple[JsonObject, ...] = (
    {"jsonrpc": "2.0", "id": 987_654, "result": None},
    {"jsonrpc": "2.0", "id": 987_654, "result": {"late": True}},
    {"jsonrpc": "2.0", "id": 987_655, "error": {"code": -32603, "message": "too late"}},
    {"jsonrpc": "2.0", "id": "987656", "result": None},
    {"jsonrpc": "2.0", "id": -1, "result": None},
    {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "nobody asked"}},
)
"""Answers to what the worker never asked, one of them twice: to one that has stopped waiting, a late answer is such."""


@check("RPC-008", level=MUST)
async def frames_in_pieces_are_put_together(provider: Provider) -> None:
    """A pipe may hand over any piece of a line, down to single bytes: a message is whole once its newline is there."""
    async with provider.fresh_worker() as other:
        for places in (None, None, range(120)):
            expect_all_answered(
                await calls_in_pieces(other, FEW, places),
                how="in pieces",
                advice="Collect bytes up to the newline before you decode them.",
            )


@check("RPC-008", level=MUST)
async def a_burst_of_calls_is_answered(provider: Provider) -> None:
    """Frames may arrive glued together, and hundreds of calls may be open: each is answered under its own id."""
    async with provider.fresh_worker() as other:
        expect_all_answered(
            await calls_at_once(other, BURST),
            how="at once",
            advice="Take every line out of what was read, not only the first; queue what cannot be served at once.",
        )
        await expect_alive(other)


@check("RPC-008", level=MUST)
async def no_answer_is_lost_on_a_slow_host(provider: Provider) -> None:
    """A host that is busy lets the pipe fill up: the worker waits, and every answer arrives whole in the end."""
    async with provider.fresh_worker() as other:
        async with deaf(other, DEAF_S):
            calls = await started(other, OVERFULL)
        expect_all_answered(
            await asyncio.gather(*calls),
            how="while the host did not read",
            advice="Wait until a full pipe takes more; never write a part of a line and go on with the next.",
        )


@check("RPC-008", level=SHOULD)
async def a_worker_that_was_stopped_goes_on(provider: Provider) -> None:
    """A machine that sleeps, or an operator, stops processes: what was sent meanwhile is answered afterwards."""
    async with provider.fresh_worker() as other:
        async with stopped(other):
            calls = await started(other, FEW)
            await asyncio.sleep(REST_S)
        expect_all_answered(
            await asyncio.gather(*calls),
            how="while the worker was stopped",
            advice="Take no jump of the clock for a failure.",
        )


@check("RPC-012", level=SHOULD)
async def garbage_between_calls_is_survived(provider: Provider) -> None:
    """Lines that are no message, of any bytes, harm no call before or after them."""
    source = provider.random
    async with provider.fresh_worker() as other:
        for _ in range(FEW):
            calls = await started(other, 2)
            other.worker.peer.send_line(bytes(source.choices(NO_NEWLINE, k=source.randrange(1, 300))))
            expect_all_answered(
                await asyncio.gather(*calls),
                how="around a line that is no message",
                advice="Drop a line that is not JSON.",
            )
        await expect_alive(other)


@check("RPC-012", level=SHOULD)
async def answers_to_nothing_are_passed_over(provider: Provider) -> None:
    """An answer that comes late, twice, or to nobody is dropped: it ends neither the worker nor a call of the host."""
    async with provider.fresh_worker() as other:
        for message in ODD_ANSWERS:
            other.worker.peer.send_message(message)
            await expect_alive(other)


@check("RPC-012", level=SHOULD)
async def an_id_can_be_used_again(provider: Provider) -> None:
    """Once a call is answered its id is free; a host whose counter begins anew uses the same ones again."""
    async with provider.fresh_worker() as other:
        for _ in range(2):
            other.worker.peer.count_from(REUSED_ID)
            expect_all_answered(
                await calls_at_once(other, 2),
                how=f"under ids from {REUSED_ID} on",
                advice="Forget an id with the answer to it.",
            )


@check("RPC-005", level=SHOULD)
async def large_ids_come_back_as_they_are(provider: Provider) -> None:
    """An id is a number, and comes back as the same number, however large it has become."""
    async with provider.fresh_worker() as other:
        for first in LARGE_IDS:
            other.worker.peer.count_from(first)
            expect_all_answered(
                await calls_at_once(other, 2), how=f"under ids from {first} on", advice="Hand back the id as it came."
            )


@check("RPC-012", level=SHOULD)
async def white_space_around_a_message_is_passed_over(provider: Provider) -> None:
    """Blank lines between messages, and a carriage return at their end, mean nothing in JSON."""
    async with provider.fresh_worker() as other:
        with other.worker.peer.kept_back() as collected:
            calls = await started(other, 4)
            frames = await collected_from(collected)
        other.worker.peer.process.write(b"\n \t\n" + frames.replace(b"\n", b" \r\n\n"))
        advice = "Strip a line before you look at it."
        expect_all_answered(await asyncio.gather(*calls), how="with white space around them", advice=advice)


@check("RPC-008", level=MUST)
async def initialize_in_two_pieces_is_answered(launcher: Launcher, provider: Provider) -> None:
    """The first message too may come in pieces, while the worker is still about to start."""
    async with launcher.worker() as other:
        with other.worker.peer.kept_back() as collected:
            starting = asyncio.ensure_future(answer_of(other.initialize()))
            frame = await collected_from(collected)
        # It reads the first half before there is a second one.
        half = len(frame) // 2
        other.worker.peer.process.write(frame[:half])
        await until_read(other, provider.launch.limits.seconds("initialize") / 2)
        other.worker.peer.process.write(frame[half:])
        answer = await starting
    expect_answered(answer, advice="Collect bytes up to the newline, also of the first message.")


@check("LIFE-001", level=MUST, alone=True)
async def a_burst_of_open_calls_holds_up_no_shutdown(launcher: Launcher) -> None:
    """A shutdown that comes right behind hundreds of calls is obeyed in its time; what is open may be dropped."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        calls = await started(provider, BURST)
        await answer_of(provider.shutdown())
        gone = await provider.worker.peer.process.wait_exit(provider.launch.limits.seconds("shutdown_grace"))
        if not gone:
            await provider.worker.kill()
        await asyncio.gather(*calls)
    expect(
        provider,
        gone,
        that="the process ends in the time of a shutdown that comes behind a burst of calls",
        observed="it ended" if gone else "it still ran",
        advice="Look for shutdown before what waits; do not serve a queue to its end.",
        timed=True,
    )


@check("LIFE-003", level=MUST, alone=True)
async def half_a_frame_before_the_end_of_stdin_keeps_no_worker(launcher: Launcher) -> None:
    """A host that dies in the middle of a write leaves half a line: nobody will send the rest, so the worker ends."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        process = provider.worker.peer.process
        process.write(b'{"jsonrpc":"2.0","id":1,"method":"hea')
        process.end_stdin()
        gone = await process.wait_exit(provider.launch.limits.seconds("stdin_end"))
    expect(
        provider,
        gone,
        that="the process ends when stdin ends in the middle of a line",
        observed="it ended" if gone else "it still ran",
        advice="Take the end of stdin for the end of the host, whatever stands in the buffer.",
        timed=True,
    )


@check("LIFE-006", level=MUST)
async def odd_texts_in_a_request_end_no_worker(provider: Provider) -> None:
    """Any text that JSON can carry may stand in a request, in a key as well: it is served or refused."""
    odd: JsonObject = {text: [text, {text: text}] for text in ODD_TEXTS}
    async with provider.fresh_worker() as other:
        answer = await answer_of(other.call(UNKNOWN_METHOD, odd))
        expect_all_answered([answer], how="with odd texts", advice="Read keys and values as text, whatever they spell.")
        await expect_alive(other)


@check("LIFE-006", level=SHOULD)
async def deep_params_end_no_worker(provider: Provider) -> None:
    """A message that is nested too deep for a parser may be dropped, and does not end the process."""
    deep = b"[" * DEEP + b"]" * DEEP
    async with provider.fresh_worker() as other:
        other.worker.peer.send_line(b'{"jsonrpc":"2.0","method":"conformance/nothing","params":{"deep":' + deep + b"}}")
        await expect_alive(other)


@check("LIFE-006", level=MUST)
async def a_giant_request_ends_one_call_at_most(provider: Provider) -> None:
    """A request of many megabytes is served or refused; the worker lives on, and so does every other call."""
    giant: Json = "x" * GIANT
    async with provider.fresh_worker() as other:
        calls = await started(other, 2)
        big = await answer_of(other.call(UNKNOWN_METHOD, {"giant": giant}))
        expect_all_answered(
            [big, *await asyncio.gather(*calls)],
            how="beside a giant one",
            advice="Set no limit on a line below 128 Mi units.",
        )
        await expect_alive(other)


@check("LIFE-005", level=MUST, cost=Cost.SHARED)
async def a_kill_in_the_middle_of_a_command_ends_no_lease(provider: Provider, spare: Lease) -> None:
    """A worker that dies while a command runs takes neither the lease nor its files along: the next one goes on."""
    folder = await fresh_directory(provider, spare)
    await write_file(provider, spare, f"{folder}/work", "done before")
    begun = f"{folder}/begun"
    script = f": > {quote(begun)}; sleep 5"
    async with killed(provider, lambda other: other.execute(spare, spare.shell, ["-c", script])) as _:
        await run_to_success(provider, spare, until_file(begun, provider.launch.limits.seconds("bridge")))

    await expect_goes_on(provider, spare, f"{folder}/work", "done before", after="a kill in the middle of a command")


@check("LIFE-005", level=MUST, needs=SYNC_IN, cost=Cost.SHARED)
async def a_kill_in_the_middle_of_a_sync_in_ends_no_lease(provider: Provider, spare: Lease) -> None:
    """The same for a transfer into the sandbox, which can be made again."""
    folder = await fresh_directory(provider, spare)
    await write_file(provider, spare, f"{folder}/work", "done before")
    source = provider.scratch / "source"
    source.write_bytes(b"x" * TO_BE_CUT_OFF)
    moving = [operation(file(source, f"{folder}/moved"))]
    async with killed(provider, lambda other: other.sync_in(spare, moving)):
        pass

    await expect_goes_on(provider, spare, f"{folder}/work", "done before", after="a kill in the middle of a sync in")
    again = await synced_by_another(provider, lambda other: other.sync_in(spare, moving))
    seen = await run_script(provider, spare, f"wc -c < {quote(f'{folder}/moved')}")
    expect_answered(again, advice="Clear away, or write over, what a transfer that was cut off has left.")
    expect_stdout(seen, f"{TO_BE_CUT_OFF}\n", advice="Make a transfer whole whatever an earlier one has left.")


@check("LIFE-005", level=MUST, needs=SYNC_OUT, cost=Cost.SHARED)
async def a_kill_in_the_middle_of_a_sync_out_ends_no_lease(provider: Provider, spare: Lease) -> None:
    """The same for a transfer out of the sandbox: what is inside stays as it is, and comes out the second time."""
    folder = await fresh_directory(provider, spare)
    await write_file(provider, spare, f"{folder}/work", "done before")
    await run_to_success(provider, spare, f"head -c {TO_BE_CUT_OFF} /dev/zero > {quote(f'{folder}/large')}")
    target = provider.scratch / "target"
    moving = [operation(file(f"{folder}/large", target))]
    async with killed(provider, lambda other: other.sync_out(spare, moving)):
        pass

    await expect_goes_on(provider, spare, f"{folder}/work", "done before", after="a kill in the middle of a sync out")
    again = await synced_by_another(provider, lambda other: other.sync_out(spare, moving))
    expect_answered(again, advice="Clear away, or write over, what a transfer that was cut off has left.")
    expect(
        again,
        target.is_file() and target.stat().st_size == TO_BE_CUT_OFF,
        that=f"the file of {TO_BE_CUT_OFF} bytes is on the host after the second transfer",
        observed=f"it has {target.stat().st_size} bytes" if target.is_file() else "it is not there",
        advice="Make a transfer whole whatever an earlier one has left.",
    )


@check("LEASE-023", level=MUST, needs=REUSABLE, cost=Cost.SHARED)
async def a_release_that_was_cut_off_can_be_made_again(provider: Provider, kept: Lease) -> None:
    """The host does not know whether it happened, so it asks again, and a later run resumes what was kept."""
    async with provider.fresh_worker() as first:
        lease = await resume_lease(first, kept)
    async with killed(provider, lambda other: other.release(lease)):
        pass

    async with provider.fresh_worker() as next_one:
        released = await answer_of(next_one.release(lease))
        resumed = await answer_of(next_one.resume(lease))
        await answer_of(next_one.release(lease))
    expect_answered(released, advice="A release of what is released, or half released, succeeds.")
    expect_answered(resumed, advice="Let a release change nothing that a second one would need.")


@check("LEASE-023", level=MUST, cost=Cost.OWN)
async def an_end_that_was_cut_off_can_be_made_again(provider: Provider, doomed: Lease) -> None:
    """A release and a destroy whose workers are killed on the way: the next destroy succeeds, and nothing is left."""
    async with killed(provider, lambda other: other.release(doomed)):
        pass
    async with killed(provider, lambda other: other.destroy(doomed)):
        pass

    async with provider.fresh_worker() as other:
        answer = await answer_of(other.destroy(doomed))
    expect_answered(answer, advice="Go on with a removal that somebody else has begun; nothing left means success.")
    await expect_gone(provider, doomed, advice="Let the next destroy finish what was begun.")


@check("LEASE-023", level=SHOULD, cost=Cost.OWN, when=BOTH_HOOKS, alone=True)
async def an_acquire_that_was_cut_off_leaves_nothing_that_cannot_be_ended(
    provider: Provider, backend: Backend, lease: Lease
) -> None:
    """Nobody knows the id of a sandbox whose acquire was cut off. Where one is left, a destroy by its id removes it."""
    before = await backend.look_for(lease)
    async with killed(provider, lambda other: other.acquire()) as calls:
        # The only sign that a backend gives is its list.
        while not (calls[0].done() or new_since(before, await backend.look(), provider.ledger)):  # noqa: ASYNC110
            await asyncio.sleep(REST_S)
    entry = provider.ledger.entries[-1]

    left = new_since(before, await backend.look(), provider.ledger)
    ended = [await answer_of(provider.destroy(named(provider, entry.label, lease, name))) for name in left]
    still = new_since(before, await backend.look(), provider.ledger)
    expect(
        ended[-1] if ended else calls[0].result(),
        not still,
        that="what a cut-off acquire has left is removed by a destroy of its id",
        observed=f"still there: {', '.join(still)}" if still else f"{len(left)} left, and removed",
        advice="Take a sandbox that is not yet ready for one that can be destroyed.",
    )


def expect_all_answered(answers: Sequence[Answer], *, how: str, advice: str) -> None:
    """Demand a result or an error for each call."""
    missing = unanswered(answers)
    seen = f"{len(missing)} were not: {missing[0].came}" if missing else "all were"
    expect(
        missing[0] if missing else answers[-1],
        not missing,
        that=f"each of {len(answers)} calls that were sent {how} is answered",
        observed=seen,
        advice=advice,
        timed=any(isinstance(answer.fault, AnswerTimeout) for answer in missing),
    )


@contextlib.asynccontextmanager
async def killed(
    provider: Provider, call: Callable[[Provider], Coroutine[Any, Any, Answer]]
) -> AsyncGenerator[list["asyncio.Task[Answer]"]]:
    """A call on a worker of its own that is killed at the end of the block; the call has ended then."""
    async with provider.fresh_worker() as other:
        task = asyncio.ensure_future(answer_of(call(other)))
        # The worker is to be in the middle of it; where it is quicker, the answer is lost, which is the same to a host.
        await asyncio.wait({task}, timeout=IN_THE_MIDDLE_S)
        try:
            yield [task]
        finally:
            await other.worker.kill()
            await asyncio.gather(task, return_exceptions=True)


async def synced_by_another(provider: Provider, call: Callable[[Provider], Coroutine[Any, Any, Answer]]) -> Answer:
    """A call on one more worker."""
    async with provider.fresh_worker() as other:
        return await answer_of(call(other))


def named(provider: Provider, label: str, like: Lease, name: str) -> Lease:
    """A lease that is known by its id alone, in the shape of another one."""
    params = provider.make.acquire(provider.tenant, provider.config, provider.new_id())
    lease = provider.keeper.lease(label, provider.tenant, params, {"providerLeaseId": name, "metadata": like.metadata})
    if lease is None:
        raise KitError(f"{name} cannot be the id of a lease.")
    return lease


async def expect_goes_on(provider: Provider, lease: Lease, path: str, text: str, *, after: str) -> None:
    """Demand that one more worker finds the lease at work and a file in it as it was."""
    async with provider.fresh_worker() as other:
        seen = await run_script(other, lease, f"cat {quote(path)}")
    expect_exit(seen, 0, advice=f"Keep nothing about a lease in memory only: {after} must not end it.")
    expect_stdout(seen, text, advice=f"Leave the files of a lease alone: {after} must not change them.")
