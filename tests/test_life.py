"""The host's ladder: how a worker is stopped that ends by itself, one that needs a signal, and one that heeds none."""

import asyncio
import json
import signal
import sys
from dataclasses import replace

import pytest

from conformance.bench import Bench
from conformance.host.limits import Limits
from conformance.host.tenant import Tenant
from conformance.host.worker import Worker
from conformance.wire.transcript import Direction

from .host.live import TRACE, live_bench
from .wire.peers import PATIENCE_S, is_alive, until

pytestmark = pytest.mark.asyncio

STUBBORN = """
import json, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
for line in sys.stdin:
    message = json.loads(line)
    result = {"ok": True, "supportedMethods": [str(child.pid)]} if message["method"] == "initialize" else None
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
while True:
    signal.pause()
"""

SILENT = """
import json, sys
line = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": {"ok": True, "supportedMethods": []}}), flush=True)
sys.stdin.readline()
sys.stdin.readline()
"""


async def started(bench: Bench, script: str | None = None) -> Worker:
    """An initialized worker: that of the bench's provider, or a script."""
    short = Limits(bench.subject.contract, {"shutdown": 1.0, "terminate_grace": 1.0})
    package = bench.launch.package
    other = package if script is None else replace(package, argv=(sys.executable, "-c", script))
    worker = replace(bench.launch, package=other, limits=short).start(
        TRACE.check, Tenant.make(bench.launcher(TRACE).random)
    )
    await worker.initialize()
    return worker


def sent(worker: Worker) -> list[str]:
    """The methods that a worker was sent, in order."""
    frames = worker.peer.transcript.frames
    lines = [frame.data for frame in frames if frame.worker == worker.number and frame.direction is Direction.TO_WORKER]
    return [json.loads(line)["method"] for line in lines]


async def test_a_worker_that_heeds_shutdown_gets_no_signal() -> None:
    async with live_bench() as bench:
        worker = await started(bench)
        await worker.stop()

        assert sent(worker) == ["initialize", "shutdown"]
        assert worker.peer.process.exit_code == 0
        assert not worker.peer.process.disturbed
        assert not worker.alive
        assert bench.launch.living == set()


async def test_a_worker_that_stays_gets_sigterm() -> None:
    async with live_bench("mutant:stays-after-shutdown") as bench:
        worker = await started(bench)
        await worker.stop()

        assert worker.peer.process.exit_code == 128 + signal.SIGTERM


async def test_a_worker_that_does_not_answer_gets_sigterm_too() -> None:
    async with live_bench() as bench:
        worker = await started(bench, SILENT)
        await worker.stop()

        assert worker.peer.process.exit_code == -signal.SIGTERM


async def test_a_worker_that_heeds_nothing_is_killed_with_its_children() -> None:
    async with live_bench() as bench:
        worker = await started(bench, STUBBORN)
        (child,) = worker.methods or ("",)
        assert is_alive(int(child))

        await worker.stop()

        assert worker.peer.process.exit_code == -signal.SIGKILL
        await asyncio.wait_for(until(lambda: not is_alive(int(child))), PATIENCE_S)


async def test_stopping_a_worker_that_is_gone_is_nothing() -> None:
    async with live_bench() as bench:
        worker = await started(bench)
        await worker.kill()
        await worker.stop()

        assert sent(worker) == ["initialize"]
