"""Peers over real child processes: one that echoes what it is sent, and ones that run a script."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from conformance.errors import ProviderFault
from conformance.model import FrameNumber, Json, JsonObject, MethodName
from conformance.wire.peer import Peer, Received, Reply
from conformance.wire.process import Command
from conformance.wire.transcript import Direction, Transcript

PATIENCE_S = 20.0
"""Far more than anything here takes, so that only what never comes fails."""

CALL = MethodName("call")


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that no event tells."""
    while not condition():  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.001)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@dataclass
class Seen:
    """What the worker asked and told."""

    requests: list[JsonObject] = field(default_factory=list[JsonObject])
    notifications: list[JsonObject] = field(default_factory=list[JsonObject])


@contextlib.asynccontextmanager
async def peer_of(*argv: str, seen: Seen | None = None) -> AsyncGenerator[Peer]:
    """A peer of a started program, killed at the end."""
    told = Seen() if seen is None else seen

    def on_request(message: JsonObject, _frame: FrameNumber) -> None:
        told.requests.append(message)

    def on_notification(received: Received) -> None:
        told.notifications.append(received.message)

    command = Command(argv, {"PATH": os.environ.get("PATH", os.defpath)}, Path("/"))
    peer = Peer(command, Transcript(), number=1, on_request=on_request, on_notification=on_notification)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield peer
    finally:
        await peer.process.kill()


def script_peer(script: str, seen: Seen | None = None) -> contextlib.AbstractAsyncContextManager[Peer]:
    """A peer of a Python script."""
    return peer_of(sys.executable, "-I", "-S", "-c", script, seen=seen)


class Echo:
    """A peer of ``cat``: every byte that is sent comes back, so a test can say what the worker writes."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    async def ask(self, *, seconds: float = PATIENCE_S) -> "asyncio.Task[Reply | ProviderFault]":
        """A call that has been sent and waits. Its task gives the reply, or the fault that came instead."""

        async def call() -> Reply | ProviderFault:
            try:
                return await self.peer.call(CALL, {}, seconds=seconds, limit="test")
            except ProviderFault as fault:
                return fault

        waiting = len(self.peer.pending)
        task = asyncio.create_task(call())
        await until(lambda: len(self.peer.pending) > waiting)
        return task

    def say(self, *lines: str | bytes) -> None:
        """Let the worker write lines."""
        for line in lines:
            self.peer.process.write((line if isinstance(line, bytes) else line.encode()) + b"\n")

    async def all_said(self) -> None:
        """Wait until everything said so far has been read."""
        count = len(self.peer.notifications)
        self.say('{"jsonrpc":"2.0","method":"mark"}')
        await until(lambda: any(item.message["method"] == "mark" for item in self.peer.notifications[count:]))

    @property
    def broken(self) -> list[str]:
        """The rules that were broken, in order."""
        return [violation.requirement for violation in self.peer.violations]


@contextlib.asynccontextmanager
async def echo() -> AsyncGenerator[Echo]:
    """An echo, killed at the end."""
    async with peer_of("cat") as peer:
        yield Echo(peer)


def stderr_of(peer: Peer) -> list[bytes]:
    """The lines of stderr in the transcript."""
    return [frame.data for frame in peer.transcript.frames if frame.direction is Direction.STDERR]


def result(number: Json, value: str = "null") -> str:
    """An answer."""
    return f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{value}}}'
