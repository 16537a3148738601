"""Files in and out, natively and over commands, against `tar` over a pipe on the same machine."""

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.row import Row, side_process
from benchmarks.transfers import MANY_FILES, ONE_BYTES, large_file, many_files
from conformance.files.disk import build

ROUNDS = 3
MIB = 1 << 20
MOST_MIB = 150.0
AT_MOST = {"one": 1.5, "many": 3.0}
NAMES = {"one": f"one file of {ONE_BYTES // 1_000_000} MB", "many": f"{MANY_FILES:,} small files"}
WAYS = {"native": "native sync", "fallback": "over commands"}
NOTE = "all but the provider's time"


def measure() -> list[Row]:
    """Both ways, both shapes, both directions."""
    rows: list[Row] = []
    for shape, name in NAMES.items():
        tar, kit = _measured(shape)
        against = f"tar over a pipe, {name}"
        rows += [
            Row(f"{name}, {direction}, {text}", against, kit[way, direction], tar, "s", AT_MOST[shape], NOTE)
            for way, text in WAYS.items()
            for direction in ("in", "out")
        ]
        rows += [
            Row(f"{name}, {text}, peak memory of the kit", "-", kit[way, "peak"] / MIB, None, "MiB", MOST_MIB)
            for way, text in WAYS.items()
        ]
    return rows


def _measured(shape: str) -> tuple[float, dict[tuple[str, str], float]]:
    tar: list[float] = []
    kit: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for way in WAYS:
            tar.append(_tar(shape))
            for figure, value in side_process("benchmarks.transfers", way, shape).items():
                kit.setdefault((way, figure), []).append(value)
    middle = {key: max(values) if key[1] == "peak" else statistics.median(values) for key, values in kit.items()}
    return statistics.median(tar), middle


def _tar(shape: str) -> float:
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as name:
        source, target = Path(name, "source"), Path(name, "target")
        target.mkdir()
        if shape == "one":
            source.mkdir()
            large_file(source)
        else:
            build(many_files(), source)
        started = time.perf_counter()
        subprocess.run(["sh", "-c", 'tar -cf - -C "$0" . | tar -xf - -C "$1"', source, target], check=True)
        return time.perf_counter() - started
