"""Judging ahead: while a slow backend keeps one check waiting, the next ones that will be asked for run beside it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.checks import EXCLUSIVE, Check
from conformance.judge import Judge, Result
from conformance.model import Cost, State
from conformance.room import takes_leftover

FAR = 32
"""How many checks ahead of the one that is asked for may be started (our choice: enough to pass a slow one by)."""

TOLD_S = 60.0
"""How long a lease is held back until the free verdicts are out (our choice: another process may have died)."""

LOOK_AGAIN_S = 0.05
"""Between two looks whether they are out (our choice)."""


class Ahead:
    """Judges the checks of one process, each once it is asked for or soon will be.

    At most `width` run at once. One that is declared `alone` runs alone. None that needs a lease starts before the
    last free one was asked for.
    """

    def __init__(
        self,
        judge: Judge,
        order: Sequence[Check],
        *,
        width: int,
        far: int = FAR,
        left_out: Callable[[Check], str | None] = lambda _: None,
    ) -> None:
        """Make one for these checks; `left_out` gives the reason why one is not to be run."""
        self.judge = judge
        self._left_out = left_out
        self._order = order
        self._width = width
        self._far = far
        self._tasks: dict[int, asyncio.Task[Result]] = {}
        self._wanted: Sequence[int] = ()
        self._all_wanted: Sequence[int] = ()
        self._closed = False

    @property
    def running(self) -> list[Check]:
        """The checks that run now, in their order."""
        return [self._order[place] for place in sorted(self._tasks) if not self._tasks[place].done()]

    def to_come(self) -> list[Check]:
        """What pytest has asked for or will ask for, and has not ended, in its order."""
        return [
            self._order[place]
            for place in self._all_wanted
            if place not in self._tasks or not self._tasks[place].done()
        ]

    async def result(self, place: int, following: Sequence[int]) -> Result:
        """The result of the check at a place of the order; `following` are the places asked for after it."""
        self._all_wanted = (place, *following)
        self._wanted = self._all_wanted[: 1 + self._far]
        self._start_some()
        while place not in self._tasks:
            await asyncio.wait(
                [task for task in self._tasks.values() if not task.done()], return_when="FIRST_COMPLETED"
            )
            self._start_some()
        try:
            return await self._tasks[place]
        finally:
            # Asked for again, by a plugin that repeats failures, it is judged again.
            del self._tasks[place]
            self._wanted, self._all_wanted = self._wanted[1:], self._all_wanted[1:]

    async def close(self) -> list[dict[str, Any]]:
        """Break off what nobody asked for; what the wire saw, and what is to be noted, of those that had ended."""
        self._closed = True
        for task in self._tasks.values():
            task.cancel()
        ended = await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._tasks.clear()
        results = [end for end in ended if isinstance(end, Result)]
        return [event for result in results for event in result.events if _is_told(event)]

    def _start_some(self) -> None:
        if self._closed:
            return
        running = self.running
        for place in self._best_order():
            check = self._order[place]
            task = self._tasks.get(place)
            if task is None and self._may_start(place, check, running):
                task = self._tasks[place] = asyncio.ensure_future(self._judged(check))
                task.add_done_callback(lambda _: self._start_some())
                running.append(check)
            if check.declaration.alone and (task is None or not task.done()):
                return

    def _best_order(self) -> list[int]:
        """What is wanted, up to the next that runs alone: first who can use a lease that lies ready, if one does."""
        alone = (count for count, place in enumerate(self._wanted, 1) if self._order[place].declaration.alone)
        window = list(self._wanted[: next(alone, len(self._wanted))])
        last = window.pop() if window and self._order[window[-1]].declaration.alone else None
        there = self.judge.bench.leases.leftovers > 0
        window.sort(key=lambda place: takes_leftover(self._order[place]) is not there)
        return window if last is None else [*window, last]

    def _may_start(self, place: int, check: Check, running: Sequence[Check]) -> bool:
        first = self._order[self._wanted[0]]
        if len(running) >= self._width or any(other.declaration.alone for other in running):
            return False
        if check.declaration.alone and running:
            return False
        if place != self._wanted[0] and _is_free(first) and not _is_free(check):
            return False
        return not any(check.arguments & other.arguments & EXCLUSIVE for other in running)

    async def _judged(self, check: Check) -> Result:
        reason = self._left_out(check)
        if reason is not None:
            return Result(check, State.SKIPPED, reason)
        purse = self.judge.bench.ledger.purse
        if purse is not None and not _is_free(check):
            # Another process may have the last free verdict, and there is no event that reaches over processes.
            for _ in range(round(TOLD_S / LOOK_AGAIN_S)):
                if purse.told:
                    break
                await asyncio.sleep(LOOK_AGAIN_S)
        return await self.judge.judge(check)


def _is_free(check: Check) -> bool:
    return check.declaration.cost is Cost.FREE


def _is_told(event: Mapping[str, Any]) -> bool:
    return event["event"] == "note" or "violates" in event
