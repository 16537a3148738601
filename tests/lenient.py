"""Judging the providers that differ from the reference in ways that are allowed."""

import asyncio
import os
import shlex
import subprocess
import sys
from pathlib import Path

from conformance.judge import Judge, Result
from conformance.model import RequirementId, State
from conformance.plan import bench_for, make_plan
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

LENIENT = Path(__file__).with_name("lenient_provider.py")


def states_of(
    name: str, folder: Path, *prefixes: str, script: Path = LENIENT, config: str | None = None
) -> dict[RequirementId, set[State]]:
    """The states of all checks of a provider whose requirement starts with one of the prefixes."""
    states: dict[RequirementId, set[State]] = {}
    for result in judged(name, folder, *prefixes, script=script, config=config):
        states.setdefault(result.check.requirement, set()).add(result.state)
    return states


def judged(name: str, folder: Path, *prefixes: str, script: Path = LENIENT, config: str | None = None) -> list[Result]:
    """The results of the same checks."""
    command = (sys.executable, str(script), name)
    manifest = folder / "manifest.json"
    manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)
    options = Options(f"cmd:{shlex.join(command)}", manifest=str(manifest), config=config, seed=1)
    return asyncio.run(_judge(options, folder, prefixes))


async def _judge(options: Options, folder: Path, prefixes: tuple[str, ...]) -> list[Result]:
    plan = make_plan(read_settings(options, os.environ, folder), folder)
    bench = bench_for(plan, Transcript(), folder, os.environ)
    # Whole runs of a host are judged elsewhere.
    chosen = [check for check in plan.checks if check.requirement.startswith(prefixes) and check.area != "rehearsal"]
    try:
        return await Judge(bench).judge_all(chosen, at_once=6)
    finally:
        await bench.close()
