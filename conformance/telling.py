"""What a run says beside pytest's own words: the plan, and that nothing was spent yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.budget import Budget
from conformance.checks import Check
from conformance.forecast import forecast
from conformance.model import Cost
from conformance.purse import Purse


@dataclass
class Teller:
    """Speaks for the main process of a run, once each thing."""

    config: pytest.Config
    budget: Budget
    purse: Purse
    planned: bool = False
    _free: int = 0
    _untold: set[str] = field(default_factory=set[str])

    def plan(self, chosen: Mapping[str, Check], processes: int) -> None:
        """Print the plan, before the first lease. `chosen` are the checks by the ids of their items."""
        self.planned = True
        for line in forecast(chosen.values(), processes).lines(self.budget):
            self.say(line)
        self._untold = {item for item, check in chosen.items() if check.declaration.cost is Cost.FREE}
        self._free = len(self._untold)
        if not self._free:
            self.purse.tell()

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
