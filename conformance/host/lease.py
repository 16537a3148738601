"""What the host keeps of a lease, and what of it travels with later calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.host.tenant import Tenant, secret_id
from conformance.model import Json, JsonObject, LeaseId, object_of

REALIZATION = "workspaceRealization"
"""Key under which the host keeps what became of a realize."""

REUSE = "reusableSandboxLease"
"""Key under which the host keeps what makes a lease fit for a later run."""


@dataclass(frozen=True)
class Lease:
    """What the host keeps of an acquired lease.

    `metadata` is what the provider returned; `record` is the host's merged record, which later calls see as
    `lease.metadata`, `leaseMetadata` and, without internal keys, as `config`. The record holds the ids of secrets;
    `secrets` maps their fields to the values that a config gets. `run` is the run that acquired it.
    """

    label: str
    id: LeaseId | None
    metadata: JsonObject
    expires_at: str | None
    record: JsonObject
    tenant: Tenant
    internal_keys: frozenset[str] = field(repr=False)
    run: str | None = None
    secrets: Mapping[str, Json] = field(default_factory=dict[str, Json], repr=False)

    @property
    def config(self) -> dict[str, Json]:
        """The config of every call after acquire: the record without internal keys and without `provider`."""
        return {key: value for key, value in self.orphan_config.items() if key not in self.internal_keys}

    @property
    def orphan_config(self) -> dict[str, Json]:
        """The config of the clean-up of an orphan: internal keys stay in."""
        return {key: self.secrets.get(key, value) for key, value in self.record.items() if key != "provider"}

    @property
    def remote_cwd(self) -> str:
        """The directory of host commands; ``/tmp`` when the provider named none, as the host does."""
        value = self.metadata.get("remoteCwd")
        return value if isinstance(value, str) and value else "/tmp"  # noqa: S108 - the host's own fallback

    @property
    def shell(self) -> str:
        """The shell of host commands."""
        return "bash" if self.metadata.get("shellCommand") == "bash" else "sh"

    @property
    def on_the_wire(self) -> dict[str, Json]:
        """The `lease` object of realize, execute and sync."""
        return {"providerLeaseId": self.id, "metadata": dict(self.record), "expiresAt": self.expires_at}

    def with_record(self, keys: JsonObject) -> "Lease":
        """The same lease after the host has written more into its record."""
        return replace(self, record={**self.record, **keys})

    def realized(self, local_path: str) -> "Lease":
        """The same lease after a realize, of which the host keeps an account."""
        account: dict[str, Json] = {
            "version": 1,
            "mode": "copy",
            "provider": self.record.get("provider"),
            "environmentId": self.tenant.environment,
            "providerLeaseId": self.id,
            "local": {"path": local_path, "source": "project_primary", "strategy": "project_primary"},
            "remote": {"path": self.remote_cwd},
            "authoritativeRoot": local_path,
            "additional": [],
            "summary": f"Sandbox workspace realized at {self.remote_cwd}.",
        }
        return self.with_record({REALIZATION: account})


@dataclass(frozen=True)
class Keeper:
    """Makes leases out of answers, for one driver of one plugin. `secret_fields` are config keys that hold secrets."""

    driver: str
    plugin: str
    internal_keys: frozenset[str]
    secret_fields: frozenset[str]

    def lease(self, label: str, tenant: Tenant, params: JsonObject, result: Json) -> Lease | None:
        """The lease in the answer to an acquire or resume with these params; None when the answer holds no object."""
        if not isinstance(result, Mapping):
            return None
        answer, config, run = object_of(result), object_of(params.get("config")), params.get("runId")
        raw_id, expires = answer.get("providerLeaseId"), answer.get("expiresAt")
        metadata = object_of(answer.get("metadata"))
        # An environment test has no agent, and never resumes.
        agent_run = "agentId" in params or "leaseMetadata" in params
        return Lease(
            label=label,
            id=LeaseId(raw_id) if isinstance(raw_id, str) and raw_id else None,
            metadata=metadata,
            expires_at=expires if isinstance(expires, str) else None,
            record=self._record(tenant, config, metadata, agent_run=agent_run),
            tenant=tenant,
            internal_keys=self.internal_keys,
            run=run if isinstance(run, str) else None,
            secrets={key: config[key] for key in self.secret_fields & config.keys()},
        )

    def stored(self, config: JsonObject) -> dict[str, Json]:
        """A config as the host stores it: with the ids of secrets."""
        return {key: secret_id(key) if key in self.secret_fields else value for key, value in config.items()}

    def _record(self, tenant: Tenant, config: JsonObject, metadata: JsonObject, *, agent_run: bool) -> dict[str, Json]:
        """The host's own keys, the stored config over them, and the provider's metadata over both.

        Fields of secrets are taken out of the metadata first. What makes a lease reusable is written last.
        """
        own: dict[str, Json] = {
            "driver": "sandbox",
            "pluginId": str(tenant.plugin_row),
            "pluginKey": self.plugin,
            "provider": self.driver,
            "sandboxProviderPlugin": True,
            "executionWorkspaceMode": "shared_workspace" if agent_run else None,
        }
        if agent_run:
            own["agentId"] = tenant.agent
        told = {key: value for key, value in metadata.items() if key not in self.secret_fields}
        record = {**own, **self.stored(config), **told}
        if agent_run and config.get("reuseLease") is True:
            record[REUSE] = self._reuse(tenant, metadata)
        return record

    def _reuse(self, tenant: Tenant, metadata: JsonObject) -> dict[str, Json]:
        return {
            "version": 1,
            "provider": self.driver,
            "companyId": tenant.company,
            "environmentId": tenant.environment,
            "executionWorkspaceId": tenant.execution_workspace,
            "agentId": tenant.agent,
            "adapterType": "claude_local",
            "remoteCwd": metadata.get("remoteCwd"),
        }
