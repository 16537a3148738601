"""Every field of every result, wrong: the contract names it, and the kit stays on its feet.

The live part takes a few cases, the same each time; `tox -e fields` takes them all.
"""

import json
import random
from pathlib import Path

import pytest

from conformance.contract import load_contract
from conformance.model import MethodName

from .wrong_fields import MEETING, complaints, judge_case
from .wrong_values import ABSENT, EXTRA, VALUES, Case, cases, put, sample_of, types_at

CONTRACT = load_contract("2026.824")
CASES = cases(CONTRACT)
SAMPLE = random.Random(824).sample([case for case in CASES if case.method in MEETING], 4)  # noqa: S311 - the same each time
PLAIN = {"null": "null", "true": "boolean", "zero": "integer", "a word": "string", "an empty list": "array"}


def readable() -> list[tuple[Case, object]]:
    found: list[tuple[Case, object]] = []
    for case in CASES:
        literal = VALUES[case.value]
        if literal is None or not ("deep" in case.value or "digits" in case.value):
            found.append((case, json.loads(literal or "null")))
    return found


def test_the_samples_are_right() -> None:
    for method in CONTRACT.methods:
        found = CONTRACT.result_problems(MethodName(method), sample_of(CONTRACT, method))

        assert [problem for problem in found if problem.severity == "error"] == [], method


def test_a_problem_names_its_field_where_the_value_is_of_another_type_and_nowhere_else() -> None:
    for case, value in readable():
        found = CONTRACT.result_problems(MethodName(case.method), put(sample_of(CONTRACT, case.method), case, value))
        kind, allowed = PLAIN.get(case.value), types_at(CONTRACT, case)
        if case.value == EXTRA:
            assert found == (), case.name
        elif case.value != ABSENT and kind is not None and allowed:
            fits = kind in allowed or (kind == "integer" and "number" in allowed)
            assert fits or found, case.name
        for problem in found:
            last = problem.path.rpartition(".")[2]
            # A wrong ok or type may make another field necessary, or wrong.
            assert not case.path or case.field in problem.path or last in {"errors", "command"}, (case.name, problem)
            assert len(problem.message) < 400, case.name


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_wrong_field_is_judged_without_a_fault_of_the_kit(tmp_path: Path, case: Case) -> None:
    assert complaints(CONTRACT, case, judge_case(case, tmp_path)) == []
