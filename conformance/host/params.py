"""Params of every call, with exactly the keys that a recorded host sends (host-transcripts/README.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.contract import Contract
from conformance.host.tenant import Tenant
from conformance.model import Json, JsonObject, LeaseId

UNSAVED_ENVIRONMENT = "unsaved"
"""The literal environment id of a draft probe."""


@dataclass(frozen=True)
class Lease:
    """What the host keeps of an acquired lease.

    `metadata` is what the provider returned; `record` is the host's merged record, which later calls see as
    `lease.metadata`, `leaseMetadata` and, without internal keys, as `config`.
    """

    label: str
    id: LeaseId | None
    metadata: JsonObject
    expires_at: str | None
    record: JsonObject
    tenant: Tenant
    internal_keys: frozenset[str] = field(repr=False)

    @property
    def config(self) -> dict[str, Json]:
        """The config of every call after acquire: the record without internal keys and without `provider`."""
        return {key: value for key, value in self.record.items() if key not in self.internal_keys and key != "provider"}

    @property
    def orphan_config(self) -> dict[str, Json]:
        """The config of the clean-up of an orphan: internal keys stay in."""
        return {key: value for key, value in self.record.items() if key != "provider"}

    @property
    def remote_cwd(self) -> str:
        """The directory of host commands; ``/tmp`` when the provider named none, as the host does."""
        value = self.metadata.get("remoteCwd")
        return value if isinstance(value, str) and value else "/tmp"  # noqa: S108 - the host's own fallback

    @property
    def shell(self) -> str:
        """The shell of host commands."""
        value = self.metadata.get("shellCommand")
        return value if value in {"bash", "sh"} else "sh"  # type: ignore[return-value]

    @property
    def on_the_wire(self) -> dict[str, Json]:
        """The `lease` object of realize, execute and sync."""
        return {"providerLeaseId": self.id, "metadata": dict(self.record), "expiresAt": self.expires_at}


def lease_record(
    contract: Contract, tenant: Tenant, driver: str, plugin: str, config: JsonObject, metadata: JsonObject
) -> dict[str, Json]:
    """The host's record: stored config, provider metadata merged over it, and the host's own keys underneath."""
    del contract
    return {
        "driver": "sandbox",
        "agentId": tenant.agent,
        "pluginId": str(tenant.plugin_row),
        "pluginKey": plugin,
        "provider": driver,
        "sandboxProviderPlugin": True,
        "executionWorkspaceMode": "shared_workspace",
        **config,
        **metadata,
    }


class ParamsMaker:
    """Makes the params of environment calls for one driver."""

    def __init__(self, driver: str, plugin: str, contract: Contract) -> None:
        self.driver = driver
        self.plugin = plugin
        self.contract = contract

    def lease(self, label: str, tenant: Tenant, config: JsonObject, result: Json) -> Lease | None:
        """The lease in an acquire or resume answer; None when the answer holds no usable object."""
        if not isinstance(result, Mapping):
            return None
        answer = cast("Mapping[str, Any]", result)
        raw_id, raw_metadata, expires = (answer.get(key) for key in ("providerLeaseId", "metadata", "expiresAt"))
        metadata: dict[str, Json] = dict(cast("Any", raw_metadata)) if isinstance(raw_metadata, Mapping) else {}
        return Lease(
            label=label,
            id=LeaseId(raw_id) if isinstance(raw_id, str) and raw_id else None,
            metadata=metadata,
            expires_at=expires if isinstance(expires, str) else None,
            record=lease_record(self.contract, tenant, self.driver, self.plugin, config, metadata),
            tenant=tenant,
            internal_keys=frozenset(self.contract.internal_keys),
        )

    def validate_config(self, config: JsonObject) -> dict[str, Json]:
        """No company, no environment."""
        return {"driverKey": self.driver, "config": dict(config)}

    def probe(self, tenant: Tenant, config: JsonObject) -> dict[str, Json]:
        """A draft environment: no issue, and a literal instead of an environment id."""
        return {
            "driverKey": self.driver,
            "companyId": tenant.company,
            "environmentId": UNSAVED_ENVIRONMENT,
            "config": dict(config),
        }

    def acquire(
        self, tenant: Tenant, config: JsonObject, run: str, *, requested_expires_at: str | None = None
    ) -> dict[str, Json]:
        """An agent run's acquire; `requested_expires_at` only for login sessions."""
        params = {
            **self._base(tenant, config),
            "runId": run,
            "workspaceMode": "shared_workspace",
            "agentId": tenant.agent,
            "executionWorkspaceId": tenant.execution_workspace,
            "adapterType": "claude_local",
        }
        return params if requested_expires_at is None else {**params, "requestedExpiresAt": requested_expires_at}

    def bare_acquire(self, tenant: Tenant, config: JsonObject, run: str) -> dict[str, Json]:
        """The acquire of an environment test: nothing optional, and no issue."""
        return {**self._base(tenant, config), "issueId": None, "runId": run}

    def resume(self, lease: Lease, config: JsonObject) -> dict[str, Json]:
        """Resume sees the stored config, not the lease metadata."""
        return {
            **self._base(lease.tenant, config),
            "providerLeaseId": lease.id,
            "leaseMetadata": dict(lease.record),
        }

    def end(self, lease: Lease, config: JsonObject | None = None) -> dict[str, Json]:
        """Release and destroy have the same params."""
        return {
            **self._base(lease.tenant, lease.config if config is None else config),
            "providerLeaseId": lease.id,
            "leaseMetadata": dict(lease.record),
        }

    def realize(self, lease: Lease, local_path: str) -> dict[str, Json]:
        """All four workspace fields, as in an agent run."""
        return {
            **self._base(lease.tenant, lease.config),
            "lease": lease.on_the_wire,
            "workspace": {
                "localPath": local_path,
                "remotePath": lease.remote_cwd,
                "mode": "shared_workspace",
                "metadata": {"workspaceRealizationRequest": self._realization_request(lease, local_path)},
            },
        }

    def execute(
        self,
        lease: Lease,
        command: str,
        args: Sequence[str],
        *,
        cwd: str,
        timeout_ms: int | None,
        bypass_session: bool,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> dict[str, Json]:
        """`env` and `stdin` are absent unless given."""
        params: dict[str, Json] = {
            **self._base(lease.tenant, lease.config),
            "lease": lease.on_the_wire,
            "command": command,
            "args": list(args),
            "cwd": cwd,
            "bypassSession": bypass_session,
        }
        if timeout_ms is not None:
            params["timeoutMs"] = timeout_ms
        if env is not None:
            params["env"] = dict(env)
        if stdin is not None:
            params["stdin"] = stdin
        return params

    def sync(self, lease: Lease, operations: Sequence[JsonObject]) -> dict[str, Json]:
        """Sync in and out have the same params."""
        return {
            **self._base(lease.tenant, lease.config),
            "lease": lease.on_the_wire,
            "operations": [dict(operation) for operation in operations],
        }

    def _base(self, tenant: Tenant, config: JsonObject) -> dict[str, Json]:
        return {
            "driverKey": self.driver,
            "companyId": tenant.company,
            "environmentId": tenant.environment,
            "issueId": tenant.issue,
            "config": dict(config),
        }

    def _realization_request(self, lease: Lease, local_path: str) -> dict[str, Json]:
        tenant = lease.tenant
        return {
            "version": 1,
            "adapterType": "claude_local",
            "companyId": tenant.company,
            "environmentId": tenant.environment,
            "executionWorkspaceId": tenant.execution_workspace,
            "issueId": tenant.issue,
            "requestedMode": "shared_workspace",
            "source": {"kind": "project_primary", "localPath": local_path, "strategy": "project_primary"},
            "additionalSources": [],
        }
