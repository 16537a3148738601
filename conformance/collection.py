"""Which checks there are, which profile each belongs to, and in which order they run."""

import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.capabilities import claimed
from conformance.checks import Check, declaration_of
from conformance.contract import Contract
from conformance.errors import KitError, UsageFault
from conformance.model import CapabilityKey, Cost, Level, RequirementId
from conformance.nearest import nearest
from conformance.places import SUITES, folder_of
from conformance.subject import Subject

_COST_ORDER = {cost: place for place, cost in enumerate(Cost)}


@dataclass(frozen=True)
class Coverage:
    """Every applicable requirement in exactly one of three places."""

    tested: tuple[RequirementId, ...]
    not_observable: dict[RequirementId, str]
    not_yet: tuple[RequirementId, ...]


def load_checks() -> tuple[Check, ...]:
    """Every check of the installed suites, cheapest first, then in the order of the suites' files.

    Raises `KitError` for two checks with the same requirement and name.
    """
    found: list[Check] = []
    for module_info in pkgutil.iter_modules([str(folder_of(SUITES))]):
        module = importlib.import_module(f"{SUITES}.{module_info.name}")
        for value in vars(module).values():
            declaration = declaration_of(value)
            if declaration is not None and value.__module__ == module.__name__:
                found.append(Check(declaration, module_info.name, value))
    names = [(check.requirement, check.name) for check in found]
    for name in names:
        if names.count(name) > 1:
            raise KitError(f"Two checks are named {name}.")
    return _in_order(found)


def _in_order(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Cheapest first, and of those that cost alike, the ones that run alone last: the others run side by side.

    Checks that use up a lease stand evenly between those that may leave one behind.
    """
    found = list(checks)
    ending = [check for check in found if "doomed" in check.arguments]
    making = [check for check in found if "doomed" not in check.arguments]
    places: dict[Check, tuple[int, bool, float]] = {}
    for cost, place in _COST_ORDER.items():
        for group, late in ((making, 0.0), (ending, 0.9)):
            for alone in (False, True):
                declared = ((check, check.declaration) for check in group)
                alike = [check for check, its in declared if its.cost is cost and its.alone is alone]
                for number, check in enumerate(alike):
                    places[check] = place, alone, (number + late) / len(alike)
    return tuple(sorted(found, key=lambda check: places[check]))


def coverage(contract: Contract, checks: Iterable[Check]) -> Coverage:
    """What this version of the kit judges of one revision."""
    with_checks = {check.requirement for check in checks}
    applicable = [requirement for requirement in contract.requirements.values() if contract.applies(requirement)]
    return Coverage(
        tested=tuple(requirement.id for requirement in applicable if requirement.id in with_checks),
        not_observable={
            requirement.id: requirement.not_observable
            for requirement in applicable
            if requirement.not_observable is not None and requirement.id not in with_checks
        },
        not_yet=tuple(
            requirement.id
            for requirement in applicable
            if requirement.not_observable is None and requirement.id not in with_checks
        ),
    )


def required_ids(contract: Contract, checks: Iterable[Check]) -> dict[str, tuple[RequirementId, ...]]:
    """Per profile the exact ids it requires: its observable MUST rows that have checks in this version of the kit."""
    with_checks = {check.requirement for check in checks}
    required: dict[str, tuple[RequirementId, ...]] = {}
    for name, profile in contract.profiles.items():
        ids = [
            requirement.id
            for requirement in contract.requirements.values()
            if requirement.profile == name or requirement.id in profile.requirements
        ]
        kept = tuple(number for number in ids if _requires(contract, number) and number in with_checks)
        if kept:
            required[name] = kept
    return required


def _requires(contract: Contract, number: RequirementId) -> bool:
    requirement = contract.requirements[number]
    return requirement.level is Level.MUST and requirement.not_observable is None and contract.applies(requirement)


def select_profiles(
    asked: Iterable[str], subject: Subject, required: dict[str, tuple[RequirementId, ...]]
) -> tuple[str, ...]:
    """The profiles to certify: those asked for, else core and one for each capability the package claims.

    Raises `UsageFault` for a name that this revision does not have.
    """
    chosen = tuple(asked)
    for name in chosen:
        if name not in required:
            hint = nearest(name, required)
            guess = f" Did you mean {hint!r}?" if hint else ""
            raise UsageFault(f"There is no profile {name!r}.{guess}", f"Known: {', '.join(required)}.")
    if chosen:
        return tuple(name for name in required if name in chosen)
    claimed_profiles = {rule.profile for key, rule in subject.contract.capabilities.items() if _offered(subject, key)}
    capability_profiles = {rule.profile for rule in subject.contract.capabilities.values()}
    return tuple(name for name in required if name in claimed_profiles or name not in capability_profiles)


def _offered(subject: Subject, key: CapabilityKey) -> bool:
    return claimed(subject.contract, key, subject.driver)
