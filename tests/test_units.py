"""Checks that use the same leases stay together in one process."""

from conformance.collection import load_checks
from conformance.model import Cost
from conformance.room import shared_of, takes_leftover
from conformance.units import units

CHECKS = load_checks()
UNITS = units(CHECKS)


def test_every_check_is_in_a_unit() -> None:
    assert UNITS.keys() == set(CHECKS)


def test_no_shared_lease_is_needed_in_two_units() -> None:
    used: dict[str, set[str]] = {}
    for check, unit in UNITS.items():
        for kind in shared_of(check):
            used.setdefault(kind, set()).add(unit)

    assert used
    assert all(len(names) == 1 for names in used.values()), used


def test_those_that_can_use_what_others_leave_are_with_them() -> None:
    takers = {UNITS[check] for check in CHECKS if takes_leftover(check) and not shared_of(check)}

    assert len(takers) == 1


def test_free_checks_are_shared_out_by_area_before_any_other() -> None:
    free = [check for check in CHECKS if check.declaration.cost is Cost.FREE]

    assert {UNITS[check] for check in free} == {f"free, {check.area}" for check in free}
    assert list(CHECKS[: len(free)]) == free
