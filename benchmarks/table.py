"""Figures as a Markdown table, a page and JSON."""

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.row import Row

HEAD = (
    "| what | against | kit | other | ratio | at most | kept | note |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | --- | --- |"
)
NOTHING = "-"


def as_table(rows: Sequence[Row]) -> str:
    """One line a figure."""
    return "\n".join([HEAD, *map(_line, rows)])


def as_json(rows: Sequence[Row]) -> str:
    """Every field of every figure, with what follows from them, and where it was measured."""
    figures = [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in rows]
    return json.dumps({**machine(), "figures": figures}, indent=2, ensure_ascii=False) + "\n"


def as_page(rows: Sequence[Row]) -> str:
    """The page of the documentation."""
    measured = "".join(f"* {name}: {value}\n" for name, value in machine().items())
    return (
        "# Benchmarks\n\n"
        "`python -m benchmarks [NAME ...]` in a checkout, or `tox -e bench`. Each figure is a ratio in one run: both\n"
        "sides are measured in turn on the same machine, and medians are compared; the times are for orientation.\n\n"
        f"{measured}\n{as_table(rows)}\n"
    )


def machine() -> dict[str, str]:
    """Where and when it was measured."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": f"{len(os.sched_getaffinity(0))} x {_processor()}",
        "load": f"{os.getloadavg()[0]:.1f} in the last minute",
        "python": platform.python_version(),
        "node": _version_of("node"),
    }


def _line(row: Row) -> str:
    other = NOTHING if row.theirs is None else f"{_number(row.theirs)} {row.unit}"
    ratio = NOTHING if row.ratio is None else f"{row.ratio:.2f}"
    limit = NOTHING if row.limit is None else f"{row.limit:g}{'' if row.ratio is not None else f' {row.unit}'}"
    kept = {True: "yes", False: "**no**", None: NOTHING}[row.met]
    return (
        f"| {row.what} | {row.against} | {_number(row.ours)} {row.unit} | {other} | {ratio} | {limit} | {kept} "
        f"| {row.note} |"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version_of(program: str) -> str:
    if shutil.which(program) is None:
        return "none"
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
