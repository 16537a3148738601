"""Methods, error codes and capability gates of the contract data are those of the real SDK."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Contract, load_contract
from tests.npm import installed, node

ROOT = Path(__file__).parents[2]
ASK = """
import * as sdk from "@paperclipai/plugin-sdk";
const methods = JSON.parse(process.argv.at(-1));
process.stdout.write(JSON.stringify({
  methods: [...sdk.HOST_TO_WORKER_REQUIRED_METHODS, ...sdk.HOST_TO_WORKER_OPTIONAL_METHODS],
  codes: {...sdk.JSONRPC_ERROR_CODES, ...sdk.PLUGIN_RPC_ERROR_CODES},
  gates: Object.fromEntries(methods.map((name) => [name, sdk.getRequiredCapability(name) ?? null])),
}));
"""

NOT_OF_A_SANDBOX_PROVIDER = {
    "onEvent": "for plugins that subscribe to events",
    "runJob": "jobs",
    "handleWebhook": "webhooks",
    "handleApiRequest": "API routes",
    "getData": "user interface",
    "performAction": "user interface",
    "executeTool": "agent tools",
    "detectExternalObjects": "object references",
    "resolveExternalObject": "object references",
    "refreshExternalObjects": "object references",
}
"""Methods of the SDK that no sandbox provider needs, by what they are for."""


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


@pytest.fixture(scope="module")
def sdk(contract: Contract) -> dict[str, Any]:
    told = subprocess.run(
        [node(), "--input-type=module", "-e", ASK, json.dumps(list(contract.worker_methods))],
        cwd=installed(ROOT / "fixtures" / "sdk_provider"),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(told.stdout)
    return answer


def test_the_methods_are_those_of_the_sdk(contract: Contract, sdk: dict[str, Any]) -> None:
    known, real = set(contract.methods), set(sdk["methods"])

    assert known - real == set()
    assert real - known == set(NOT_OF_A_SANDBOX_PROVIDER)


def test_the_error_codes_are_those_of_the_sdk(contract: Contract, sdk: dict[str, Any]) -> None:
    real: dict[str, int] = sdk["codes"]

    assert {name: code for name, code in contract.error_codes.items() if real.get(name.upper()) != code} == {}


def test_every_request_of_a_worker_has_the_gate_of_the_sdk(contract: Contract, sdk: dict[str, Any]) -> None:
    gates: dict[str, str | None] = dict(contract.worker_methods)

    assert gates == sdk["gates"]
