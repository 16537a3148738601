"""What a run is expected to cost, told before the first lease."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.budget import Budget
from conformance.checks import Check
from conformance.model import Cost
from conformance.room import SHARED_LEASES, sandboxes_for

SHARED_SECONDS = 1.0
"""What a check on a shared lease is expected to take (our guess, from backends that are not on this machine)."""

_SECONDS = {Cost.FREE: 0.0, Cost.SHARED: 0.0, Cost.OWN: 8.0, Cost.MANY: 15.0, Cost.LONG: 30.0}
"""How long each lease of such a check is expected to live (our guess, as above)."""


@dataclass(frozen=True)
class Forecast:
    """What some checks are expected to take; the time by our guesses, the leases by what the checks declare."""

    counts: Counter[Cost]
    leases: int
    seconds: float

    @property
    def checks(self) -> int:
        """How many there are."""
        return self.counts.total()

    def lines(self, budget: Budget) -> list[str]:
        """The plan as it is printed before the first lease."""
        classes = ", ".join(f"{self.counts[cost]} {cost}" for cost in Cost if self.counts[cost])
        lines = [
            f"Plan:   {self.checks} checks: {classes or 'none'}",
            f"        about {self.leases} leases and {budget.priced(self.seconds)}, if nothing fails",
            f"Budget: {budget.sentence()}",
        ]
        if self.leases > budget.leases or self.seconds > budget.seconds:
            lines.append("        The plan does not fit: the run will stop before the budget is overrun.")
        return lines


def forecast(checks: Iterable[Check], processes: int = 1) -> Forecast:
    """What these checks will take in so many kit processes, each of which has shared leases of its own."""
    chosen = list(checks)
    shared = {SHARED_LEASES[name] for check in chosen for name in check.arguments if name in SHARED_LEASES}
    users = sum(1 for check in chosen if not check.arguments.isdisjoint(SHARED_LEASES))
    own = sum(check.leases for check in chosen)
    living = sum(check.leases * _SECONDS[check.declaration.cost] for check in chosen)
    alive = len(shared & {"lease", "kept"})
    return Forecast(
        counts=Counter(check.declaration.cost for check in chosen),
        leases=own + sandboxes_for(shared) * processes,
        seconds=living + alive * users * SHARED_SECONDS,
    )
