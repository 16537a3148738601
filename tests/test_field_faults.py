"""The faults from the field: every one has its check and its mutant, and what is no fault fails nobody.

That the named check fails on the named mutant is seen by the kill loop.
"""

import re
from pathlib import Path

import pytest

from conformance.model import State

from .contract.shared_contract import CONTRACT, needs_documents
from .field_faults import Freedom, faults, freedoms, page, unknown_names
from .lenient import states_of

PAGE = Path(__file__).parents[1] / "docs" / "field-faults.md"
FINE = {State.PASS, State.NOT_APPLICABLE, State.UNSUPPORTED}


@needs_documents
def test_no_reported_fault_is_left_out() -> None:
    reports = (CONTRACT.parent / "field-bugs.md").read_text(encoding="utf-8")

    assert sorted(fault.id for fault in faults()) == sorted(re.findall(r"^### ([A-Z]+-\d\d) ", reports, re.MULTILINE))


def test_proofs_name_checks_and_mutants_that_exist() -> None:
    assert unknown_names() == []


def test_the_page_of_field_faults_is_up_to_date() -> None:
    hint = "make it again: python tests/field_faults.py > docs/field-faults.md"

    assert PAGE.read_text(encoding="utf-8") == page(), hint


@pytest.mark.parametrize("freedom", freedoms(), ids=lambda freedom: freedom.variant)
def test_where_good_providers_differ_none_is_failed(tmp_path: Path, freedom: Freedom) -> None:
    states = states_of(freedom.variant, tmp_path, freedom.judged)

    assert {number for number, seen in states.items() if not seen <= FINE} == freedom.warned
    assert all(seen <= FINE | {State.WARN} for seen in states.values())
