"""Generated trees through a live provider, both ways, as many as wanted.

python tests/trees.py reference 2000 [seed]
python tests/trees.py ./fixtures/sdk_provider 2000 [seed]
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from conformance.checks import Capability, Check, check, declaration_of
from conformance.files.examples import expect_both_ways_alike
from conformance.files.generate import EVERYTHING
from conformance.host.lease import Lease
from conformance.judge import Judge, Result
from conformance.model import Cost, Level, State
from conformance.plan import bench_for, make_plan
from conformance.provider import Provider
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

TREES_AT_ONCE = 120
"""Trees in one check, which has a time limit."""


async def move_trees(source: str, count: int, *, seed: int = 1, node: str | None = None) -> list[Result]:
    """Move `count` trees in and out; stops at the first that does not come back as it was."""

    @check("SYNC-005", level=Level.MUST, needs=Capability.NATIVE_SYNC_IN, cost=Cost.SHARED)
    async def trees_are_the_same_both_ways(provider: Provider, lease: Lease) -> None:
        """Whatever way a tree goes in and out, it is the same tree."""
        await expect_both_ways_alike(provider, lease, EVERYTHING, count=min(count, TREES_AT_ONCE))

    declaration = declaration_of(trees_are_the_same_both_ways)
    assert declaration is not None
    judged: list[Result] = []
    for part in range(0, count, TREES_AT_ONCE):
        with tempfile.TemporaryDirectory(prefix="provider-conformance-trees-") as folder:
            work = Path(folder)
            plan = make_plan(read_settings(Options(source, node=node, seed=seed + part), os.environ, work), work)
            bench = bench_for(plan, Transcript(), work, os.environ)
            try:
                judged.append(await Judge(bench).judge(Check(declaration, "sync", trees_are_the_same_both_ways)))
            finally:
                await bench.close()
        if judged[-1].state is not State.PASS:
            break
    return judged


if __name__ == "__main__":
    for result in asyncio.run(move_trees(sys.argv[1], int(sys.argv[2]), seed=int((sys.argv[3:] or ["1"])[0]))):
        print(f"{result.state}  {result.seconds:.1f} s  {result.reason}  {result.observed}")
