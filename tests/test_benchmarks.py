"""The runner of the benchmarks and its arithmetic; what they measure is measured by `tox -e bench`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

SHOW = """
import json, sys
sys.path.append(sys.argv[1])
from benchmarks.certify import waited
from benchmarks.row import Row, interleaved
from benchmarks.table import as_json, as_table
rows = [
    Row("quick", "tar", 3.0, 2.0, "s", 1.5),
    Row("slow", "tar", 3.1, 2.0, "s", 1.5, "a note"),
    Row("small", "-", 149.0, None, "MiB", 150.0),
    Row("shown", "tar", 1.0, 4.0, "s", None),
]
sides = iter([1.0, 10.0, 30.0, 3.0, 2.0, 20.0])
middle = interleaved((lambda: next(sides), lambda: next(sides)), 3)
frames = [
    {"worker": 1, "dir": "host->worker", "t": 1.0, "msg": {"id": 1, "method": "a"}},
    {"worker": 1, "dir": "host->worker", "t": 2.0, "cut": '{"jsonrpc":"2.0","id":2,"method":"b","params":"xx'},
    {"worker": 2, "dir": "worker->host", "t": 2.5, "msg": {"id": 1, "result": None}},
    {"worker": 1, "dir": "worker->host", "t": 3.0, "msg": {"id": 1, "result": None}},
    {"worker": 1, "dir": "worker->host", "t": 5.0, "cut": '{"jsonrpc":"2.0","id":2,"result":"xx'},
    {"worker": 1, "dir": "host->worker", "t": 7.0, "msg": {"id": 3, "method": "c"}},
    {"worker": 1, "dir": "worker->host", "t": 8.0, "msg": {"id": 3, "error": {}}},
]
print(json.dumps([as_table(rows), json.loads(as_json(rows)), middle, waited(frames)]))
"""


def test_the_runner_knows_every_benchmark_and_nothing_else() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    argv = [sys.executable, "-m", "benchmarks", "nothing"]

    run = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert run.returncode == 2
    assert "there are certify, files, reports, rpc, slow" in run.stderr


def test_figures_are_ratios_of_medians_and_limits_are_held_against_them() -> None:
    argv = [sys.executable, "-P", "-c", SHOW, str(ROOT)]
    table, told, middle, waited = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

    lines: list[str] = table.splitlines()
    figures: list[dict[str, Any]] = told["figures"]
    assert lines[3:] == [
        "| slow | tar | 3.1 s | 2 s | 1.55 | 1.5 | **no** | a note |",
        "| small | - | 149 MiB | - | - | 150 MiB | yes |  |",
        "| shown | tar | 1 s | 4 s | 0.25 | - | - |  |",
    ]
    assert [figure["met"] for figure in figures] == [True, False, True, None]
    assert [figure["ratio"] for figure in figures] == [1.5, 1.55, None, 0.25]
    # The second round is measured the other way round.
    assert middle == [2.0, 20.0]
    # Two calls overlap from 1 to 5, and one is open from 7 to 8.
    assert waited == 5.0
