"""The catalogue holds every requirement, exactly, and says enough to act on each."""

import csv
from collections.abc import Mapping

import pytest

from conformance.contract import Contract, Requirement, load_contract
from conformance.contract.catalogue import AREAS
from conformance.model import Level, RequirementId
from tests.contract.shared_contract import CONTRACT, needs_documents

NOT_OBSERVABLE = {
    "INIT-010",
    "CAP-006",
    "LEASE-031",
    "LEASE-032",
    "LEASE-037",
}


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


@pytest.fixture(scope="module")
def rows() -> Mapping[str, Mapping[str, str]]:
    with (CONTRACT / "requirements.csv").open(encoding="utf-8", newline="") as stream:
        return {row["id"]: row for row in csv.DictReader(stream)}


@needs_documents
def test_ids_levels_and_revisions_are_those_of_the_document(
    contract: Contract, rows: Mapping[str, Mapping[str, str]]
) -> None:
    ours = {
        requirement.id: (requirement.level.value, requirement.since, requirement.until)
        for requirement in contract.requirements.values()
    }

    assert ours == {
        identity: (row["level"], row["since"].removesuffix(".1"), row["until"].removesuffix(".1") or None)
        for identity, row in rows.items()
    }
    assert len(ours) == 260


def test_areas_follow_the_conversation(contract: Contract) -> None:
    seen = list(dict.fromkeys(requirement.area for requirement in contract.requirements.values()))

    assert tuple(seen) == AREAS


def test_what_binds_this_revision_says_why_and_what_breaks_it(contract: Contract) -> None:
    silent = [
        requirement.id
        for requirement in contract.requirements.values()
        if contract.applies(requirement)
        and requirement.level is not Level.MAY
        and (requirement.why is None or requirement.usually is None)
    ]

    assert silent == []


def test_what_cannot_be_observed_is_a_short_list(contract: Contract) -> None:
    hidden = {
        requirement.id
        for requirement in contract.requirements.values()
        if requirement.not_observable is not None and requirement.level is not Level.MAY
    }

    assert hidden == NOT_OBSERVABLE


def test_every_profile_has_requirements(contract: Contract) -> None:
    homes = {requirement.profile for requirement in contract.requirements.values()}

    for profile in contract.profiles.values():
        assert profile.name in homes or profile.requirements


@pytest.mark.parametrize(
    ("identity", "profile"),
    [
        ("LEASE-015", "core"),
        ("LEASE-016", "reusable-leases"),
        ("LEASE-017", "reusable-leases"),
        ("LEASE-020", "core"),
        ("LEASE-028", "reusable-leases"),
        ("LEASE-034", "core"),
        ("SESS-001", "persistent-sessions"),
        ("STREAM-007", "core"),
        ("STREAM-008", "incremental-output"),
        ("SYNC-004", "native-sync"),
        ("SYNC-024", "concurrent-sync"),
        ("DUPLEX-001", "duplex-stream"),
        ("INGRESS-001", "runner-ingress"),
        ("FALL-001", "core"),
    ],
)
def test_the_home_of_a_requirement(contract: Contract, identity: str, profile: str) -> None:
    assert contract.requirements[RequirementId(identity)].profile == profile


@pytest.mark.parametrize(
    ("identity", "applies"),
    [("MAN-001", True), ("MAN-015", False), ("LEASE-029", True), ("LEASE-030", False), ("PTY-002", True)],
)
def test_which_rows_hold_in_this_revision(contract: Contract, identity: str, *, applies: bool) -> None:
    requirement: Requirement = contract.requirements[RequirementId(identity)]

    assert contract.applies(requirement) is applies
