"""A whole certification of the reference provider: its time, its leases, and what the plugin costs others."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.row import Row

STARTS = 25
"""Pytest runs with the plugin, and as many without."""

MOST_S = 60.0
MILLI = 1e3


def measure() -> list[Row]:
    """The figures of one run, and of many small ones."""
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as folder:
        run = certify(Path(folder), "--provider", "reference")
    before = next((number for number, event in enumerate(run.ends_and_leases) if event == "lease-open"), 0)
    return [
        Row("whole certification of the reference", "time in which a call was open", run.seconds, run.waited, "s", 1.5),
        Row("whole certification of the reference", "-", run.seconds, None, "s", MOST_S),
        Row("leases of a whole certification", "one for each check", run.leases, run.checks, "", 0.1),
        Row(
            "leases opened before the first verdict", "-", float(before == 0), None, "", 0.0, f"{before} verdicts came"
        ),
        _unrelated(),
    ]


@dataclass(frozen=True)
class Run:
    """One certification. `waited`: for how many seconds at least one call was open."""

    seconds: float
    waited: float
    leases: float
    checks: float
    ends_and_leases: tuple[str, ...]


def certify(folder: Path, *arguments: str) -> Run:
    """Certify in a process of its own, and read what it recorded. Raises when it did not certify."""
    started = time.perf_counter()
    argv = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        message = f"the provider was not certified:\n{done.stdout}"
        raise RuntimeError(message)
    report = folder / "conformance-report"
    document: Any = json.loads((report / "certification.json").read_text(encoding="utf-8"))
    events = [event["event"] for event in _lines(report / "events.jsonl")]
    return Run(
        seconds,
        waited(_lines(report / "transcript.jsonl")),
        float(document["leases"]["opened"]),
        float(len(document["checks"])),
        tuple(event for event in events if event in {"check-end", "lease-open"}),
    )


def waited(frames: Iterable[dict[str, Any]], most: float = float("inf")) -> float:
    """For how many seconds at least one call was open, each counted no longer than `most`."""
    sent: dict[tuple[int, object], float] = {}
    open_times: list[tuple[float, float]] = []
    for frame in frames:
        message = frame.get("msg", frame.get("cut"))
        match (frame["dir"], message):
            case ("host->worker", {"id": number, "method": _}):
                sent[frame["worker"], number] = frame["t"]
            case ("host->worker", str(text)) if '"method":' in text and '"id":' in text:
                sent[frame["worker"], _id_in(text)] = frame["t"]
            case ("worker->host", {"id": number}) if (frame["worker"], number) in sent:
                open_times.append((sent.pop((frame["worker"], number)), frame["t"]))
            case ("worker->host", str(text)) if (frame["worker"], _id_in(text)) in sent:
                open_times.append((sent.pop((frame["worker"], _id_in(text))), frame["t"]))
            case _:
                continue
    return _covered((start, min(end, start + most)) for start, end in open_times)


def _covered(times: Iterable[tuple[float, float]]) -> float:
    total, until = 0.0, 0.0
    for start, end in sorted(times):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _id_in(text: str) -> object:
    return json.JSONDecoder().raw_decode(text.partition('"id":')[2].lstrip())[0] if '"id":' in text else None


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _unrelated() -> Row:
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as name:
        folder = Path(name)
        (folder / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}

        def start(*arguments: str) -> float:
            before = _children_s()
            argv = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
            quiet = subprocess.DEVNULL
            subprocess.run(argv, cwd=folder, env=environment, stdout=quiet, stderr=quiet, check=True)
            return _children_s() - before

        having, lacking = list[float](), list[float]()
        for _ in range(STARTS):
            having.append(start())
            lacking.append(start("-p", "no:sandbox-provider-conformance"))
    least_with, least_without = (statistics.fmean(sorted(times)[: STARTS // 3]) for times in (having, lacking))
    return Row(
        "an unrelated pytest run, longer by",
        "-",
        (least_with - least_without) * MILLI,
        None,
        "ms",
        10.0,
        f"{least_with * MILLI:.0f} ms of the processor with the plugin, {least_without * MILLI:.0f} ms without",
    )


def _children_s() -> float:
    # Time of the processor, because a start takes a second on the clock and the difference is a thousandth of it.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
