"""The schemas of results take what the contract allows and refuse what breaks it, with the requirement named."""

from typing import Any

import pytest

from conformance.contract import Contract, load_contract
from conformance.model import MethodName

RESULT = {"exitCode": 0, "timedOut": False, "stdout": "", "stderr": ""}
SESSION = {"providerLeaseId": "s", "status": "starting", "connectionSummary": None}


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


ALLOWED: tuple[tuple[str, Any], ...] = (
    ("initialize", {"ok": True, "supportedMethods": []}),
    ("initialize", {"ok": True, "supportedMethods": ["x"], "more": 1}),
    ("health", {"status": "ok"}),
    ("shutdown", None),
    ("validateConfig", {"ok": False, "errors": ["x"]}),
    ("configChanged", None),
    ("environmentValidateConfig", {"ok": True}),
    ("environmentValidateConfig", {"ok": False, "errors": ["x"], "warnings": [], "normalizedConfig": {}}),
    ("environmentProbe", {"ok": False, "diagnostics": [{"severity": "error", "message": "m"}]}),
    ("environmentAcquireLease", {"providerLeaseId": None}),
    ("environmentAcquireLease", {"providerLeaseId": "a", "metadata": {}, "expiresAt": None, "more": []}),
    ("environmentAcquireLease", {"providerLeaseId": "a", "expiresAt": "2026-11-30T12:00:00Z"}),
    ("environmentResumeLease", None),
    ("environmentResumeLease", {"providerLeaseId": None, "metadata": {"expired": True}}),
    ("environmentReleaseLease", None),
    ("environmentReleaseLease", {"providerLeaseId": "a", "state": "stopped"}),
    ("environmentDestroyLease", None),
    ("environmentRealizeWorkspace", {"cwd": "/w", "metadata": {"mode": "in_place"}}),
    ("environmentExecute", RESULT),
    ("environmentExecute", {**RESULT, "exitCode": None, "signal": None, "metadata": {}}),
    ("environmentExecute", {**RESULT, "exitCode": 0.0}),
    ("environmentSyncIn", {"operations": [{"operationId": "o", "filesTransferred": 0, "bytesTransferred": 0}]}),
    ("environmentSyncOut", {"operations": []}),
    ("environmentStartInteractiveSetup", SESSION),
    (
        "environmentGetInteractiveSetup",
        {**SESSION, "connectionPayload": {"type": "ssh", "command": "ssh a@b.example -p 22"}, "expiresAt": None},
    ),
    ("environmentGetInteractiveSetup", {**SESSION, "connectionPayload": {"type": "browser_terminal", "command": "x"}}),
    ("environmentCaptureTemplate", {"templateRef": "t", "templateKind": "snapshot"}),
    ("environmentCancelInteractiveSetup", {"status": "missing"}),
    ("environmentDeleteTemplate", {"deleted": False}),
    ("setupTokenPtyOpen", {"workerSessionId": "w"}),
    ("setupTokenPtyInput", None),
    ("setupTokenPtyStop", None),
    ("setupTokenPtyClose", {"hostRouteId": "r"}),
)


@pytest.mark.parametrize(("method", "result"), ALLOWED)
def test_what_the_contract_allows(contract: Contract, method: str, result: Any) -> None:
    assert contract.result_problems(MethodName(method), result) == ()


BROKEN: tuple[tuple[str, Any, str, str | None, str], ...] = (
    ("initialize", None, "$", "INIT-001", "error"),
    ("initialize", {"ok": 1, "supportedMethods": []}, "$.ok", "INIT-001", "error"),
    ("initialize", {"ok": True}, "$.supportedMethods", "INIT-002", "error"),
    ("initialize", {"ok": True, "supportedMethods": "x"}, "$.supportedMethods", "INIT-002", "error"),
    ("initialize", {"ok": True, "supportedMethods": [1]}, "$.supportedMethods[0]", "INIT-002", "error"),
    ("environmentValidateConfig", {"ok": "yes"}, "$.ok", "CFG-001", "error"),
    ("environmentValidateConfig", {"ok": False}, "$.errors", "CFG-002", "warning"),
    ("environmentValidateConfig", {"ok": False, "errors": []}, "$.errors", "CFG-002", "warning"),
    ("environmentValidateConfig", {"ok": True, "warnings": "w"}, "$.warnings", None, "warning"),
    ("environmentProbe", {"ok": None}, "$.ok", "PROBE-001", "error"),
    ("environmentProbe", {}, "$.ok", "PROBE-001", "error"),
    ("environmentAcquireLease", None, "$", "LEASE-001", "error"),
    ("environmentAcquireLease", {}, "$.providerLeaseId", "LEASE-001", "error"),
    ("environmentAcquireLease", {"providerLeaseId": ""}, "$.providerLeaseId", "LEASE-001", "error"),
    ("environmentAcquireLease", {"providerLeaseId": 7}, "$.providerLeaseId", "LEASE-001", "error"),
    ("environmentAcquireLease", {"providerLeaseId": "a", "metadata": []}, "$.metadata", "LEASE-004", "error"),
    ("environmentAcquireLease", {"providerLeaseId": "a", "expiresAt": "soon"}, "$.expiresAt", "LEASE-003", "error"),
    ("environmentAcquireLease", {"providerLeaseId": "a", "expiresAt": 5}, "$.expiresAt", "LEASE-003", "error"),
    ("environmentResumeLease", "gone", "$", "LEASE-024", "error"),
    ("environmentResumeLease", {}, "$.providerLeaseId", "LEASE-024", "error"),
    ("environmentRealizeWorkspace", None, "$", "WS-001", "error"),
    ("environmentRealizeWorkspace", {"cwd": ""}, "$.cwd", "WS-001", "error"),
    (
        "environmentRealizeWorkspace",
        {"cwd": "/w", "metadata": {"workspaceRealization": {}}},
        "$.metadata.workspaceRealization",
        "WS-007",
        "error",
    ),
    ("environmentExecute", {**RESULT, "exitCode": "0"}, "$.exitCode", "EXEC-001", "error"),
    ("environmentExecute", {**RESULT, "exitCode": True}, "$.exitCode", "EXEC-001", "error"),
    ("environmentExecute", {**RESULT, "stderr": None}, "$.stderr", "EXEC-001", "error"),
    ("environmentExecute", {**RESULT, "timedOut": None}, "$.timedOut", "EXEC-001", "error"),
    ("environmentExecute", {**RESULT, "metadata": None}, "$.metadata", None, "warning"),
    ("environmentSyncIn", None, "$", "SYNC-001", "warning"),
    ("environmentStartInteractiveSetup", {**SESSION, "status": "ready"}, "$.status", "SETUP-001", "error"),
    ("environmentStartInteractiveSetup", {**SESSION, "expiresAt": "x"}, "$.expiresAt", "SETUP-002", "error"),
    (
        "environmentGetInteractiveSetup",
        {**SESSION, "connectionPayload": {"type": "ssh", "command": "ssh -o x=y a@b"}},
        "$.connectionPayload.command",
        "SETUP-003",
        "error",
    ),
    ("environmentCaptureTemplate", {"templateRef": "", "templateKind": "x"}, "$.templateRef", "SETUP-009", "error"),
    ("environmentCancelInteractiveSetup", {"status": "promoted"}, "$.status", "SETUP-007", "error"),
    ("environmentDeleteTemplate", {"deleted": "yes"}, "$.deleted", "SETUP-012", "error"),
    ("setupTokenPtyOpen", {"workerSessionId": ""}, "$.workerSessionId", "PTY-001", "error"),
    ("setupTokenPtyClose", None, "$", "PTY-006", "error"),
)


@pytest.mark.parametrize(("method", "result", "path", "requirement", "severity"), BROKEN)
def test_what_breaks_the_contract(
    contract: Contract, method: str, result: Any, path: str, requirement: str | None, severity: str
) -> None:
    problems = contract.result_problems(MethodName(method), result)

    assert [(problem.path, problem.requirement, problem.severity) for problem in problems] == [
        (path, requirement, severity)
    ]


def test_every_method_has_an_allowed_result_here(contract: Contract) -> None:
    assert {method for method, _ in ALLOWED} == set(contract.methods)


def test_an_unknown_method_is_a_mistake_of_the_caller(contract: Contract) -> None:
    with pytest.raises(KeyError):
        contract.result_problems(MethodName("environmentFly"), {})


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("environmentProbe", {"driverKey": "d", "companyId": "c", "environmentId": "e"}, "$.config"),
        ("environmentValidateConfig", {"driverKey": "d", "config": {}, "companyId": "c"}, "$.companyId"),
        ("setupTokenPtyInput", {"workerSessionId": "w", "data": 5}, "$.data"),
    ],
)
def test_the_kits_own_frames_are_held_to_the_params(contract: Contract, method: str, params: Any, path: str) -> None:
    assert [problem.path for problem in contract.params_problems(MethodName(method), params)] == [path]
