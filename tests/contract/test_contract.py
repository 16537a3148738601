"""What the tables of revision 2026.824 say, where getting it wrong would bend every verdict."""

import pytest

from conformance.contract import Contract, Limit, load_contract
from conformance.model import CapabilityKey, JsonObject, MethodName, Situation


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


def test_the_six_capabilities_in_the_order_of_declaration(contract: Contract) -> None:
    assert {key: (rule.prerequisites, rule.opt_in) for key, rule in contract.capabilities.items()} == {
        "reusableLeases": (("environmentResumeLease", "environmentReleaseLease", "environmentDestroyLease"), True),
        "nativeSyncIn": (("environmentSyncIn",), False),
        "nativeSyncOut": (("environmentSyncOut",), False),
        "persistentProcessSessions": (("environmentExecute",), False),
        "independentControlCommands": (("environmentExecute",), False),
        "incrementalSessionOutput": (("environmentExecute",), True),
    }
    assert next(iter(contract.capabilities)) == "reusableLeases"


def test_the_pair_and_the_legacy_flag(contract: Contract) -> None:
    assert contract.capabilities[CapabilityKey("nativeSyncIn")].pair == "nativeSyncOut"
    assert contract.capabilities[CapabilityKey("nativeSyncOut")].pair == "nativeSyncIn"
    assert contract.capabilities[CapabilityKey("reusableLeases")].legacy_flag == "supportsReusableLeases"


def test_each_situation_narrows_what_the_contract_says(contract: Contract) -> None:
    sync = {"nativeSyncIn", "nativeSyncOut"}

    assert {rule.situation: set(rule.removes) for rule in contract.narrowings} == {
        Situation.PLAIN: set(),
        Situation.EPHEMERAL_LEASE: {"reusableLeases"},
        Situation.REUSABLE_LEASE: set(),
        Situation.JOB_LEASE: sync,
        Situation.NATIVE_SYNC_UNSUPPORTED: sync,
        Situation.CONFIG_FAILURE: {"persistentProcessSessions", "incrementalSessionOutput"},
        Situation.IDENTITY_FAILURE: set(contract.capabilities),
    }


@pytest.mark.parametrize(
    ("method", "params", "seconds"),
    [
        ("initialize", {}, 15),
        ("environmentValidateConfig", {"config": {"timeoutMs": 60_000}}, 30),
        ("environmentProbe", {"config": {}}, 120),
        ("environmentAcquireLease", {"config": {}}, 30),
        ("environmentAcquireLease", {"config": {"timeoutMs": 60_000}}, 90),
        ("environmentSyncIn", {"config": {"timeoutMs": 1_000, "bridgeRequestTimeoutMs": 5_000}}, 35),
        ("environmentAcquireLease", {"config": {"timeoutMs": "60000"}}, 30),
        ("environmentAcquireLease", {"config": {"timeoutMs": True}}, 30),
        ("environmentAcquireLease", {"config": {"timeoutMs": -5}}, 30),
        ("environmentExecute", {"config": {}}, 30),
        ("environmentExecute", {"timeoutMs": 2_000, "config": {"timeoutMs": 60_000}}, 32),
        ("environmentExecute", {"timeoutMs": 0, "config": {"timeoutMs": 60_000}}, 90),
        ("environmentCaptureTemplate", {"timeoutMs": None, "config": {"timeoutMs": 60_000}}, 30),
        ("environmentCaptureTemplate", {"timeoutMs": 5_000}, 35),
        ("setupTokenPtyClose", {}, 10),
    ],
)
def test_how_long_the_host_waits(contract: Contract, method: str, params: JsonObject, seconds: float) -> None:
    limit = contract.limits[contract.methods[MethodName(method)].limit]

    assert limit.seconds_for(params) == seconds


def test_a_size_is_no_time(contract: Contract) -> None:
    with pytest.raises(ValueError, match="counted in utf-16 units"):
        contract.limits["line"].seconds_for({})


@pytest.mark.parametrize(
    "broken",
    [
        {"value": 0.0, "unit": "seconds"},
        {"value": 1.0, "unit": "seconds", "growth": "first"},
        {"value": 1.0, "unit": "bytes", "growth": "first", "grows_with": ("x",)},
    ],
)
def test_a_limit_checks_itself(broken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="limit x"):
        Limit(name="x", chosen_by="kit", reason="r", **broken)  # pyright: ignore[reportArgumentType] # wrong on purpose


def test_error_codes(contract: Contract) -> None:
    assert contract.error_codes["method_not_found"] == -32601
    assert contract.error_codes["method_not_implemented"] == -32004
    assert len(set(contract.error_codes.values())) == 13


def test_what_a_worker_may_ask(contract: Contract) -> None:
    assert contract.worker_methods["config.get"] is None
    assert contract.worker_methods["secrets.resolve"] == "secrets.read-ref"
    assert contract.worker_methods["authorization.audit.search"] == "authorization.audit.read"
    assert len(contract.worker_methods) == 101


def test_every_flag_of_a_method_is_a_flag_of_a_driver(contract: Contract) -> None:
    known = contract.manifest_schemas.nodes("driver.json", ["properties"])[-1]

    assert {rule.flag for rule in contract.methods.values() if rule.flag is not None} <= set(known)


def test_the_digest_is_stable(contract: Contract) -> None:
    assert contract.digest.startswith("sha256:")
    assert contract.digest == load_contract("2026.824").digest
