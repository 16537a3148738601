"""Which check and which mutant stand for each fault that was seen in the field; and the page that shows it.

python tests/field_faults.py > docs/field-faults.md
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.collection import load_checks
from conformance.fixtures.mutants import all_mutants
from conformance.judge import Result
from conformance.model import Level, State

DATA = Path(__file__).with_name("field-faults.toml")

_HEAD = """\
# Faults from the field, and what finds them

Made by `python tests/field_faults.py`; a test holds it up to date.

Each fault was reported of a real provider, or of a driver that does the same job. It has a **rule** of the contract,
a **check** that fails for just this reason, and a **mutant**: the reference provider with this fault built in. See a
check fail: `pytest --provider mutant:NAME`. A check that only warns judges what the contract does not demand outright.

| fault | | rule | check | mutant |
| --- | --- | --- | --- | --- |
"""

_FREEDOMS = """\

## Where good providers differ

Each of these was seen too, and is no fault. A provider that does it passes; some rules that are no MUST warn of it.

| near fault | what such a provider does | warned of | provider in `tests/lenient_provider.py` |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Proof:
    """`check` of `rule` fails on `by`: a mutant, or, where `slow`, a provider of `tests/slow_provider.py`."""

    rule: str
    check: str
    by: str
    slow: bool = False


@dataclass(frozen=True)
class Fault:
    """A fault in our own words, under its id in the collection of reports; `unproven` says what is missing."""

    id: str
    says: str
    proofs: tuple[Proof, ...]
    unproven: str | None

    def __post_init__(self) -> None:
        """Refuse a fault that neither is proven nor says why not."""
        if not self.proofs and self.unproven is None:
            message = f"{self.id} has neither a proof nor a reason"
            raise ValueError(message)


@dataclass(frozen=True)
class Freedom:
    """What a good provider may do near a fault: `variant` does it; `warned` are rules that warn of it."""

    entry: str
    says: str
    variant: str
    judged: str
    warned: frozenset[str]


def faults() -> tuple[Fault, ...]:
    """Every fault, in the order of the file."""
    return tuple(
        Fault(
            entry["id"],
            entry["says"],
            (
                *(Proof(*proof) for proof in entry.get("proofs", [])),
                *(Proof(*proof, slow=True) for proof in entry.get("slow", [])),
            ),
            entry.get("unproven"),
        )
        for entry in _data()["fault"]
    )


def freedoms() -> tuple[Freedom, ...]:
    """Every freedom, in the order of the file."""
    return tuple(
        Freedom(entry["entry"], entry["says"], entry["variant"], entry["judged"], frozenset(entry.get("warned", [])))
        for entry in _data()["freedom"]
    )


def proofs(*, slow: bool = False) -> tuple[Proof, ...]:
    """All proofs by mutants; or, where `slow`, those that take more than a minute."""
    return tuple(proof for fault in faults() for proof in fault.proofs if proof.slow is slow)


def unseen(mutant: str, results: Sequence[Result]) -> list[str]:
    """The checks that should have found this mutant's fault and did not, in sentences; empty when all did."""
    states = {(result.check.requirement, result.check.name): result.state for result in results}
    return [
        f"{proof.rule} {proof.check} should have found the fault"
        for proof in proofs()
        if proof.by == mutant and states.get(_key(proof)) not in {State.FAIL, State.WARN}
    ]


def page() -> str:
    """The page for the documentation."""
    levels = {(check.requirement, check.name): check.declaration.level for check in load_checks()}
    lines = [line for fault in faults() for line in _rows(fault, levels)]
    free = [
        f"| {freedom.entry} | {freedom.says} | {', '.join(sorted(freedom.warned)) or 'nothing'} | `{freedom.variant}` |"
        for freedom in freedoms()
    ]
    return "\n".join([_HEAD.rstrip("\n"), *lines, _FREEDOMS.rstrip("\n"), *free]) + "\n"


def unknown_names() -> list[str]:
    """Checks and mutants that proofs name and that do not exist, in sentences."""
    checks = {(check.requirement, check.name) for check in load_checks()}
    mutants = all_mutants()
    missing = [f"there is no check {proof.check} of {proof.rule}" for proof in _all() if _key(proof) not in checks]
    return [*missing, *(f"there is no mutant {proof.by}" for proof in proofs() if proof.by not in mutants)]


def _rows(fault: Fault, levels: Mapping[Any, Level]) -> Iterator[str]:
    name, says = fault.id, fault.says
    for proof in fault.proofs:
        warns = " (warns)" if levels[_key(proof)] is not Level.MUST else ""
        by = f"`{proof.by}`, in `tests/slow_provider.py`" if proof.slow else f"`{proof.by}`"
        yield f"| {name} | {says} | {proof.rule} | {proof.check.replace('_', ' ')}{warns} | {by} |"
        name = says = ""
    if fault.unproven is not None:
        yield f"| {name} | {says} | | {fault.unproven} | |"


def _all() -> tuple[Proof, ...]:
    return (*proofs(), *proofs(slow=True))


def _key(proof: Proof) -> Any:
    return proof.rule, proof.check


def _data() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print(page(), end="")
