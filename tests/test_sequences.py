"""Sequences of calls: the same seed gives the same ones, and one that goes wrong is told as short as it gets."""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from conformance.evidence import Blocked, Finding, Trace
from conformance.model import RequirementId, State
from conformance.provider import Provider
from conformance.sequences.broken import Broken, numbered
from conformance.sequences.driver import Driver, driver_for
from conformance.sequences.facts import Facts, Since
from conformance.sequences.search import SEQUENCES, decide, how_many, run_sequences
from conformance.steps import destroy_lease, realized_lease
from tests.host.live import live_bench
from tests.kill import judge_provider

RULE = RequirementId("EXEC-026")


@contextlib.asynccontextmanager
async def a_driver() -> AsyncGenerator[tuple[Driver, Provider]]:
    async with live_bench() as bench:
        provider = await bench.provider(Trace(RULE, "a_check"))
        single, reusable = await realized_lease(provider), await realized_lease(provider, reuse=True)
        gone = await realized_lease(provider)
        await destroy_lease(provider, gone)
        async with driver_for(bench.launcher(provider.trace), single, reusable, gone) as driver:
            yield driver, provider


def test_the_same_seed_gives_the_same_sequences(tmp_path: Path) -> None:
    async def steps(seed: int) -> list[str]:
        async with a_driver() as (driver, _):
            played: list[str] = []
            end = driver.end

            async def note_and_end(facts: dict[str, Facts]) -> None:
                played.append(re.sub(r"write \w+", "write", numbered(driver.steps)))
                await end(facts)

            driver.end = note_and_end  # type: ignore[method-assign]
            ran, broken = await run_sequences(driver, seed, 3, tmp_path)
            assert (ran, broken) == (len(played), None)
            return played

    first, again, other = (asyncio.run(steps(seed)) for seed in (5, 5, 6))

    assert first == again != other


def test_a_sequence_that_goes_wrong_is_told_in_its_fewest_steps() -> None:
    judged = asyncio.run(
        judge_provider(
            "mutant:second-text-of-a-file-is-forgotten", choose=lambda check: check.name.startswith("no_sequence")
        )
    )

    (result,) = judged.results
    assert result.state is State.FAIL
    told = re.sub(r"write \w+", "write", result.observed)
    assert re.match(r"1\. write to (.) in (.); 2\. write to \1 in \2; 3\. read f and g in \2; then exitCode 0", told)
    assert re.search(r"\(seed \d+\)$", told)


@pytest.mark.parametrize(("latency", "count"), [(0.0, SEQUENCES[1]), (0.01, SEQUENCES[1]), (1.0, SEQUENCES[0])])
def test_there_are_few_sequences_where_calls_are_slow(latency: float, count: int) -> None:
    assert how_many(latency) == count


@pytest.mark.parametrize(
    ("events", "rule"),
    [
        ([], Since.NOTHING),
        ([Since.WORKER], Since.WORKER),
        ([Since.RELEASE, Since.WORKER], Since.RELEASE),
        ([Since.WORKER, Since.RELEASE], Since.RELEASE),
    ],
)
def test_a_loss_is_judged_by_what_lay_between(events: list[Since], rule: Since) -> None:
    facts = Facts("A", None, reusable=True)  # type: ignore[arg-type]
    facts.write("f", "text")
    for event in events:
        facts.note(event)

    written = facts.expected("f")

    assert written is not None
    assert written.since is rule
    facts.write("f", "new")
    assert facts.expected("f") is not None
    assert facts.files["f"].since is Since.NOTHING


def test_a_broken_rule_of_another_check_blocks_and_ones_own_fails() -> None:
    async def ended_by(rule: str) -> Exception:
        async with live_bench() as bench:
            provider = await bench.provider(Trace(RULE, "a_check"))
            broken = Broken(provider, rule, "it holds", "it does not")
            broken.steps = ("do this", "do that")
            with pytest.raises((Finding, Blocked)) as raised:
                decide(provider, 1, broken, 7)
            return raised.value

    own, other = (asyncio.run(ended_by(rule)) for rule in ("EXEC-026", "LIFE-005"))

    assert isinstance(own, Finding)
    assert own.decision.observed == "1. do this; 2. do that; then it does not (seed 7)"
    assert isinstance(other, Blocked)
    assert (other.by, "1. do this" in other.reason) == ("LIFE-005", True)
