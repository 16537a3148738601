"""The kill loop: each mutant fails what it names and nothing else, and every check has a mutant that it kills."""

import asyncio

import pytest

from conformance.collection import load_checks
from conformance.contract import load_contract
from conformance.fixtures.mutants import all_mutants, mutants_by_requirement
from conformance.settings import DEFAULT_REVISION

from .field_faults import unseen
from .kill import complaints, is_near, judge_provider

MUTANTS = all_mutants()


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_fails_what_it_names_and_nothing_else(name: str, kill_with_every_check: bool) -> None:  # noqa: FBT001
    mutant = MUTANTS[name]

    judged = asyncio.run(
        judge_provider(f"mutant:{name}", choose=lambda check: kill_with_every_check or is_near(mutant, check))
    )

    assert [*complaints(mutant, judged), *unseen(name, judged.results)] == []


def test_every_rule_with_a_check_has_a_mutant_that_breaks_it() -> None:
    contract = load_contract(DEFAULT_REVISION)
    judged = {
        check.requirement for check in load_checks() if contract.applies(contract.requirements[check.requirement])
    }

    assert judged - set(mutants_by_requirement()) == set()


def test_a_check_states_what_the_catalogue_says_of_its_rule() -> None:
    rules = load_contract(DEFAULT_REVISION).requirements
    strength = {"MUST": 2, "SHOULD": 1, "MAY": 0}
    for check in load_checks():
        rule = rules[check.requirement]
        assert check.declaration.since == rule.since, check.name
        assert strength[check.declaration.level] <= strength[rule.level], check.name
        # A rehearsal stands under the rule of its decisive step, whatever its area.
        assert check.area in {rule.area, "rehearsal", "resilience"}, check.name


def test_mutants_name_rules_that_exist() -> None:
    known = set(load_contract(DEFAULT_REVISION).requirements)

    assert {number for mutant in MUTANTS.values() for number in (*mutant.breaks, *mutant.blocks)} - known == set()
