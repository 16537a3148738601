"""The RPC engine, against the smallest client there is and against the way of the host; all with one echo worker."""

import asyncio
import itertools
import statistics
import subprocess
import time
from pathlib import Path

from benchmarks.clients import CALLS_IN_FLIGHT, LARGE_BYTES, PARAMS, WORKER, BareClient, BlockingClient, kit_client
from benchmarks.row import Row, interleaved, side_process

HOST_WAY = Path(__file__).with_name("host_way.mjs")
CALLS_IN_A_ROW = 100
ROUNDS = 40
FEW_ROUNDS = 9
WARM_BATCHES = 10
MICRO = 1e6
MIB = 1 << 20


def measure() -> list[Row]:
    """All figures of the engine."""
    return [*asyncio.run(_one_by_one()), *_in_flight(), *_large()]


async def _one_by_one() -> list[Row]:
    blocking, bare = BlockingClient(), BareClient()
    taken: dict[str, list[float]] = {"kit": [], "blocking": [], "bare": []}
    async with kit_client() as kit:
        for _ in range(ROUNDS):
            marks = [time.perf_counter()]
            for _ in range(CALLS_IN_A_ROW):
                await kit.call(PARAMS)
            marks.append(time.perf_counter())
            for _ in range(CALLS_IN_A_ROW):
                blocking.call(PARAMS)
            marks.append(time.perf_counter())
            for _ in range(CALLS_IN_A_ROW):
                await bare.call(PARAMS)
            marks.append(time.perf_counter())
            for name, (start, end) in zip(taken, itertools.pairwise(marks), strict=True):
                taken[name].append((end - start) / CALLS_IN_A_ROW)
    blocking.close()
    bare.close()
    kit_s, blocking_s, bare_s = (statistics.median(times) * MICRO for times in taken.values())
    what, against = "sequential RPC round trip", "smallest blocking-pipe client"
    worker = "worker in Python that parses and writes JSON"
    return [
        Row(what, against, kit_s, blocking_s, "µs", 1.25, worker),
        Row("the same with the smallest client on an event loop", against, bare_s, blocking_s, "µs", None),
    ]


def _in_flight() -> list[Row]:
    sides = (lambda: side_process("benchmarks.clients", "kit", "flight")["seconds"], lambda: _by_node(1)[0])
    ours, theirs = interleaved(sides, FEW_ROUNDS)
    warm = statistics.median(_by_node(WARM_BATCHES))
    against = "the same calls from Node, the host's way"
    return [
        Row(
            f"{CALLS_IN_FLIGHT:,} calls in flight, per call",
            against,
            ours * MICRO,
            theirs * MICRO,
            "µs",
            1.0,
            "the first calls of a new process on both sides",
        ),
        Row(
            f"{CALLS_IN_FLIGHT:,} calls in flight, per call",
            f"{against}, which had made {WARM_BATCHES // 2:,},000 calls before",
            ours * MICRO,
            warm * MICRO,
            "µs",
            None,
            "for comparison: code that the compiler of Node knows",
        ),
    ]


def _by_node(batches: int) -> list[float]:
    argv = ["node", str(HOST_WAY), str(CALLS_IN_FLIGHT), *WORKER]
    done = subprocess.run(argv, input="\n" * batches, stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def _large() -> list[Row]:
    kit, blocking = list[dict[str, float]](), list[dict[str, float]]()
    for _ in range(FEW_ROUNDS):
        blocking.append(side_process("benchmarks.clients", "blocking", "large"))
        kit.append(side_process("benchmarks.clients", "kit", "large"))
    against = "smallest blocking-pipe client"
    ours, theirs = (statistics.median(side["seconds"] for side in sides) for sides in (kit, blocking))
    peak = max(side["peak"] for side in kit)
    return [
        Row("32 MiB message echoed", against, ours, theirs, "s", 1.3),
        Row(
            "32 MiB message echoed, peak memory",
            "the message",
            peak / MIB,
            LARGE_BYTES / MIB,
            "MiB",
            5.0,
            "the message itself and what came back are part of it",
        ),
    ]
