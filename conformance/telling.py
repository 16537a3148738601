"""What a run says beside pytest's own words: the plan, and that nothing was spent yet."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.budget import Budget
from conformance.checks import Check
from conformance.forecast import forecast
from conformance.model import Cost
from conformance.progress import LIVE_S, Estimate, LiveFile, Progress, is_live, line
from conformance.purse import Purse

EVERY_S = 60.0
"""Between two lines of progress where there is no terminal (our choice: a CI log shows that the run lives)."""


@dataclass
class Teller:
    """Speaks for the main process of a run, once each thing."""

    config: pytest.Config
    budget: Budget
    purse: Purse
    terminal: str | None = None
    """The kind of terminal, as the environment names it."""
    planned: bool = False
    every_s: float = EVERY_S
    waits: Callable[[], Mapping[str, str]] = dict[str, str]
    """What the checks of this process wait for now, by their names."""
    _free: int = 0
    _estimate: Estimate | None = None
    _progress: Progress | None = None
    _live: LiveFile | None = None
    _past_capture: Any = None
    _untold: set[str] = field(default_factory=set[str])

    def plan(self, chosen: Mapping[str, Check], processes: int) -> None:
        """Print the plan, before the first lease. `chosen` are the checks by the ids of their items."""
        self.planned = True
        for text in forecast(chosen.values(), processes).lines(self.budget):
            self.say(text)
        self._untold = {item for item, check in chosen.items() if check.declaration.cost is Cost.FREE}
        self._free = len(self._untold)
        self._estimate = Estimate(
            {item: check.declaration.cost for item, check in chosen.items()}, started=time.monotonic()
        )
        self._start_progress()
        if not self._free:
            self.purse.tell()

    def judged(self, item: str, seconds: float) -> None:
        """The check of an item has its state, after so many seconds."""
        if self._estimate is not None:
            self._estimate.ended(item, seconds)

    def finish(self) -> None:
        """Say nothing more while the run goes on: it is over."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._live is not None:
            self._live.show("")
            writer: Any = self.config.get_terminal_writer()
            writer._file = self._live.file  # noqa: SLF001 - as below
            self._live = None
        if self._past_capture is not None:
            self._past_capture.close()
            self._past_capture = None

    def _start_progress(self) -> None:
        writer: Any = self.config.get_terminal_writer()
        if self.every_s <= 0 or not self.config.pluginmanager.has_plugin("terminalreporter"):
            return
        # What is written to the terminal while a check runs is captured; this is called while none does.
        try:
            descriptor = os.dup(writer._file.fileno())  # noqa: SLF001 - pytest has no public place for it
        except OSError:
            # Somebody runs pytest inside a program and reads its output from memory: nobody watches.
            return
        self._past_capture = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")
        shown_raw = self.config.getoption("capture", "fd") == "no"
        if is_live(writer._file, self.terminal) and not shown_raw:  # noqa: SLF001 - pytest has no public place for it
            column = lambda: int(writer.width_of_current_line)  # noqa: E731 - one line says it
            self._live = writer._file = LiveFile(writer._file, self._past_capture, column)  # noqa: SLF001
        self._progress = Progress(self._tell_progress, LIVE_S if self._live is not None else self.every_s)
        self._progress.start()

    def _tell_progress(self) -> None:
        if self._estimate is None:
            return
        text = line(self._estimate, self.purse.running(), self.waits(), self.purse.spent(), self.budget)
        if self._live is not None:
            self._live.show(text)
        else:
            writer: Any = self.config.get_terminal_writer()
            start = "\n" if writer.width_of_current_line else ""
            # pytest then goes on at the start of a line, and must know it for its percentages.
            writer._current_line = ""  # noqa: SLF001 - as above
            self._past_capture.write(f"{start}{text}\n")
            self._past_capture.flush()

    def ended(self, item: str) -> None:
        """An item has ended. After the last free one it is said that nothing was spent, and leases may be opened."""
        if item not in self._untold:
            return
        self._untold.remove(item)
        if not self._untold:
            if not self.purse.spent().opened:
                self.say(f"{self._free} free checks have ended: no lease was opened, so nothing was spent so far.")
            self.purse.tell()

    def say(self, text: str) -> None:
        """Print a line of our own, between the letters of pytest."""
        reporter: Any = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None:
            return
        if self.config.get_terminal_writer().width_of_current_line:
            reporter.write_line("")
        reporter.write_line(text)
