"""Clients of the echo worker. As a program it makes one measurement in a process that is as new as the worker.

python -m benchmarks.clients {kit|blocking} {flight|large}      prints seconds and, for `large`, the peak in bytes
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, cast

from conformance.model import Json, MethodName
from conformance.wire.peer import Peer, Reply
from conformance.wire.process import Command
from conformance.wire.transcript import Transcript

WORKER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("echo_worker.py")))
ECHO = MethodName("echo")
PARAMS: Json = {"number": 7, "text": "a few words"}
CALLS_IN_FLIGHT = 1_000
LARGE_BYTES = 32 << 20
LIMIT_S = 60.0


class BlockingClient:
    """The smallest client in Python: write a line, read a line."""

    def __init__(self) -> None:
        self.child = subprocess.Popen(WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stdin = cast("IO[bytes]", self.child.stdin)
        self.stdout = cast("IO[bytes]", self.child.stdout)
        self.number = 0

    def call(self, params: Json) -> Json:
        """One request and its answer."""
        self.send(params)
        return json.loads(self.stdout.readline())["result"]

    def send(self, params: Json) -> None:
        """One request."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": ECHO, "params": params}
        self.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        self.stdin.flush()

    def close(self) -> None:
        """End the worker."""
        self.child.communicate()


class BareClient:
    """The smallest client on an event loop: what any client costs that can wait for two workers at once."""

    def __init__(self) -> None:
        self.blocking = BlockingClient()
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.blocking.stdout, self._read)

    async def call(self, params: Json) -> Json:
        """One request and its answer."""
        self.answer: asyncio.Future[Json] = self.loop.create_future()
        self.blocking.send(params)
        return await self.answer

    def close(self) -> None:
        """End the worker."""
        self.loop.remove_reader(self.blocking.stdout)
        self.blocking.close()

    def _read(self) -> None:
        self.answer.set_result(json.loads(self.blocking.stdout.readline())["result"])


class KitClient:
    """The engine of the kit, with the transcript that it always keeps."""

    def __init__(self) -> None:
        self.peer = Peer(
            Command(WORKER, {}, Path("/")), Transcript(), number=1, on_request=_ignore, on_notification=_ignore
        )

    async def call(self, params: Json) -> Json:
        """One request and its answer."""
        return (await self.peer.call(ECHO, params, seconds=LIMIT_S, limit="benchmark")).result

    def request(self, params: Json) -> "asyncio.Future[Reply]":
        """One request of many."""
        return self.peer.request(ECHO, params, seconds=LIMIT_S, limit="benchmark")


@asynccontextmanager
async def kit_client() -> AsyncGenerator[KitClient]:
    """A client that has made its first call."""
    client = KitClient()
    try:
        await client.call(PARAMS)
        yield client
    finally:
        await client.peer.process.kill()


async def _flight() -> dict[str, float]:
    async with kit_client() as client:
        started = time.perf_counter()
        await asyncio.gather(
            *(client.request({"number": number, "text": "a few words"}) for number in range(CALLS_IN_FLIGHT))
        )
        return {"seconds": (time.perf_counter() - started) / CALLS_IN_FLIGHT}


async def _large_by_kit() -> dict[str, float]:
    async with kit_client() as client:
        before, message = _peak(), _large()
        started = time.perf_counter()
        answer = await client.call(message)
        return _checked(message, answer, started, before)


def _large_by_blocking() -> dict[str, float]:
    client = BlockingClient()
    client.call(PARAMS)
    before, message = _peak(), _large()
    started = time.perf_counter()
    answer = client.call(message)
    client.close()
    return _checked(message, answer, started, before)


def _checked(message: Json, answer: Json, started: float, before: float) -> dict[str, float]:
    seconds = time.perf_counter() - started
    if answer != message:
        raise ValueError("the echo is another message")
    return {"seconds": seconds, "peak": _peak() - before}


def _large() -> Json:
    return {"text": "x" * LARGE_BYTES}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _ignore(*_: Any) -> None:
    """There is nothing but answers here."""


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["kit", "flight"]:
            print(json.dumps(asyncio.run(_flight())))
        case ["kit", "large"]:
            print(json.dumps(asyncio.run(_large_by_kit())))
        case ["blocking", "large"]:
            print(json.dumps(_large_by_blocking()))
        case _:
            sys.exit(__doc__)
