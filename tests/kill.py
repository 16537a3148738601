"""Judging a provider without pytest, for tests and for whoever writes a check or a mutant.

python tests/kill.py mutant:destroyed-lease-comes-back            every check
python tests/kill.py reference LEASE-028 EXEC-003                 some requirements
python tests/kill.py mutants [AREA-PREFIX ...]                    every mutant: fails what it names, and nothing else
"""

import asyncio
import itertools
import os
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from conformance.fixtures.mutants import all_mutants
from conformance.fixtures.mutants.mutant import Mutant
from conformance.judge import Judge, Result
from conformance.model import State
from conformance.plan import bench_for, make_plan
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

BAD = frozenset({State.FAIL, State.WARN})
GOOD = frozenset({State.PASS, State.UNSUPPORTED, State.NOT_APPLICABLE})


async def judge_provider(
    source: str,
    only: Collection[str] = (),
    *,
    config: str | None = None,
    limits: Mapping[str, float] | None = None,
    node: str | None = None,
) -> list[Result]:
    """The results of all checks, or of those whose requirement is in `only`, on one provider."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-test-") as folder:
        work = Path(folder)
        settings = read_settings(Options(source, config=config, node=node, seed=1), os.environ, work)
        plan = make_plan(replace(settings, limits=dict(limits or {})), work)
        bench = bench_for(plan, Transcript(), work, os.environ)
        judge = Judge(bench)
        try:
            return await judge.judge_all([check for check in plan.checks if not only or check.requirement in only])
        finally:
            await bench.close()


def violated(results: Sequence[Result]) -> set[str]:
    """Requirements that the wire saw broken in any check, beside those that a check judged."""
    events = itertools.chain.from_iterable(result.events for result in results)
    return {str(event["violates"]) for event in events if "violates" in event}


def broken(results: Sequence[Result]) -> set[str]:
    """Requirements that did not hold."""
    return {result.check.requirement for result in results if result.state in BAD} | violated(results)


def complaints(mutant: type[Mutant], results: Sequence[Result]) -> list[str]:
    """What is wrong with the verdict on a mutant, in sentences; empty when it is right."""
    tested = {result.check.requirement for result in results}
    named, seen = set(mutant.breaks), broken(results)
    odd = [
        f"{result.check.requirement} {result.check.name} is {result.state}: {result.reason}"
        for result in results
        if result.state not in BAD | GOOD | {State.BLOCKED}
    ]
    missed = [f"{number} should have failed" for number in sorted((named & tested) - seen)]
    extra = [
        f"{result.check.requirement} {result.check.name} should not have been {result.state}: {result.observed}"
        for result in results
        if result.state in BAD and result.check.requirement not in named
    ]
    wire = [f"{number} should not have been violated" for number in sorted(violated(results) - named)]
    return [*missed, *extra, *wire, *odd]


def _print(results: Sequence[Result]) -> None:
    for result in results:
        print(f"{result.state:<14} {result.check.requirement:<10} {result.check.name}  {result.seconds:.2f}s")
        if result.state not in GOOD:
            for label in ("reason", "sent", "expected", "observed", "advice"):
                print(f"    {label}: {getattr(result, label)}")
    for number in sorted(violated(results)):
        print(f"violated on the wire: {number}")


def _print_mutants(prefixes: Sequence[str]) -> int:
    wrong = 0
    for name, mutant in all_mutants().items():
        if prefixes and not any(number.startswith(prefix) for number in mutant.breaks for prefix in prefixes):
            continue
        found = complaints(mutant, asyncio.run(judge_provider(f"mutant:{name}")))
        wrong += bool(found)
        print(f"{'WRONG' if found else 'ok':<6} {name} {', '.join(mutant.breaks)}")
        for sentence in found:
            print(f"    {sentence}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "mutants":
        sys.exit(min(_print_mutants(sys.argv[2:]), 1))
    _print(asyncio.run(judge_provider(sys.argv[1], sys.argv[2:])))
