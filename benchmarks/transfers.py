"""One transfer by the kit, in a process of its own: `python -m benchmarks.transfers {native|fallback} {one|many}`.

Prints the kit's own seconds for the way in and the way out, and the peak of its memory in bytes. The sandbox is that
of a local provider, in the temporary directory.
"""

import asyncio
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.evidence import Trace
from conformance.files.compare import differences
from conformance.files.disk import build, listing
from conformance.files.native import BLOCK_BYTES
from conformance.files.operations import directory, file, operation
from conformance.files.tree import File, Folder, Tree
from conformance.host.lease import Lease
from conformance.host.worker import Worker
from conformance.model import RequirementId
from conformance.plan import Plan, bench_for, make_plan
from conformance.provider import Provider
from conformance.settings import Options, read_settings
from conformance.steps import realized_lease
from conformance.transfer.carrier import Carrier
from conformance.wire.peer import Reply
from conformance.wire.transcript import Transcript

PROVIDER = Path(__file__).parents[1] / "tests" / "lenient_provider.py"
"""Has the reference provider without live output: what a command prints comes once."""

ONE_BYTES = 200_000_000
MANY_FILES = 5_000
FILES_OF_A_FOLDER = 50
SMALL_BYTES = 1_000


@dataclass
class Clock:
    """Time of the kit: all of it but what passes while the provider has the word."""

    worker: Worker
    provider_s: float = 0.0

    async def own_time(self, work: Callable[[], Awaitable[Any]]) -> float:
        """What the kit itself needs for this: seconds of its processor, or of the clock where those are more."""
        self.provider_s, started, processor = 0.0, time.perf_counter(), time.process_time()
        await work()
        waited = time.perf_counter() - started - self.provider_s
        return max(time.process_time() - processor, waited)

    def watch(self) -> None:
        """Count the time from each request's frame to its answer's."""
        call, frames = self.worker.peer.call, self.worker.peer.transcript.frames

        async def counted(*args: Any, **options: Any) -> Reply:
            reply = await call(*args, **options)
            self.provider_s += frames[reply.received - 1].seconds - frames[reply.sent - 1].seconds
            return reply

        self.worker.peer.__dict__["call"] = counted


@dataclass(frozen=True)
class Place:
    """Where the files are on both sides."""

    provider: Provider
    lease: Lease
    clock: Clock
    folder: Path

    @property
    def inside(self) -> str:
        """A path in the sandbox."""
        return f"{self.lease.remote_cwd}/moved"


def plan_for(work: Path) -> Plan:
    """What a run on the local provider would begin with."""
    command = (sys.executable, str(PROVIDER), "Quiet")
    manifest = work / "manifest.json"
    manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)
    config = json.dumps({"root": str(work / "sandboxes")})
    options = Options(f"cmd:{shlex.join(command)}", manifest=str(manifest), config=config, seed=1)
    return make_plan(read_settings(options, os.environ, work), work)


@asynccontextmanager
async def a_place() -> AsyncGenerator[Place]:
    """A lease of a local provider and a directory of the host."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as name:
        work = Path(name)
        plan = plan_for(work)
        bench = bench_for(plan, Transcript(), work, os.environ)
        try:
            provider = await bench.provider(Trace(RequirementId("SYNC-025"), "benchmark"))
            lease = await realized_lease(provider)
            clock = Clock(provider.worker)
            clock.watch()
            yield Place(provider, lease, clock, work)
        finally:
            await bench.close()


async def native_one(place: Place) -> tuple[float, float]:
    """One large file by the sync methods."""
    source, back = large_file(place.folder), place.folder / "back"
    into = await place.clock.own_time(
        lambda: place.provider.sync_in(place.lease, [operation(file(source, place.inside))])
    )
    out = await place.clock.own_time(
        lambda: place.provider.sync_out(place.lease, [operation(file(place.inside, back))])
    )
    demand(back.stat().st_size == ONE_BYTES)
    return into, out


async def fallback_one(place: Place) -> tuple[float, float]:
    """One large file over commands."""
    carrier, source, back = Carrier(place.provider, place.lease), large_file(place.folder), place.folder / "back"
    with source.open("rb") as opened:
        into = await place.clock.own_time(lambda: carrier.upload(place.inside, opened))
    with back.open("wb") as opened:
        out = await place.clock.own_time(lambda: carrier.download_to(place.inside, opened, at_most=ONE_BYTES))
    demand(back.stat().st_size == ONE_BYTES)
    return into, out


async def native_many(place: Place) -> tuple[float, float]:
    """Many small files by the sync methods, made before and compared afterwards."""
    tree, source, back = many_files(), place.folder / "source", place.folder / "back"

    async def into() -> None:
        build(tree, source)
        await place.provider.sync_in(place.lease, [operation(directory(source, place.inside))])

    async def out() -> None:
        await place.provider.sync_out(place.lease, [operation(directory(place.inside, back))])
        demand(not differences(tree, listing(back)))

    return await place.clock.own_time(into), await place.clock.own_time(out)


async def fallback_many(place: Place) -> tuple[float, float]:
    """Many small files over commands, packed before and compared afterwards."""
    tree, carrier = many_files(), Carrier(place.provider, place.lease)

    async def out() -> None:
        demand(not differences(tree, await carrier.take_directory(place.inside)))

    return (
        await place.clock.own_time(lambda: carrier.put_directory(place.inside, tree)),
        await place.clock.own_time(out),
    )


def large_file(folder: Path) -> Path:
    """A file of noise."""
    block = os.urandom(BLOCK_BYTES)
    with (folder / "large").open("wb") as opened:
        for _ in range(ONE_BYTES // BLOCK_BYTES):
            opened.write(block)
        opened.write(block[: ONE_BYTES % BLOCK_BYTES])
    return folder / "large"


def many_files() -> Tree:
    """A tree of small files, some in each directory."""
    found: dict[bytes, File | Folder] = {}
    for number in range(MANY_FILES):
        folder = f"folder-{number // FILES_OF_A_FOLDER}".encode()
        found.setdefault(folder, Folder())
        found[folder + f"/file-{number}".encode()] = File(os.urandom(SMALL_BYTES))
    return Tree(found)


def demand(holds: bool) -> None:  # noqa: FBT001 - one fact
    """Refuse to measure a transfer that went wrong."""
    if not holds:
        raise ValueError("the files are not as they were")


TRANSFERS = {
    ("native", "one"): native_one,
    ("native", "many"): native_many,
    ("fallback", "one"): fallback_one,
    ("fallback", "many"): fallback_many,
}


async def main(way: str, shape: str) -> dict[str, float]:
    """Do one transfer."""
    async with a_place() as place:
        into, out = await TRANSFERS[way, shape](place)
    return {"in": into, "out": out, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:3]))))
