"""Leases in the kit's own hands: ids made up, dates read, the ledger's word, and what a run costs and leaves behind."""

import asyncio
import random
import re
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.fixtures.mutants import find_mutant
from conformance.host.lease import Keeper
from conformance.host.tenant import Tenant, host_time
from conformance.ledger import Ending, Ledger
from conformance.shared import TRIES
from conformance.states import ENOUGH_DIGITS, NOBODY, another_id, moment_of, no_lease

from .kill import Judged, judge_provider

SEEDS = st.integers(0, 2**32)
LEASE_ROWS = tuple(f"LEASE-{number:03}" for number in range(1, 39))


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - ids that can be repeated


def judged(source: str, only: Collection[str]) -> Judged:
    return asyncio.run(judge_provider(source, only))


@given(SEEDS, st.from_regex(rf"[a-z]{{1,8}}-[0-9]{{{ENOUGH_DIGITS},40}}", fullmatch=True))
def test_another_id_with_digits_enough_keeps_its_shape(seed: int, name: str) -> None:
    other = another_id(dice(seed), name)

    assert other != name
    assert re.sub(r"\d", "0", other) == re.sub(r"\d", "0", name)


@given(SEEDS, st.text(st.characters(codec="ascii", exclude_characters="0123456789"), max_size=20))
def test_another_id_of_a_name_without_digits_is_longer(seed: int, name: str) -> None:
    other = another_id(dice(seed), name)

    assert other.startswith(name)
    assert len(other) > len(name) + ENOUGH_DIGITS


@given(st.floats(-1e8, 1e8))
def test_a_date_of_the_host_is_read_as_the_moment_it_names(distance: float) -> None:
    sooner, later = host_time(distance), host_time(distance + 1)
    first, second = moment_of(sooner), moment_of(later)

    assert first is not None
    assert second is not None
    assert 0.9 < second - first < 1.5


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T01:00:00.500+01:00", 0.5),
        ("Thu, 01 Jan 1970 00:00:02 GMT", 2.0),
        ("in an hour", None),
        ("", None),
        (86_400, None),
        (None, None),
    ],
)
def test_a_date_is_read_in_every_form_that_the_host_accepts(text: object, moment: float | None) -> None:
    assert moment_of(text) == moment


def test_no_lease_brings_nothing_of_the_provider_along() -> None:
    tenant = Tenant.make(dice(1))
    keeper = Keeper("driver", "plugin", frozenset({"remoteCwd"}), frozenset())
    result = {"providerLeaseId": "id-1", "metadata": {"remoteCwd": "/w", "own": 1}}
    lease = keeper.lease("L1", tenant, {"config": {"size": 2}, "agentId": tenant.agent}, result)

    assert lease is not None
    nothing = no_lease(lease)
    assert (nothing.id, nothing.label, nothing.metadata) == (None, NOBODY, {})
    assert nothing.record.keys() == lease.record.keys() - {"remoteCwd", "own"}
    assert nothing.config["size"] == 2


# --- the ledger's word


def ledger_with_a_closed_lease(ending: Ending) -> tuple[Ledger, str]:
    tenant = Tenant.make(dice(1))
    keeper = Keeper("driver", "plugin", frozenset(), frozenset())
    ledger = Ledger()
    entry = ledger.intend("check")
    entry.held = keeper.lease(entry.label, tenant, {}, {"providerLeaseId": "id-1"})
    ledger.settle(entry, ending)
    return ledger, entry.label


@pytest.mark.parametrize("ending", [Ending.RELEASED, Ending.DESTROYED])
def test_a_lease_found_alive_is_unknown_until_another_word_closes_it(ending: Ending) -> None:
    ledger, label = ledger_with_a_closed_lease(ending)
    other = ({Ending.RELEASED, Ending.DESTROYED} - {ending}).pop()

    ledger.doubt(label)
    assert [entry.ending for entry in ledger.open_entries()] == [Ending.UNKNOWN]
    ledger.settle_lease(label, ending)
    assert [entry.ending for entry in ledger.open_entries()] == [Ending.UNKNOWN]
    ledger.settle_lease(label, other)
    assert ledger.open_entries() == []
    told = [event.get("how", "open") for event in ledger.take_events()]
    assert told == ["open", str(ending), "open", "unknown", str(other)]


def test_a_lease_that_is_still_open_is_not_doubted() -> None:
    ledger = Ledger()
    label = ledger.intend("check").label

    ledger.doubt(label)

    assert [event["event"] for event in ledger.take_events()] == ["lease-open"]


# --- what a run costs, and what it leaves behind


def test_the_leases_of_a_good_provider_are_all_closed() -> None:
    leases = judged("reference", LEASE_ROWS).report.leases

    assert leases.opened > 0
    assert (leases.closed, leases.unknown) == (leases.opened, 0)


@pytest.mark.parametrize(
    ("name", "unknown"),
    [("orphan-is-not-destroyed", 1), ("acquire-without-id", 1), ("single-use-sandbox-is-kept", 0)],
)
def test_a_sandbox_that_may_still_be_there_is_unknown(name: str, unknown: int) -> None:
    leases = judged(f"mutant:{name}", find_mutant(name).breaks).report.leases

    assert (leases.unknown, leases.closed) == (unknown, leases.opened - unknown)


def test_where_no_lease_can_be_made_few_are_tried() -> None:
    shared = (
        "LEASE-003",
        "LEASE-004",
        "LEASE-005",
        "LEASE-006",
        "LEASE-007",
        "LEASE-008",
        "WS-001",
        "WS-003",
        "WS-004",
    )

    leases = judged("mutant:acquire-without-id", shared).report.leases

    # The shared lease and the kept one; no check acquires one of its own.
    assert leases.opened <= 2 * TRIES
