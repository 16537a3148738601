"""How a check gets its state: judged on real workers, with checks made for the purpose."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from conformance.answer import answer_of
from conformance.checks import Body, Capability, Check, check, declaration_of
from conformance.errors import EnvironmentFault, KitError
from conformance.evidence import Undecided
from conformance.expect import expect, expect_answered, expect_error, expect_refused
from conformance.gates import Gate
from conformance.host.lease import Lease
from conformance.judge import Judge, Result
from conformance.ledger import Ending, Ledger
from conformance.model import Blame, Cost, Level, State
from conformance.plan import bench_for, make_plan
from conformance.provider import Provider
from conformance.settings import Options, read_settings
from conformance.steps import acquire_lease, run_script
from conformance.view import PackageView
from conformance.wire.transcript import Transcript
from tests.host.live import live_provider

MUST = Level.MUST
NEVER = Gate(lambda _: False, "It never applies.")


def as_check(body: Body) -> Check:
    declaration = declaration_of(body)
    assert declaration is not None
    return Check(declaration, "lease", body)


def judge(*bodies: Body, source: str = "reference", leases: list[str] | None = None) -> list[Result]:
    """Judge toy checks one after another on one bench; `leases` is told what became of each before the bench ends."""

    async def run() -> list[Result]:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            plan = make_plan(read_settings(Options(source, seed=1), os.environ, work), work)
            bench = bench_for(plan, Transcript(), work, os.environ)
            try:
                return [await Judge(bench).judge(as_check(body)) for body in bodies]
            finally:
                if leases is not None:
                    leases.extend(str(entry.ending) for entry in bench.ledger.entries)
                await bench.close()
                assert bench.launch.living == set()
                assert bench.ledger.open_entries() == []

    return asyncio.run(run())


def test_a_check_that_decides_for_the_provider_passes() -> None:
    @check("LEASE-001", level=MUST)
    async def it_answers(provider: Provider) -> None:
        """Rule."""
        expect_answered(await answer_of(provider.validate_config()))

    (result,) = judge(it_answers)

    assert (result.state, result.blame) == (State.PASS, None)
    assert [event["event"] for event in result.events] == ["observation"]
    assert result.limit_share is not None
    assert 0 < result.limit_share < 1


def test_a_check_that_decides_nothing_is_inconclusive() -> None:
    @check("LEASE-001", level=MUST)
    async def it_only_looks(provider: Provider) -> None:
        """Rule."""
        await provider.validate_config()

    (result,) = judge(it_only_looks)

    assert (result.state, result.blame) == (State.INCONCLUSIVE, Blame.KIT)


@pytest.mark.parametrize(("level", "state"), [(Level.MUST, State.FAIL), (Level.SHOULD, State.WARN)])
def test_a_decision_against_the_provider_is_graded_by_level(level: Level, state: State) -> None:
    @check("LEASE-001", level=level)
    async def it_expects_too_much(package: PackageView) -> None:
        """Rule."""
        expect(package, False, that="the moon is cheese", observed="stone", advice="Fly there.")

    (result,) = judge(it_expects_too_much)

    assert (result.state, result.blame) == (state, Blame.PROVIDER)
    assert (result.expected, result.observed, result.advice) == ("the moon is cheese", "stone", "Fly there.")


def test_a_call_of_the_check_itself_that_fails_counts_against_the_provider() -> None:
    @check("LEASE-001", level=MUST)
    async def it_calls_what_is_not_there(provider: Provider) -> None:
        """Rule."""
        await provider.call("environmentInvented", {})

    (result,) = judge(it_calls_what_is_not_there)

    assert result.state is State.FAIL
    assert "-32601" in result.observed
    assert result.frames != ()


def _raises(error: BaseException) -> Body:
    @check("LEASE-001", level=MUST)
    async def it_raises(package: PackageView) -> None:
        """Rule."""
        expect(package, True, that="so far so good", observed="yes")
        raise error

    return it_raises


@pytest.mark.parametrize(
    ("error", "state", "blame"),
    [
        (Undecided("it did not come up"), State.INCONCLUSIVE, Blame.KIT),
        (EnvironmentFault("no network"), State.ENV_ERROR, Blame.ENVIRONMENT),
        (KitError("a contradiction"), State.KIT_ERROR, Blame.KIT),
        (ZeroDivisionError("oops"), State.KIT_ERROR, Blame.KIT),
        (TimeoutError(), State.KIT_ERROR, Blame.KIT),
        (AssertionError("plain assert"), State.KIT_ERROR, Blame.KIT),
    ],
)
def test_what_is_raised_names_who_is_to_blame(error: BaseException, state: State, blame: Blame) -> None:
    (result,) = judge(_raises(error))

    assert (result.state, result.blame) == (state, blame)


def test_a_step_that_stands_on_a_broken_rule_blocks() -> None:
    @check("LEASE-028", level=MUST)
    async def it_needs_a_lease(provider: Provider) -> None:
        """Rule."""
        await provider.worker.kill()
        await acquire_lease(provider)

    (result,) = judge(it_needs_a_lease)

    assert (result.state, result.blocked_by) == (State.BLOCKED, "LEASE-001")


def test_gates_come_before_the_body() -> None:
    ran: list[str] = []

    def body_of(**options: Any) -> Body:
        @check("LEASE-001", level=MUST, **options)
        async def it_must_not_run(provider: Provider) -> None:
            """Rule."""
            ran.append(provider.subject.driver_key)

        return it_must_not_run

    moot, unclaimed = judge(
        body_of(when=NEVER), body_of(needs=Capability.NATIVE_SYNC_IN), source="mutant:hollow-native-sync"
    )

    assert (moot.state, moot.reason) == (State.NOT_APPLICABLE, "It never applies.")
    assert (unclaimed.state, unclaimed.blocked_by) == (State.BLOCKED, "CAP-001")
    assert ran == []


def test_a_rule_of_another_revision_is_not_applicable() -> None:
    @check("LEASE-030", level=MUST, since="2026.916")
    async def it_is_for_later(provider: Provider) -> None:
        """Rule."""
        raise AssertionError(provider)

    (result,) = judge(it_is_for_later)

    assert result.state is State.NOT_APPLICABLE


def test_leases_that_a_check_leaves_open_are_closed_after_it() -> None:
    @check("LEASE-001", level=MUST, cost=Cost.OWN)
    async def it_forgets(provider: Provider) -> None:
        """Rule."""
        lease = await acquire_lease(provider, reuse=True)
        expect(provider, lease.id is not None, that="there is a lease", observed=lease.label)

    leases: list[str] = []
    (result,) = judge(it_forgets, leases=leases)

    assert (result.state, leases) == (State.PASS, ["destroyed"])


def leaving(seen: list[str], *, good: bool, end: bool = False) -> Body:
    """A check that acquires an ordinary lease and leaves it, perhaps destroyed."""

    @check("LEASE-001", level=MUST, cost=Cost.OWN)
    async def it_leaves_a_lease(provider: Provider) -> None:
        """Rule."""
        lease = await acquire_lease(provider)
        seen.append(lease.label)
        if end:
            # Past the ledger, as if the backend had taken it.
            await provider.call("environmentDestroyLease", provider.make.end(lease))
        expect(provider, good, that="it is good", observed=lease.label)

    return it_leaves_a_lease


def using(seen: list[str]) -> Body:
    """A check that uses a lease up."""

    @check("LEASE-020", level=MUST, cost=Cost.OWN)
    async def it_uses_one_up(provider: Provider, doomed: Lease) -> None:
        """Rule."""
        seen.append(doomed.label)
        expect_answered(await answer_of(provider.destroy(doomed)))

    return it_uses_one_up


def test_a_lease_that_a_good_check_leaves_is_used_up_by_another() -> None:
    seen: list[str] = []

    results = judge(leaving(seen, good=True), using(seen), using(seen))

    assert [result.state for result in results] == [State.PASS] * 3
    assert seen == ["L1", "L1", "L2"]


def test_what_a_failed_check_leaves_is_closed_and_passed_to_nobody() -> None:
    seen: list[str] = []

    endings: list[str] = []
    first, second = judge(leaving(seen, good=False), using(seen), leases=endings)

    assert (first.state, second.state, seen) == (State.FAIL, State.PASS, ["L1", "L2"])
    assert endings[0] == "destroyed"


def test_a_lease_that_works_no_more_is_passed_to_nobody() -> None:
    seen: list[str] = []

    results = judge(leaving(seen, good=True, end=True), using(seen))

    assert [result.state for result in results] == [State.PASS] * 2
    assert seen == ["L1", "L2"]


def test_a_worker_that_a_check_kills_is_replaced_for_the_next() -> None:
    @check("LEASE-001", level=MUST)
    async def it_kills(provider: Provider) -> None:
        """Rule."""
        await provider.worker.kill()
        expect(provider, not provider.worker.alive, that="it is gone", observed="gone")

    @check("LEASE-001", level=MUST)
    async def it_goes_on(provider: Provider) -> None:
        """Rule."""
        expect_answered(await answer_of(provider.validate_config()))

    assert [result.state for result in judge(it_kills, it_goes_on)] == [State.PASS, State.PASS]


def test_the_shared_lease_serves_many_and_is_replaced_when_a_check_fails_on_it() -> None:
    seen: list[str] = []

    def user(name: str, *, good: bool) -> Body:
        async def body(provider: Provider, lease: Lease) -> None:
            """Rule."""
            seen.append(lease.label)
            outcome = await run_script(provider, lease, "true")
            expect(outcome, good and outcome.exit_code == 0, that="good", observed=outcome.came)

        body.__name__ = name
        return check("EXEC-002", level=MUST, cost=Cost.SHARED)(body)

    judge(user("one", good=True), user("two", good=False), user("three", good=True))

    assert seen == ["L1", "L1", "L2"]


def test_a_refusal_binds_the_code_and_a_crash_is_none() -> None:
    @check("RPC-011", level=MUST)
    async def it_wants_another_code(provider: Provider) -> None:
        """Rule."""
        expect_refused(await answer_of(provider.call("environmentInvented", {})), {-32000}, what="an invention")

    @check("RPC-011", level=MUST)
    async def it_takes_a_death_for_an_error(provider: Provider) -> None:
        """Rule."""
        # It is stopped first, so that it cannot be fast enough to answer.
        provider.worker.peer.process.send_signal(signal.SIGSTOP)
        call = asyncio.ensure_future(answer_of(provider.call("environmentInvented", {})))
        await asyncio.sleep(0)
        provider.worker.peer.process.kill_now()
        expect_error(await call, what="an invention")

    wrong_code, crash = judge(it_wants_another_code, it_takes_a_death_for_an_error)

    assert wrong_code.state is State.FAIL
    assert crash.state is State.FAIL
    assert "signal 9" in crash.observed


@pytest.mark.parametrize("number", ["LEASE-1", "lease-001", "", "LEASE-0012"])
def test_a_check_must_name_a_rule(number: str) -> None:
    with pytest.raises(KitError, match="no requirement id"):
        check(number, level=MUST)


def test_a_check_must_say_its_rule_and_ask_only_for_what_there_is() -> None:
    async def silent(provider: Provider) -> None:
        expect(provider, True, that="x", observed="y")

    async def greedy(moon: Provider) -> None:
        """Rule."""
        expect(moon, True, that="x", observed="y")

    with pytest.raises(KitError, match="docstring"):
        as_check(check("LEASE-001", level=MUST)(silent))
    with pytest.raises(KitError, match="moon"):
        as_check(check("LEASE-001", level=MUST)(greedy))


def test_an_acquire_is_seen_through_although_its_check_is_cut_off() -> None:
    async def run() -> Ledger:
        async with live_provider(config='{"delayMs": 300}') as provider:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await provider.acquire()
            return provider.ledger

    (entry,) = asyncio.run(run()).entries

    assert entry.lease is not None
    assert (entry.lease.id is not None, entry.ending) == (True, Ending.DESTROYED)
