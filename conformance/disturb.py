"""What becomes of calls when the pipe between host and worker behaves as pipes may: in pieces, in lumps, or blocked."""

import asyncio
import contextlib
import itertools
import random
import signal
from collections.abc import AsyncGenerator, Sequence

from conformance.answer import Answer, answer_of
from conformance.errors import AnswerTimeout, WorkerGone
from conformance.provider import Provider
from conformance.tour import UNKNOWN_METHOD

MOST_PIECES = 60
"""Pieces that frames are cut into at random places (our choice: each costs the worker a read)."""

FULL_S = 5.0
"""How long a pipe may take to fill up (our choice: a worker that answers more slowly meets no full pipe)."""

REST_S = 0.002
"""Between two pieces, so that the worker reads them apart (our choice)."""


def cut_at(line: bytes, places: Sequence[int]) -> list[bytes]:
    """The bytes in pieces that end at these places; those that are out of range cut nothing off."""
    edges = [0, *sorted({place for place in places if 0 < place < len(line)}), len(line)]
    return [line[start:end] for start, end in itertools.pairwise(edges) if start < end]


def random_places(length: int, source: random.Random) -> list[int]:
    """Where to cut, anywhere, also inside of a character or right behind a line end."""
    return source.sample(range(1, length), min(MOST_PIECES, length - 1)) if length > 1 else []


async def calls_in_pieces(provider: Provider, count: int, places: Sequence[int] | None) -> list[Answer]:
    """Send calls as one run of bytes, cut at these places, or at random ones; their answers."""
    with provider.worker.peer.kept_back() as collected:
        calls = await started(provider, count)
    await write_in_pieces(provider, bytes(collected), places)
    return list(await asyncio.gather(*calls))


async def until_read(provider: Provider, seconds: float) -> None:
    """Wait until the worker has read what was written, at most so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while provider.worker.peer.process.unread:  # noqa: ASYNC110 - a pipe tells nobody that it was read
                await asyncio.sleep(REST_S)


async def collected_from(collected: bytearray) -> bytes:
    """What was kept back, once there is something."""
    while not collected:  # noqa: ASYNC110 - it comes with the next steps of the loop
        await asyncio.sleep(0)
    return bytes(collected)


async def write_in_pieces(provider: Provider, whole: bytes, places: Sequence[int] | None) -> None:
    """Write bytes to the worker, cut at these places, or at random ones."""
    for piece in cut_at(whole, random_places(len(whole), provider.random) if places is None else places):
        provider.worker.peer.process.write(piece)
        await asyncio.sleep(REST_S)


async def calls_at_once(provider: Provider, count: int) -> list[Answer]:
    """Send calls in one lump; their answers."""
    return list(await asyncio.gather(*await started(provider, count)))


@contextlib.asynccontextmanager
async def deaf(provider: Provider, seconds: float) -> AsyncGenerator[None]:
    """A host that does not read the worker's stdout in the block, nor for some time after the pipe is full."""
    process = provider.worker.peer.process
    process.pause_reading()
    try:
        yield
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FULL_S):
                while not process.is_held_up:  # noqa: ASYNC110 - a pipe tells nobody that it is full
                    await asyncio.sleep(REST_S)
        await asyncio.sleep(seconds)
    finally:
        process.resume_reading()


@contextlib.asynccontextmanager
async def stopped(provider: Provider) -> AsyncGenerator[None]:
    """A worker that the system has stopped in the block, as a machine that sleeps does."""
    process = provider.worker.peer.process
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def unanswered(answers: Sequence[Answer]) -> list[Answer]:
    """Those to which nothing came back; an answer of the wrong shape is one, and others judge it."""
    return [answer for answer in answers if isinstance(answer.fault, AnswerTimeout | WorkerGone)]


async def started(provider: Provider, count: int) -> list["asyncio.Task[Answer]"]:
    """Calls that need no backend, each of them sent."""
    methods = ("health", UNKNOWN_METHOD)
    calls = [
        asyncio.ensure_future(answer_of(provider.call(methods[number % 2], {"number": number})))
        for number in range(count)
    ]
    # Each is sent in the first step of its task.
    await asyncio.sleep(0)
    return calls
