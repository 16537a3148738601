"""Writes the stored outputs anew after a wanted change: `python -m tests.reports.store`, then read the difference."""

from pathlib import Path

from conformance.events import read_events
from conformance.reports.tally import tally
from conformance.reports.terminal import summary
from conformance.reports.write import documents

from .builder import bad_run, good_run

DATA = Path(__file__).parent / "data"
RUNS = {"good": good_run, "bad": bad_run}
TERMINAL = "terminal.txt"


def made(stream: Path) -> dict[str, bytes]:
    """Make everything that a stored stream should give; pictures are left out, their pixels are another test's."""
    report = tally(read_events(stream))
    printed = {TERMINAL: summary(report, 90, color=False).encode()}
    return printed | {name: data for name, data in documents(report).items() if not name.endswith(".png")}


def store() -> None:
    """Replace the stored runs and their outputs."""
    for name, run in RUNS.items():
        folder = DATA / name
        run().write(folder / "events.jsonl")
        for file, data in made(folder / "events.jsonl").items():
            (folder / file).write_bytes(data)


if __name__ == "__main__":
    store()
