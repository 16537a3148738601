"""Time as a judge: whose limits stretch, and what becomes of a check that came too late beside others."""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks import Check, check, declaration_of
from conformance.contract import load_contract
from conformance.expect import expect
from conformance.host.limits import Limits
from conformance.host.pace import MOST, ROUND_TRIPS, Pace
from conformance.judge import Judge, Result
from conformance.model import Blame, Cost, Level, State
from conformance.plan import bench_for, make_plan
from conformance.provider import Provider
from conformance.settings import Options, read_settings
from conformance.turns import Turns
from conformance.view import PackageView
from conformance.wire.transcript import Transcript

CONTRACT = load_contract("2026.824")
OURS = sorted(name for name, limit in CONTRACT.limits.items() if limit.chosen_by == "kit" and limit.unit == "seconds")
THEIRS = sorted(
    name
    for name, limit in CONTRACT.limits.items()
    if limit.chosen_by == "contract" and limit.unit == "seconds" and limit.growth == "fixed"
)


# -- limits


@given(latency=st.floats(0, 1e6), name=st.sampled_from(OURS))
def test_a_limit_of_our_choice_stretches_with_the_backend_within_a_bound(latency: float, name: str) -> None:
    own, pace = CONTRACT.limits[name].value, Pace()
    pace.note(latency)

    stretched = Limits(CONTRACT, pace=pace).seconds(name)

    assert stretched == min(own * MOST, own + latency * ROUND_TRIPS)


@pytest.mark.parametrize("name", THEIRS)
def test_a_limit_of_the_contract_stays_as_it_is(name: str) -> None:
    pace = Pace()
    pace.note(100.0)

    assert Limits(CONTRACT, pace=pace).seconds(name) == CONTRACT.limits[name].value


def test_a_limit_that_the_user_set_stays_as_it_is() -> None:
    pace = Pace()
    pace.note(100.0)

    assert Limits(CONTRACT, {"prompt": 1.5}, pace).seconds("prompt") == 1.5


def test_the_slowest_measurement_counts_and_is_told_once() -> None:
    pace = Pace()
    assert pace.take_event() == []
    for seconds in (0.2, 0.4, 0.3):
        pace.note(seconds)

    assert [event["latency_s"] for event in pace.take_event()] == [0.4]
    assert pace.take_event() == []


# -- turns


def test_one_that_is_alone_has_no_company() -> None:
    async def run() -> list[tuple[str, bool]]:
        turns, seen = Turns(), list[tuple[str, bool]]()
        inside: set[str] = set()

        async def take(name: str, *, alone: bool) -> None:
            async with turns.turn(alone=alone) as turn:
                inside.add(name)
                await asyncio.sleep(0)
                assert not alone or inside == {name}
                inside.discard(name)
            seen.append((name, turn.beside))

        await asyncio.gather(
            *(take(f"many-{number}", alone=False) for number in range(3)),
            take("alone", alone=True),
            *(take(f"late-{number}", alone=False) for number in range(2)),
        )
        return seen

    seen = asyncio.run(run())

    assert dict(seen) == dict.fromkeys(("many-0", "many-1", "many-2", "late-0", "late-1"), True) | {"alone": False}
    assert [name for name, _ in seen].index("alone") == 3


# -- the second try


def judge_side_by_side(*bodies: Callable[..., Awaitable[None]], in_company: bool = False) -> list[Result]:
    """Judge toy checks side by side on one bench of the reference."""

    async def run() -> list[Result]:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            plan = make_plan(read_settings(Options("reference", seed=1), os.environ, work), work)
            bench = bench_for(plan, Transcript(), work, os.environ)
            checks: list[Check] = []
            for body in bodies:
                declaration = declaration_of(body)
                assert declaration is not None
                checks.append(Check(declaration, "lease", body))  # type: ignore[arg-type]
            try:
                return await Judge(bench, in_company=in_company).judge_all(checks, at_once=2)
            finally:
                await bench.close()

    return asyncio.run(run())


def late_until(tries: int, *, timed: bool = True) -> Callable[..., Awaitable[None]]:
    """A check that holds from its `tries`-th run on; before that it is too late, or wrong."""
    runs: list[int] = []

    @check("EXEC-027", level=Level.MUST)
    async def it_is_in_time(package: PackageView) -> None:
        """Rule."""
        runs.append(1)
        await asyncio.sleep(0)
        expect(package, len(runs) >= tries, that="it is in time", observed=f"run {len(runs)}", timed=timed)

    return it_is_in_time


@check("EXEC-028", level=Level.MUST, cost=Cost.FREE)
async def company(package: PackageView, provider: Provider) -> None:
    """Rule."""
    expect(package, provider.worker.alive, that="it lives", observed="it lives")


def test_too_late_beside_others_and_in_time_alone_is_unstable() -> None:
    late, _ = judge_side_by_side(late_until(2), company)

    assert (late.state, late.blame) == (State.UNSTABLE, Blame.ENVIRONMENT)
    assert late.reason.startswith("Passed 1 of 2 times")
    assert late.observed == "run 1"


def test_too_late_alone_as_well_is_a_failure() -> None:
    late, _ = judge_side_by_side(late_until(3), company)

    assert (late.state, late.observed) == (State.FAIL, "run 2")


def test_a_failure_that_has_nothing_to_do_with_time_is_not_repeated() -> None:
    wrong, _ = judge_side_by_side(late_until(2, timed=False), company)

    assert (wrong.state, wrong.observed) == (State.FAIL, "run 1")


def test_too_late_without_company_is_a_failure_at_once() -> None:
    (late,) = judge_side_by_side(late_until(2))

    assert (late.state, late.observed) == (State.FAIL, "run 1")


def test_other_processes_are_company_too() -> None:
    (late,) = judge_side_by_side(late_until(2), in_company=True)

    assert late.state is State.UNSTABLE
