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
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.bench import Bench
from conformance.checks import Check
from conformance.events import EventWriter, read_events
from conformance.fixtures.mutants import all_mutants, find_mutant
from conformance.fixtures.mutants.mutant import Mutant
from conformance.judge import Judge, Result
from conformance.model import ExitCode, Level, State
from conformance.plan import Plan, bench_for, make_plan
from conformance.record import advertised, declared, events_of, header, late_observation
from conformance.reports.report import Report
from conformance.reports.tally import tally
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

BAD = frozenset({State.FAIL, State.WARN})
GOOD = frozenset({State.PASS, State.UNSUPPORTED, State.NOT_APPLICABLE})

AT_ONCE = 6
"""Checks side by side: most of a check is waiting for processes."""


@dataclass(frozen=True)
class Judged:
    """A provider that was judged: the results of its checks, and the report that a run would print."""

    plan: Plan
    results: list[Result]
    report: Report


class _InOrder(Judge):
    """Remembers in which order checks ended, for a lease that they share may open in one and end in another."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.ended: list[Result] = []

    async def judge(self, check: Check) -> Result:
        result = await super().judge(check)
        self.ended.append(result)
        return result


async def judge_provider(
    source: str,
    only: Collection[str] = (),
    *,
    choose: Callable[[Check], bool] = lambda _: True,
    config: str | None = None,
    manifest: str | None = None,
    limits: Mapping[str, float] | None = None,
    node: str | None = None,
    at_once: int = AT_ONCE,
) -> Judged:
    """Judge one provider by all checks, or by those whose requirement is in `only` and that are chosen."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-test-") as folder:
        work = Path(folder)
        settings = read_settings(Options(source, config=config, manifest=manifest, node=node, seed=1), os.environ, work)
        plan = make_plan(replace(settings, limits={**_limits_of(source), **(limits or {})}), work)
        bench = bench_for(plan, Transcript(), work, os.environ)
        chosen = [check for check in plan.checks if (not only or check.requirement in only) and choose(check)]
        judge = _InOrder(bench)
        try:
            results = await judge.judge_all(chosen, at_once=at_once)
        finally:
            await bench.close()
        stream = work / "events.jsonl"
        with EventWriter(stream) as writer:
            writer.write("header", **header(plan))
            writer.write("declared", **declared(plan.subject))
            methods = next((worker.methods for worker in bench.launch.started if worker.initialized), None)
            writer.write("advertised", **advertised(plan.subject, methods))
            events = [event for result in judge.ended for event in events_of(result, plan.subject)]
            late = [late_observation(violation) for violation in bench.new_violations()]
            for event in [*bench.ledger.take_events(), *events, *late]:
                writer.write(
                    str(event["event"]), **{key: value for key, value in event.items() if key not in {"event", "at"}}
                )
        return Judged(plan, results, tally(read_events(stream)))


def is_near(mutant: type[Mutant], check: Check) -> bool:
    """Whether a check belongs into the short kill loop of a mutant.

    Those are the checks of what the mutant breaks, one in sixteen of the others of the same area, and one in sixty-four
    of the rest, chosen by name, so that every run chooses the same and every mutant others.
    """
    if check.requirement in mutant.breaks:
        return True
    same_area = check.requirement.split("-")[0] in {number.split("-")[0] for number in mutant.breaks}
    place = zlib.crc32(f"{mutant.name()}/{check.requirement}/{check.name}".encode())
    return place % (16 if same_area else 64) == 0


def _limits_of(source: str) -> Mapping[str, float]:
    return find_mutant(source.removeprefix("mutant:")).limits if source.startswith("mutant:") else {}


def violated(results: Sequence[Result]) -> set[str]:
    """Requirements that the wire saw broken in any check, beside those that a check judged."""
    events = itertools.chain.from_iterable(result.events for result in results)
    return {str(event["violates"]) for event in events if "violates" in event}


def broken(results: Sequence[Result]) -> set[str]:
    """Requirements that did not hold."""
    return {result.check.requirement for result in results if result.state in BAD} | violated(results)


def complaints(mutant: type[Mutant], judged: Judged) -> list[str]:
    """What is wrong with the verdict on a mutant, in sentences; empty when it is right."""
    results = judged.results
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
    return [*missed, *extra, *wire, *odd, *_wrong_exit(judged)]


def _wrong_exit(judged: Judged) -> list[str]:
    """A broken MUST ends a run with 1; a broken SHOULD alone does not lower the verdict."""
    rules = judged.plan.subject.contract.requirements
    graded = {result.check.requirement for result in judged.results if result.state is State.FAIL}
    on_the_wire = {number for number in violated(judged.results) if rules[number].level is Level.MUST}  # type: ignore[index]
    if graded | on_the_wire and judged.report.exit_code != ExitCode.FAILED:
        return [f"the exit code should have been 1, not {judged.report.exit_code}"]
    return []


def _print(judged: Judged) -> None:
    for result in judged.results:
        print(f"{result.state:<14} {result.check.requirement:<10} {result.check.name}  {result.seconds:.2f}s")
        if result.state not in GOOD:
            for label in ("reason", "sent", "expected", "observed", "advice"):
                print(f"    {label}: {getattr(result, label)}")
    for number in sorted(violated(judged.results)):
        print(f"violated on the wire: {number}")


def _print_mutants(prefixes: Sequence[str]) -> int:
    wrong = 0
    for name, mutant in all_mutants().items():
        if prefixes and not any(number.startswith(prefix) for number in mutant.breaks for prefix in prefixes):
            continue
        found = complaints(mutant, asyncio.run(judge_provider(f"mutant:{name}")))
        wrong += bool(found)
        print(f"{'WRONG' if found else 'ok':<6} {name} {', '.join(mutant.breaks)}", flush=True)
        for sentence in found:
            print(f"    {sentence}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "mutants":
        sys.exit(min(_print_mutants(sys.argv[2:]), 1))
    _print(asyncio.run(judge_provider(sys.argv[1], sys.argv[2:])))
