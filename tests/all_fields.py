"""Every field of every result with every wrong value, live; run by `tox -e fields`, and not with the usual tests."""

from pathlib import Path

import pytest

from conformance.contract import load_contract

from .wrong_fields import complaints, judge_case
from .wrong_values import Case, cases

CONTRACT = load_contract("2026.824")


@pytest.mark.parametrize("case", cases(CONTRACT), ids=lambda case: case.name)
def test_a_wrong_field_is_judged_without_a_fault_of_the_kit(tmp_path: Path, case: Case) -> None:
    assert complaints(CONTRACT, case, judge_case(case, tmp_path)) == []
