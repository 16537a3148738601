"""A provider in the hands of a test, outside any check."""

import contextlib
import os
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from conformance.bench import Bench
from conformance.evidence import Trace
from conformance.model import RequirementId
from conformance.plan import bench_for, make_plan
from conformance.provider import Provider
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

TRACE = Trace(RequirementId("RPC-001"), "a test of the kit")


@contextlib.asynccontextmanager
async def live_bench(source: str = "reference", *, config: str | None = None) -> AsyncGenerator[Bench]:
    """A bench for one provider, closed at the end."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-test-") as folder:
        work = Path(folder)
        settings = read_settings(Options(source, config=config, seed=1), os.environ, work)
        bench = bench_for(make_plan(settings, work), Transcript(), work, os.environ)
        try:
            yield bench
        finally:
            await bench.close()


@contextlib.asynccontextmanager
async def live_provider(source: str = "reference", *, config: str | None = None) -> AsyncGenerator[Provider]:
    """An initialized worker of a provider."""
    async with live_bench(source, config=config) as bench:
        yield await bench.provider(TRACE)
