"""The resolver gives the host's answers: `effective = verified ∩ declared ∩ narrowing`, failing closed."""

from dataclasses import FrozenInstanceError
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.capabilities import (
    Snapshot,
    claimed,
    declared_capabilities,
    every_situation,
    identify,
    lease_situations,
    refused,
    resolve,
    verified_methods,
)
from conformance.checks import Capability
from conformance.contract import Contract, load_contract
from conformance.model import CapabilityKey, JsonObject, Situation

REUSE = Capability.REUSABLE_LEASES
LIVE = Capability.INCREMENTAL_SESSION_OUTPUT
SYNC = {Capability.NATIVE_SYNC_IN, Capability.NATIVE_SYNC_OUT}
SESSIONS = Capability.PERSISTENT_PROCESS_SESSIONS
CONTROL = Capability.INDEPENDENT_CONTROL_COMMANDS

OPT_IN = [REUSE, LIVE]
DEFERRING = [*sorted(SYNC), SESSIONS, CONTROL]
KEYS = [*OPT_IN, *DEFERRING]

LEASE_METHODS = ("environmentResumeLease", "environmentReleaseLease", "environmentDestroyLease")
ALL_METHODS = frozenset({*LEASE_METHODS, "environmentSyncIn", "environmentSyncOut", "environmentExecute"})
NEEDS = {
    REUSE: frozenset(LEASE_METHODS),
    Capability.NATIVE_SYNC_IN: frozenset({"environmentSyncIn"}),
    Capability.NATIVE_SYNC_OUT: frozenset({"environmentSyncOut"}),
    SESSIONS: frozenset({"environmentExecute"}),
    CONTROL: frozenset({"environmentExecute"}),
    LIVE: frozenset({"environmentExecute"}),
}
"""Copied from the contract document, not from the contract data: the data is what is tested."""

REMOVED = {
    Situation.PLAIN: frozenset[CapabilityKey](),
    Situation.REUSABLE_LEASE: frozenset[CapabilityKey](),
    Situation.EPHEMERAL_LEASE: frozenset({REUSE}),
    Situation.JOB_LEASE: frozenset(SYNC),
    Situation.NATIVE_SYNC_UNSUPPORTED: frozenset(SYNC),
    Situation.CONFIG_FAILURE: frozenset({SESSIONS, LIVE}),
    Situation.IDENTITY_FAILURE: frozenset(KEYS),
}
"""What each situation takes away, from the contract document."""

LEGACY = "supportsReusableLeases"


@cache
def contract() -> Contract:
    return load_contract("2026.824")


def driver(nested: object = None, **more: Any) -> dict[str, Any]:
    """A driver of the right kind; `nested` None leaves `sandboxCapabilities` out."""
    declaration = {} if nested is None else {"sandboxCapabilities": nested}
    return {"driverKey": "cloud", "kind": "sandbox_provider", **declaration, **more}


def effective(subject: JsonObject, verified: frozenset[str] = ALL_METHODS, *situations: Situation) -> set[str]:
    return set(resolve(contract(), verified=verified, driver=subject, situations=situations).effective)


# -- one key: what is declared, what is verified


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("methods_are_there", [True, False])
@pytest.mark.parametrize("declared", [None, False, True])
def test_one_key(*, key: CapabilityKey, declared: bool | None, methods_are_there: bool) -> None:
    nested = {} if declared is None else {str(key): declared}
    verified = ALL_METHODS if methods_are_there else ALL_METHODS - NEEDS[key]

    on = key in effective(driver(nested), verified)

    granted = declared if declared is not None else key in DEFERRING
    assert on == (methods_are_there and granted)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("declared", [None, False, True])
def test_a_narrowed_key_is_off_whatever_is_declared(*, key: CapabilityKey, declared: bool | None) -> None:
    nested = {} if declared is None else {str(key): declared}

    for situation, removed in REMOVED.items():
        if key in removed:
            assert key not in effective(driver(nested), ALL_METHODS, situation)


@pytest.mark.parametrize("missing", LEASE_METHODS)
def test_reuse_needs_all_three_lease_methods(missing: str) -> None:
    assert REUSE not in effective(driver({"reusableLeases": True}), ALL_METHODS - {missing})


def test_reuse_needs_no_other_method() -> None:
    assert effective(driver({"reusableLeases": True}), frozenset(LEASE_METHODS)) == {REUSE}


@pytest.mark.parametrize(
    ("there", "on"), [("environmentSyncIn", "nativeSyncIn"), ("environmentSyncOut", "nativeSyncOut")]
)
def test_each_direction_of_sync_needs_its_own_method(there: str, on: str) -> None:
    assert effective(driver(), frozenset({there})) == {on}


def test_no_declaration_at_all_defers_to_the_worker_except_for_the_two_opt_in_keys() -> None:
    assert effective(driver()) == effective(driver({})) == set(DEFERRING)


# -- the legacy flag


@pytest.mark.parametrize(
    ("legacy", "nested", "folded", "granted"),
    [
        (None, None, None, False),
        (True, None, True, True),
        (False, None, False, False),
        (None, True, True, True),
        (None, False, False, False),
        (True, False, False, False),
        (False, True, True, True),
        (True, True, True, True),
        (False, False, False, False),
    ],
)
def test_the_legacy_flag_is_folded_in_and_a_nested_value_wins(
    *, legacy: bool | None, nested: bool | None, folded: bool | None, granted: bool
) -> None:
    flags = {} if legacy is None else {LEGACY: legacy}
    subject = driver(None if nested is None else {"reusableLeases": nested}, **flags)

    assert declared_capabilities(contract(), subject)[REUSE] is folded
    assert (REUSE in resolve(contract(), verified=ALL_METHODS, driver=subject).effective) is granted
    assert claimed(contract(), REUSE, subject) is granted


def test_the_legacy_flag_speaks_of_reuse_alone() -> None:
    assert effective(driver(**{LEGACY: True})) == {REUSE, *DEFERRING}


# -- narrowing


def test_the_contract_data_narrows_what_the_document_says() -> None:
    assert {rule.situation: rule.removes for rule in contract().narrowings} == REMOVED


@pytest.mark.parametrize("situation", list(Situation))
def test_every_situation_takes_away_its_keys_and_no_others(situation: Situation) -> None:
    everything = {str(key): True for key in KEYS}

    assert effective(driver(everything), ALL_METHODS, situation) == set(KEYS) - REMOVED[situation]


def test_the_table_of_situations_has_a_row_for_each() -> None:
    table = every_situation(contract(), verified=ALL_METHODS, driver=driver({str(key): True for key in KEYS}))

    assert {situation: set(KEYS) - row.effective for situation, row in table.items()} == REMOVED


NOTHING = set[Situation]()


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({}, NOTHING),
        ({"backend": "job"}, {Situation.JOB_LEASE}),
        ({"backend": "Job"}, NOTHING),
        ({"backend": "pod"}, NOTHING),
        ({"backend": ["job"]}, NOTHING),
        ({"nativeFileSyncUnsupported": True}, {Situation.NATIVE_SYNC_UNSUPPORTED}),
        ({"nativeFileSyncUnsupported": "true"}, NOTHING),
        ({"nativeFileSyncUnsupported": 1}, NOTHING),
        ({"nativeFileSyncUnsupported": False}, NOTHING),
        ({"nativeFileSyncUnsupported": None}, NOTHING),
        (
            {"backend": "job", "nativeFileSyncUnsupported": True},
            {Situation.JOB_LEASE, Situation.NATIVE_SYNC_UNSUPPORTED},
        ),
    ],
)
@pytest.mark.parametrize("reusable", [True, False])
def test_lease_metadata_narrows_by_exact_values_only(
    *, metadata: JsonObject, found: set[Situation], reusable: bool
) -> None:
    policy = Situation.REUSABLE_LEASE if reusable else Situation.EPHEMERAL_LEASE

    assert lease_situations(metadata, reusable=reusable) == found | {policy}


# -- identity


INSTALLED: JsonObject = {
    "acme.cloud": {
        "environmentDrivers": [
            {"driverKey": "other", "kind": "environment_driver"},
            driver({"reusableLeases": True}),
            {"driverKey": "kindless"},
        ]
    },
    "broken": {"environmentDrivers": "none"},
    "empty": {},
    "no-object": None,
}


@pytest.mark.parametrize(
    ("plugin", "key"),
    [
        ("gone", "cloud"),
        (None, "cloud"),
        ("", "cloud"),
        ("acme.cloud", None),
        ("acme.cloud", ""),
        ("acme.cloud", "renamed"),
        ("acme.cloud", "other"),
        ("acme.cloud", "kindless"),
        ("broken", "cloud"),
        ("empty", "cloud"),
        ("no-object", "cloud"),
    ],
)
def test_a_lease_whose_exact_plugin_is_not_there_gets_nothing(plugin: str | None, key: str | None) -> None:
    found = identify(INSTALLED, plugin, key)

    assert found is None
    assert resolve(contract(), verified=ALL_METHODS, driver=found).effective == frozenset()


def test_the_exact_plugin_is_found() -> None:
    found = identify(INSTALLED, "acme.cloud", "cloud")

    assert REUSE in resolve(contract(), verified=ALL_METHODS, driver=found).effective


@pytest.mark.parametrize("kind", ["environment_driver", "sandbox", None])
def test_a_driver_of_another_kind_gets_nothing(kind: str | None) -> None:
    assert effective(driver({str(key): True for key in KEYS}, kind=kind)) == set()
    assert not claimed(contract(), SESSIONS, driver(kind=kind))


def test_a_plugin_without_any_driver_gets_nothing() -> None:
    assert resolve(contract(), verified=ALL_METHODS, driver={}).effective == frozenset()


@pytest.mark.parametrize(
    "nested",
    [
        {"concurrentSyncAndExec": True},
        {"concurrentSyncOperations": False},
        {"duplexCommandStream": True},
        {"reusableLeases": True, "ReusableLeases": True},
        {"nativeSyncIn": None},
        {"nativeSyncIn": "true"},
        {"nativeSyncIn": 1},
        [],
        "all",
    ],
)
def test_a_declaration_that_the_host_refuses_grants_nothing(nested: object) -> None:
    assert refused(contract(), driver(nested))
    assert effective(driver(nested)) == set()


def test_null_in_place_of_the_declaration_or_the_flag_grants_nothing() -> None:
    assert effective(driver(sandboxCapabilities=None)) == set()
    assert effective(driver(**{LEGACY: None})) == set()


def test_the_manifest_rules_refuse_what_the_resolver_refuses() -> None:
    tried: list[object] = [{"concurrentSyncOperations": True}, {"nativeSyncIn": None}, [], {"nativeSyncIn": True}, {}]
    for nested in tried:
        manifest: JsonObject = {
            "id": "acme.cloud",
            "apiVersion": 1,
            "version": "1.0.0",
            "displayName": "Cloud",
            "description": "A cloud.",
            "author": "Acme",
            "categories": ["workspace"],
            "capabilities": ["environment.drivers.register"],
            "entrypoints": {"worker": "worker.js"},
            "environmentDrivers": [{**driver(nested), "displayName": "Cloud", "configSchema": {}}],
        }
        assert contract().manifest_rejected(manifest) == refused(contract(), driver(nested))


# -- the list of methods


@pytest.mark.parametrize(
    "supported",
    [None, [], "environmentExecute", 5, True, {"environmentExecute": True}, ["environmentExecute", 1], [None]],
)
def test_anything_but_an_array_of_names_verifies_nothing(supported: Any) -> None:
    assert verified_methods(supported) == frozenset()
    assert effective(driver({str(key): True for key in KEYS}), verified_methods(supported)) == set()


def test_an_array_of_names_verifies_them() -> None:
    assert verified_methods(["environmentExecute", "environmentExecute"]) == {"environmentExecute"}


# -- laws


def made(nested: dict[str, bool] | None, legacy: dict[str, bool], kind: str) -> dict[str, Any]:
    return driver(nested, **legacy, kind=kind)


names = st.sampled_from([*sorted(ALL_METHODS), "health", "environmentProbe", "environmentexecute"])
method_sets = st.frozensets(names)
situation_sets = st.frozensets(st.sampled_from(list(Situation)))
declarations = st.dictionaries(st.sampled_from([str(key) for key in KEYS]), st.booleans())
drivers = st.builds(
    made,
    st.none() | declarations,
    st.dictionaries(st.just(LEGACY), st.booleans()),
    st.sampled_from(["sandbox_provider"] * 9 + ["environment_driver"]),
)
odd_drivers = drivers | st.builds(
    driver,
    st.dictionaries(st.sampled_from([*map(str, KEYS), "concurrentSyncOperations"]), st.booleans() | st.none())
    | st.just([]),
)


def snapshot(subject: JsonObject | None, verified: frozenset[str], situations: frozenset[Situation]) -> Snapshot:
    return resolve(contract(), verified=verified, driver=subject, situations=situations)


@given(drivers, method_sets, situation_sets)
def test_law_it_is_the_intersection(subject: Any, verified: frozenset[str], situations: frozenset[Situation]) -> None:
    nested = subject.get("sandboxCapabilities", {})

    for key, on in snapshot(subject, verified, situations).items():
        said = nested.get(key, subject.get(LEGACY) if key == REUSE else None)
        declared = said if said is not None else key in DEFERRING
        narrowed = any(key in REMOVED[situation] for situation in situations)
        right_kind = subject["kind"] == "sandbox_provider"
        assert on == (right_kind and declared and verified >= NEEDS[key] and not narrowed)


@given(odd_drivers, method_sets, situation_sets)
def test_law_never_more_than_verified(
    subject: JsonObject, verified: frozenset[str], situations: frozenset[Situation]
) -> None:
    for key in snapshot(subject, verified, situations).effective:
        assert verified >= NEEDS[key]


@given(odd_drivers, method_sets, method_sets, situation_sets)
def test_law_one_more_method_never_takes_away(
    subject: JsonObject, verified: frozenset[str], more: frozenset[str], situations: frozenset[Situation]
) -> None:
    assert snapshot(subject, verified, situations).effective <= snapshot(subject, verified | more, situations).effective


@given(odd_drivers, method_sets, situation_sets)
def test_law_never_more_than_declared(
    subject: JsonObject, verified: frozenset[str], situations: frozenset[Situation]
) -> None:
    declared = declared_capabilities(contract(), subject)

    for key in snapshot(subject, verified, situations).effective:
        assert declared[key] is True or (declared[key] is None and key in DEFERRING)


@given(odd_drivers, method_sets, situation_sets, situation_sets)
def test_law_narrowing_only_removes(
    subject: JsonObject, verified: frozenset[str], some: frozenset[Situation], more: frozenset[Situation]
) -> None:
    assert snapshot(subject, verified, some | more).effective <= snapshot(subject, verified, some).effective


@given(odd_drivers, method_sets, situation_sets)
def test_law_identity_failure_removes_all(
    subject: JsonObject, verified: frozenset[str], situations: frozenset[Situation]
) -> None:
    assert snapshot(None, verified, situations).effective == frozenset()
    assert snapshot(subject, verified, situations | {Situation.IDENTITY_FAILURE}).effective == frozenset()


@given(odd_drivers, method_sets, situation_sets)
def test_law_a_snapshot_has_every_key_and_stays_as_it_is(
    subject: dict[str, Any], verified: frozenset[str], situations: frozenset[Situation]
) -> None:
    taken = snapshot(subject, verified, situations)
    before = dict(taken)

    subject.clear()
    with pytest.raises(FrozenInstanceError):
        taken.values_by_key = ()  # type: ignore[misc]

    assert list(taken) == list(contract().capabilities)
    assert dict(taken) == before
    assert taken == Snapshot(tuple(before.items()))
