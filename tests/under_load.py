"""Certifying the two good providers where everything is slow, again and again: not one verdict may be wrong.

python -m tests.under_load [RUNS]

Each run is made slow in one of three ways: two processes, two busy loops beside it, answers that are held back.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.npm import installed, node
from tests.running import run_pytest

ROOT = Path(__file__).parents[1]
RUNS = 20
GOOD = frozenset({"pass", "not-applicable"})

SLOW_MS = 100
"""What each answer is held back: with it the round trip of a short command is some five times as long as without."""


@dataclass(frozen=True)
class Way:
    """One way to make a run slow."""

    name: str
    arguments: tuple[str, ...] = ()
    busy_loops: int = 0
    delay_ms: int = 0


WAYS = (
    Way("two processes", ("-n", "2"), busy_loops=2),
    Way("two busy loops", busy_loops=2),
    Way("slow answers", delay_ms=SLOW_MS),
)


@contextlib.contextmanager
def busy(count: int) -> Generator[None]:
    """Loops that want a core each."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def wrong_of(source: str, way: Way) -> tuple[list[str], float]:
    """What one run got wrong, and how long it took in seconds."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = json.dumps({"root": str(folder / "sandboxes"), **({"delayMs": way.delay_ms} if way.delay_ms else {})})
        with busy(way.busy_loops):
            run = run_pytest(
                folder,
                "--provider",
                source,
                "--provider-config",
                config,
                "--provider-node",
                str(node()),
                *way.arguments,
            )
        document: dict[str, Any] = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
        odd = [
            f"{check['id']} {check['name']} {check['state']}: {check['reason']} {check['observed']}"
            for check in document["checks"]
            if check["state"] not in GOOD
        ]
        exits = [] if run.code == 0 else [f"exit code {run.code}"]
        balance = document["leases"]
        lost = [] if balance["opened"] == balance["closed"] else [f"{balance['unknown']} leases unknown"]
        return [*odd, *exits, *lost], float(document["run"]["seconds"])


def main(arguments: Sequence[str]) -> int:
    """Run, tell each run in a line, and end with 1 when one was wrong."""
    runs = int(arguments[0]) if arguments else RUNS
    sources = {"reference": "reference", "SDK provider": str(installed(ROOT / "fixtures" / "sdk_provider"))}
    wrong: Counter[str] = Counter()
    for number in range(runs):
        for name, source in sources.items():
            way = WAYS[number % len(WAYS)]
            found, seconds = wrong_of(source, way)
            wrong[name] += bool(found)
            print(
                f"{number + 1:>3} {name:<13} {way.name:<15} {seconds:6.1f} s  {'; '.join(found) or 'right'}", flush=True
            )
    print(", ".join(f"{name}: {wrong[name]} of {runs} runs wrong" for name in sources))
    return min(sum(wrong.values()), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
