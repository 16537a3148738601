"""Faults from the field that take more than a minute to show; run by `tox -e slow`, and not with the usual tests."""

from pathlib import Path

import pytest

from conformance.model import RequirementId, State

from .field_faults import Proof, proofs
from .lenient import states_of

LONG_CONFIG = '{"timeoutMs": 90000}'

SCRIPT = Path(__file__).with_name("slow_provider.py")


@pytest.mark.parametrize("proof", proofs(slow=True), ids=lambda proof: proof.by)
def test_a_slow_fault_is_found(tmp_path: Path, proof: Proof) -> None:
    rule = RequirementId(proof.rule)

    faulty, patient = (
        states_of(name, tmp_path, rule, script=SCRIPT, config=LONG_CONFIG)[rule] for name in (proof.by, "Patient")
    )

    assert faulty == {State.PASS, State.WARN}
    assert patient == {State.PASS}
