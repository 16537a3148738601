"""One figure, and how two sides are measured against each other."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_RUN = "runpy.run_module('{module}', run_name='__main__', alter_sys=True)"


@dataclass(frozen=True)
class Row:
    """One figure. `ours` and `theirs` are in `unit`; the limit is for the ratio, or for `ours` where there is no other.

    No limit: the figure is shown for its own sake.
    """

    what: str
    against: str
    ours: float
    theirs: float | None
    unit: str
    limit: float | None
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a figure that cannot be compared."""
        if self.theirs is not None and self.theirs <= 0:
            message = f"{self.what}: nothing can be divided by {self.theirs}"
            raise ValueError(message)

    @property
    def ratio(self) -> float | None:
        """How many times as much as the other side; None where there is no other side."""
        return None if self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        measured = self.ours if self.ratio is None else self.ratio
        return None if self.limit is None else measured <= self.limit


def interleaved(sides: Sequence[Callable[[], float]], rounds: int) -> list[float]:
    """The median of each side, measured in turn, so that whatever else the machine does hits all of them alike."""
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        # The other way round every second time: nobody always comes first.
        order = list(enumerate(sides))
        for index, side in order if number % 2 == 0 else reversed(order):
            taken[index].append(side())
    return [statistics.median(times) for times in taken]


def side_process(module: str, *arguments: str) -> dict[str, float]:
    """Run a module of this folder as a program that prints figures, in a process of its own."""
    script = f"import sys; sys.path.append({str(ROOT)!r}); import runpy; {_RUN.format(module=module)}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
