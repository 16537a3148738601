"""What a long run shows while nothing ends: what runs, what that waits for, what is spent, how long it may still take.

On a terminal it is one live line below pytest's own; elsewhere a line now and then.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.budget import Budget
from conformance.model import Cost
from conformance.purse import Running, Spent

LIVE_S = 1.0
"""Between two states of the live line (our choice)."""

SHOWN = 3
"""Checks that are named in one line (our choice)."""

MEASURED = 3
"""From so many checks of one cost on, their mean is believed more than our guess (our choice)."""

_GUESS_S = {Cost.FREE: 0.3, Cost.SHARED: 1.0, Cost.OWN: 5.0, Cost.MANY: 8.0, Cost.LONG: 10.0}
"""How long a check takes, as long as none of its cost has been measured (our guess)."""


@dataclass
class Estimate:
    """How long a run may still take, from what its checks have taken so far. Asked from another thread than told."""

    left: dict[str, Cost]
    """Checks that have not ended, by the ids of their items."""
    started: float
    _taken: dict[Cost, list[float]] = field(default_factory=lambda: {cost: [] for cost in Cost})

    def ended(self, item: str, seconds: float) -> None:
        """A check has ended after so many seconds."""
        cost = self.left.pop(item, None)
        if cost is not None:
            self._taken[cost].append(seconds)

    @property
    def done(self) -> int:
        """How many have ended."""
        return sum(map(len, self._taken.values()))

    def seconds(self, now: float) -> float:
        """How long the others may take, as many side by side as so far."""
        busy = sum(map(sum, self._taken.values()))
        beside = max(1.0, busy / max(now - self.started, 1.0))
        return sum(self._mean(cost) for cost in list(self.left.values())) / beside

    def _mean(self, cost: Cost) -> float:
        taken = self._taken[cost]
        return sum(taken) / len(taken) if len(taken) >= MEASURED else _GUESS_S[cost]


def line(estimate: Estimate, running: list[Running], waits: Mapping[str, str], spent: Spent, budget: Budget) -> str:
    """The state of a run in one line."""
    now = time.monotonic()
    shown = [_one(each, waits.get(each.check), now) for each in sorted(running, key=lambda each: each.since)[:SHOWN]]
    more = f" and {len(running) - SHOWN} more" if len(running) > SHOWN else ""
    leases = f"{spent.open} leases open, {spent.opened} of {budget.leases} opened, {budget.priced(spent.seconds)}"
    total = estimate.done + len(estimate.left)
    left = f"about {minutes(estimate.seconds(now))} left"
    return f"{estimate.done} of {total} | {', '.join(shown) or 'nothing runs'}{more} | {leases} | {left}"


def minutes(seconds: float) -> str:
    """A time as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _one(running: Running, waits: str | None, now: float) -> str:
    reason = f"{waits}, " if waits else ""
    return f"{running.check} ({reason}{now - running.since:.0f} s)"


class LiveFile:
    """The file that pytest's terminal writes to, with one line below it that is taken away before each write."""

    def __init__(self, file: Any, past_capture: Any, column: Callable[[], int]) -> None:
        """Stand in for `file`; the line goes to `past_capture`, which a running check does not redirect."""
        self.file = file
        self._past_capture = past_capture
        self._column = column
        self._text = ""
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def write(self, text: str) -> int:
        """Write what pytest has to say, above the line."""
        with self._lock:
            shown = self._text
            self.show("")
            self.file.write(text)
            self.show(shown)
        return len(text)

    def show(self, text: str) -> None:
        """Put this into the line; nothing takes the line away."""
        with self._lock:
            self.file.flush()
            if self._text:
                # Relative moves survive that the screen was scrolled in between.
                self._past_capture.write(f"\r\x1b[2K\x1b[1A\x1b[{self._column() + 1}G")
            width = shutil.get_terminal_size().columns - 1
            self._text = text[: max(width, 0)]
            if self._text:
                self._past_capture.write(f"\n{self._text}")
            self._past_capture.flush()


@dataclass
class Progress:
    """Calls `tell` every so many seconds from a thread of its own, between `start` and `stop`."""

    tell: Callable[[], None]
    every_s: float
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="conformance-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and leave no thread behind; a second call does nothing."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._over.wait(self.every_s):
            self.tell()


def is_live(file: Any, term: str | None) -> bool:
    """Whether a line on this terminal can be written anew."""
    return bool(file.isatty()) and term not in {None, "", "dumb"} and os.name == "posix"
