"""Looking for a sequence that goes wrong, and for the shortest one that does."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from conformance.evidence import Blocked
from conformance.provider import Provider
from conformance.sequences.actions import Action
from conformance.sequences.broken import Broken
from conformance.sequences.driver import MORE_WHEN_BROKEN, Driver
from conformance.sequences.facts import Facts

STEPS = 12
"""Longest sequence (our choice)."""

TIME_S = 6.0
"""What the sequences may take together by the pace of the backend (our choice)."""

SEQUENCES = (3, 10)
"""Fewest and most sequences (our choice: few where each call is slow)."""

TRIES = 30
"""How often a shorter sequence is tried once one went wrong (our choice: each try costs a dozen calls)."""

BrokenOrBlocked = TypeVar("BrokenOrBlocked", Broken, Blocked, Broken | Blocked)

Drive = Callable[[Coroutine[Any, Any, Any]], Any]


class Stopped(Exception):
    """The check has ended; nothing may be sent any more."""


def how_many(latency_s: float) -> int:
    """How many sequences fit into the time, by what a short command takes."""
    fewest, most = SEQUENCES
    return max(fewest, min(most, round(TIME_S / (STEPS * max(latency_s, 0.001)))))


async def run_sequences(driver: Driver, seed: int, count: int, home: Path) -> tuple[int, Broken | Blocked | None]:
    """Run `count` sequences. How many ran, and the shortest that left the model, or what kept them from running.

    `home` is a directory for what Hypothesis wants to keep; nothing of it is used again.
    """
    loop, stopped = asyncio.get_running_loop(), False

    def drive(step: Coroutine[Any, Any, Any]) -> Any:
        if stopped:
            step.close()
            raise Stopped
        return asyncio.run_coroutine_threadsafe(step, loop).result()

    search = Search(driver, drive)
    try:
        await asyncio.to_thread(search.run, seed, count, home)
    finally:
        stopped = True
    if isinstance(search.found, Broken):
        driver.budget += MORE_WHEN_BROKEN
        return search.ran, await shortest(driver, search.found, search.actions)
    return search.ran, search.found


class Search:
    """What is found while Hypothesis looks."""

    def __init__(self, driver: Driver, drive: Drive) -> None:
        self.driver = driver
        self.drive = drive
        self.ran = 0
        self.found: Broken | Blocked | None = None
        self.actions: tuple[Action, ...] = ()

    def run(self, seed: int, count: int, home: Path) -> None:
        """Let Hypothesis choose. Whatever it raises in the end, `found` has what was seen."""
        # Loaded here: it takes a third of a second, and is needed by this one check alone.
        from conformance.sequences.machine import explore  # noqa: PLC0415

        try:
            explore(self, seed, count, STEPS, home)
        except Exception:
            if self.found is None:
                raise

    def note(self, ended: Broken | Blocked, actions: Sequence[Action]) -> None:
        """Remember the first sequence that went wrong."""
        if self.found is None:
            self.found, self.actions = _with_steps(ended, self.driver), tuple(actions)


async def shortest(driver: Driver, found: Broken, actions: tuple[Action, ...]) -> Broken:
    """Leave out one step after the other for as long as the rest goes wrong too.

    Hypothesis would make the row of its choices simpler, not the row of calls, and play it hundreds of times for that.
    """
    place = len(actions) - 1
    for _ in range(TRIES):
        if place < 0:
            break
        fewer = (*actions[:place], *actions[place + 1 :])
        again = await _play(driver, fewer)
        if again is not None:
            found, actions = again, fewer
        place = min(place, len(actions)) - 1
    return found


async def _play(driver: Driver, actions: tuple[Action, ...]) -> Broken | None:
    facts: dict[str, Facts] = {}
    try:
        facts = await driver.begin()
        for action in actions:
            if not await driver.do(action, facts):
                return None
        await driver.look_at_all(facts)
    except Broken as broken:
        _with_steps(broken, driver)
        return broken
    except Blocked:
        return None
    finally:
        with contextlib.suppress(Broken, Blocked):
            await driver.end(facts)
    return None


def _with_steps(ended: BrokenOrBlocked, driver: Driver) -> BrokenOrBlocked:
    if isinstance(ended, Broken):
        ended.steps = tuple(driver.steps)
    return ended


def decide(provider: Provider, ran: int, ended: Broken | Blocked | None, seed: int) -> None:
    """Turn the outcome into the decision of a check: its own rule decides it, any other blocks it."""
    trace = provider.trace
    if isinstance(ended, Blocked):
        raise ended
    if ended is not None and ended.rule != trace.requirement:
        raise Blocked(ended.rule, f"expected that {ended.that}; {ended.told()} (seed {seed})", ended.frames)
    trace.decide(
        holds=ended is None,
        expected="every sequence of calls leaves leases and files as the calls say" if ended is None else ended.that,
        observed=f"{ran} sequences did (seed {seed})" if ended is None else f"{ended.told()} (seed {seed})",
        frames=provider.frames if ended is None else ended.frames,
        sent="" if ended is None else ended.sent,
        advice="Follow the steps by hand: nothing but the lease and its files may matter from one call to the next.",
        most=3_000,
    )
