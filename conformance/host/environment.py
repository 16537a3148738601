"""The environment of a worker, built from nothing as the host builds it (protocol.md section 2)."""

import os
from collections.abc import Iterable, Mapping
from uuid import UUID

from conformance.contract import Contract
from conformance.model import Json

REGISTER_DRIVERS = "environment.drivers.register"
"""Manifest capability that opens the gate for model keys and in-cluster variables."""

_GATED = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "KUBERNETES_SERVICE_PORT_HTTPS",
)


def worker_environment(
    own: Mapping[str, str], plugin_row: UUID, capabilities: Iterable[str], pass_through: Iterable[str] = ()
) -> dict[str, str]:
    """All variables a worker gets.

    `own` is the kit's environment; `pass_through` names variables that the author asked to hand on, as the host does
    for the credentials of first-party providers.
    """
    environment = {
        "PATH": own.get("PATH", os.defpath),
        "NODE_PATH": own.get("NODE_PATH", ""),
        "PAPERCLIP_PLUGIN_ID": str(plugin_row),
        "NODE_ENV": own.get("NODE_ENV", "production"),
        "TZ": own.get("TZ", "UTC"),
        "PAPERCLIP_DEPLOYMENT_MODE": "local_trusted",
        "PAPERCLIP_DEPLOYMENT_EXPOSURE": "private",
    }
    gated = _GATED if REGISTER_DRIVERS in set(capabilities) else ()
    for name in (*gated, *pass_through):
        if own.get(name, "").strip():
            environment[name] = own[name]
    return environment


def initialize_params(manifest: Json, contract: Contract) -> dict[str, Json]:
    """Params of `initialize`, with the two `instanceInfo` fields that the type declarations leave out."""
    del contract
    return {
        "manifest": manifest,
        "config": {},
        "instanceInfo": {
            "instanceId": "default",
            "hostVersion": "0.0.0",
            "deploymentMode": "local_trusted",
            "deploymentExposure": "private",
        },
        "apiVersion": 1,
        "databaseNamespace": None,
    }
