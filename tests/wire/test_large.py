"""Lines at the limit of the host: 134,217,728 units are read, one more is dropped, and memory stays bounded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance.wire.lines import MAX_LINE_UNITS

MIB_OF_A_LINE = MAX_LINE_UNITS / 2**20


def run(units: int) -> dict[str, Any]:
    program = Path(__file__).with_name("large.py")
    done = subprocess.run([sys.executable, str(program), str(units)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_line_of_128_mi_units_works() -> None:
    seen = run(MAX_LINE_UNITS)

    assert seen["outcome"] is True
    assert seen["after"] == "still here"
    assert seen["broken"] == []
    assert seen["peak_mib"] < 5 * MIB_OF_A_LINE


def test_a_longer_line_is_dropped_and_costs_no_more_than_the_limit() -> None:
    seen = run(3 * MAX_LINE_UNITS)

    assert seen["outcome"] == "RPC-020"
    assert seen["after"] == "still here"
    assert seen["broken"] == ["RPC-020"]
    assert seen["size"] == 3 * MAX_LINE_UNITS
    assert seen["peak_mib"] < 2.5 * MIB_OF_A_LINE


def test_one_unit_too_many_is_too_many() -> None:
    assert run(MAX_LINE_UNITS + 1)["broken"] == ["RPC-020"]
