"""Makes one page, or one list, from made-up reports, and prints what it took: `page LINES` or `index REPORTS`."""

import datetime as dt
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.events import EventWriter, read_events
from conformance.model import State
from conformance.plan import make_plan
from conformance.record import advertised, declared, header
from conformance.reports import evidence, page, page_view
from conformance.reports.frames import read_frames
from conformance.reports.index import Place, index_html, index_json, read_index
from conformance.reports.tally import tally
from conformance.reports.write import ENTRY_FILE, EVENTS_FILE, TRANSCRIPT_FILE
from conformance.settings import DEFAULT_REVISION, Options, read_settings

BROKEN_EACH = 20
"""Of so many checks one fails, which shows more lines than one that passes."""

LINE_BYTES = 2_000


def one_page(folder: Path, lines: int) -> dict[str, float]:
    """Make the page of a run of every check, as `report` does, from a stream and a transcript of so many lines."""
    checks = _record(folder, lines)
    start = time.perf_counter()
    report = tally(read_events(folder / EVENTS_FILE))
    frames = read_frames(folder / TRANSCRIPT_FILE, page_view.wanted_frames(report))
    size = len(page.render(report, frames).encode())
    return {"seconds": time.perf_counter() - start, "bytes": size, "checks": checks}


def one_list(folder: Path, reports: int) -> dict[str, float]:
    """Make the list of so many reports."""
    _record(folder, 0)
    entry = json.loads(evidence.registry_entry(tally(read_events(folder / EVENTS_FILE)), b""))
    for number in range(reports):
        place = folder / "reports" / f"provider-{number}"
        place.mkdir(parents=True)
        entry["subject"]["name"] = f"@acme/sandbox-{number}"
        (place / ENTRY_FILE).write_text(json.dumps(entry), encoding="ascii")
    start = time.perf_counter()
    today = dt.datetime.now(dt.UTC).date()
    order = load_contract(DEFAULT_REVISION).order
    rows = read_index(Place(folder / "reports", folder, today, DEFAULT_REVISION, order))
    size = len(index_html(rows, today)) + len(index_json(rows, today))
    return {"seconds": time.perf_counter() - start, "bytes": size, "checks": len(rows)}


def _record(folder: Path, lines: int) -> int:
    plan = make_plan(read_settings(Options("reference"), {}, folder), folder / "work")
    with EventWriter(folder / EVENTS_FILE) as writer:
        writer.write("header", **_plain(header(plan)))
        writer.write("declared", **_plain(declared(plan.subject)))
        writer.write("advertised", **_plain(advertised(plan.subject, None)))
        each = lines // len(plan.checks)
        for number, check in enumerate(plan.checks):
            about: dict[str, Any] = {"id": check.requirement, "name": check.name}
            state = State.PASS if number % BROKEN_EACH else State.FAIL
            frames = list(range(number * each + 1, (number + 1) * each + 1))
            seen = {"expected": "it holds", "observed": "x" * 500, "holds": state is State.PASS, "frames": frames}
            writer.write("check-start", **about, level=check.declaration.level, area=check.area)
            writer.write("observation", **about, **_plain(seen))
            writer.write("check-end", **about, state=state, reason="", observed="x" * 500, frames=_plain(frames))
    with (folder / TRANSCRIPT_FILE).open("w", encoding="ascii") as file:
        for number in range(1, lines + 1):
            message = {"jsonrpc": "2.0", "id": number, "result": {"stdout": "y" * LINE_BYTES}}
            line = {"frame": number, "t": 0.1, "worker": 1, "dir": "worker->host", "bytes": LINE_BYTES, "msg": message}
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    return len(plan.checks)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def main(what: str, count: str) -> None:
    """Print the figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as name:
        figures = {"page": one_page, "index": one_list}[what](Path(name), int(count))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({**figures, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
