"""Run as a program: lets a worker write one line of a given length, and prints what came of it and at what cost.

Usage: large.py UNITS. The peak of memory is this process's own, so it says something only in a process of its own.
"""

import asyncio
import json
import os
import resource
import sys
from pathlib import Path

from conformance.errors import MalformedAnswer
from conformance.model import MethodName
from conformance.wire.peer import Peer
from conformance.wire.process import Command
from conformance.wire.transcript import Transcript

HEAD, TAIL = b'{"jsonrpc":"2.0","id":1,"result":"', b'"}'

WORKER = """
import os, sys
head, tail, rest = sys.argv[1].encode(), sys.argv[2].encode(), int(sys.argv[3])
sys.stdin.readline()
out = sys.stdout.buffer
out.write(head)
piece = b"x" * 1_000_000
while rest > 0:
    out.write(piece[:rest])
    rest -= len(piece)
out.write(tail + b"\\n")
out.flush()
sys.stdin.readline()
out.write(b'{"jsonrpc":"2.0","id":2,"result":"still here"}\\n')
out.flush()
sys.stdin.read()
"""


def ignore(*_: object) -> None:
    """There is nothing but answers here."""


async def scene(units: int) -> dict[str, object]:
    """What became of the long line, and of the next call."""
    inner = units - len(HEAD) - len(TAIL)
    argv = (sys.executable, "-I", "-S", "-c", WORKER, HEAD.decode(), TAIL.decode(), str(inner))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peer = Peer(
        Command(argv, {"PATH": os.defpath}, Path("/")),
        Transcript(),
        number=1,
        on_request=ignore,
        on_notification=ignore,
    )
    try:
        outcome: object
        try:
            reply = await peer.call(MethodName("long"), {}, seconds=120, limit="test")
            outcome = len(str(reply.result)) == inner
        except MalformedAnswer as fault:
            outcome = fault.requirement
        after = await peer.call(MethodName("short"), {}, seconds=120, limit="test")
    finally:
        await peer.process.kill()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "outcome": outcome,
        "after": after.result,
        "broken": [violation.requirement for violation in peer.violations],
        "size": max(frame.size for frame in peer.transcript.frames),
        "peak_mib": peak / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(scene(int(sys.argv[1])))))
