"""Params of every call, with exactly the keys that a recorded host sends; `tests/host/test_params.py` compares."""

from collections.abc import Mapping, Sequence

from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.host.tenant import Tenant
from conformance.model import Json, JsonObject

UNSAVED_ENVIRONMENT = "unsaved"
"""The literal environment id of a draft probe."""

CONNECTION_MINUTES = 15
"""How long the host asks the login of a setup to last."""

LOGIN_COMMAND = "claude setup-token"
"""The one command that the host runs on a login terminal."""


class ParamsMaker:
    """Makes the params of environment calls for one driver."""

    def __init__(self, driver: str) -> None:
        self.driver = driver

    def plugin_config(self, config: JsonObject) -> dict[str, Json]:
        """`validateConfig`: the plugin's own settings, of no company."""
        return {"config": dict(config)}

    def config_changed(self, tenant: Tenant, config: JsonObject) -> dict[str, Json]:
        """`configChanged`: the plugin's settings of one company."""
        return {"config": dict(config), "companyId": tenant.company}

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
        return {**self._outside_a_run(tenant, config), "runId": run}

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

    def realize(self, lease: Lease, local_path: str | None, run: str) -> dict[str, Json]:
        """All four workspace fields, as in an agent run; none of them, as in an environment test, without a path."""
        workspace: dict[str, Json] = {}
        if local_path is not None:
            workspace = {
                "localPath": local_path,
                "remotePath": lease.remote_cwd,
                "mode": "shared_workspace",
                "metadata": {"workspaceRealizationRequest": self._realization_request(lease, local_path, run)},
            }
        return {**self._base(lease.tenant, lease.config), "lease": lease.on_the_wire, "workspace": workspace}

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

    def start_setup(
        self,
        tenant: Tenant,
        config: JsonObject,
        session: str,
        *,
        expires_at: str,
        source_ref: str | None,
        source_kind: str | None,
    ) -> dict[str, Json]:
        """A setup belongs to no issue; it starts from a template or image, or from whatever the config says."""
        return {
            **self._outside_a_run(tenant, config),
            "sessionId": session,
            "sourceTemplateRef": source_ref,
            "sourceTemplateKind": source_kind,
            "connectionExpiresInMinutes": CONNECTION_MINUTES,
            "expiresAt": expires_at,
        }

    def get_setup(self, setup: Setup, *, with_payload: bool | None, bare: bool = False) -> dict[str, Json]:
        """The payload is asked for when the operator opens the connection; with None nothing is said about it.

        `bare` leaves the host's record of the setup out.
        """
        asked: dict[str, Json] = {} if with_payload is None else {"includeConnectionPayload": with_payload}
        return {**self._of_setup(setup, bare=bare), **asked, "connectionExpiresInMinutes": CONNECTION_MINUTES}

    def capture(self, setup: Setup, *, label: str, previous_ref: str | None) -> dict[str, Json]:
        """`timeoutMs` is there when the config grants the backend a time."""
        params: dict[str, Json] = {
            **self._of_setup(setup),
            "sourceTemplateRef": setup.source_ref,
            "previousTemplateRef": previous_ref,
            "templateLabel": label,
        }
        return {**params, "timeoutMs": setup.config["timeoutMs"]} if "timeoutMs" in setup.config else params

    def cancel_setup(self, setup: Setup, reason: str, *, bare: bool = False) -> dict[str, Json]:
        """Sent after a capture too, with the reason ``promoted``; `bare` as in `get_setup`."""
        return {**self._of_setup(setup, bare=bare), "reason": reason}

    def delete_template(self, template: Template) -> dict[str, Json]:
        """The host names the one reason it has."""
        return {
            **self._outside_a_run(template.tenant, template.config),
            "templateRef": template.ref,
            "templateKind": template.kind,
            "metadata": dict(template.metadata),
            "reason": "disabled",
        }

    def open_terminal(self, lease: Lease, route: str, command: str = LOGIN_COMMAND) -> dict[str, Json]:
        """No config, and the id of the lease in place of the lease."""
        return {
            "hostRouteId": route,
            "driverKey": self.driver,
            "companyId": lease.tenant.company,
            "environmentId": lease.tenant.environment,
            "providerLeaseId": lease.id,
            "command": command,
        }

    def terminal_input(self, session: str, data: str) -> dict[str, Json]:
        """Keys for one session."""
        return {"workerSessionId": session, "data": data}

    def stop_terminal(self, session: str) -> dict[str, Json]:
        """One session."""
        return {"workerSessionId": session}

    def close_terminal(self, route: str) -> dict[str, Json]:
        """The route alone: a session may not exist yet, or any more."""
        return {"hostRouteId": route}

    def _outside_a_run(self, tenant: Tenant, config: JsonObject) -> dict[str, Json]:
        return {**self._base(tenant, config), "issueId": None}

    def _of_setup(self, setup: Setup, *, bare: bool = False) -> dict[str, Json]:
        record: dict[str, Json] = {} if bare else {"setupMetadata": dict(setup.metadata)}
        return {**self._outside_a_run(setup.tenant, setup.config), "providerLeaseId": setup.id, **record}

    def _base(self, tenant: Tenant, config: JsonObject) -> dict[str, Json]:
        return {
            "driverKey": self.driver,
            "companyId": tenant.company,
            "environmentId": tenant.environment,
            "issueId": tenant.issue,
            "config": dict(config),
        }

    def _realization_request(self, lease: Lease, local_path: str, run: str) -> dict[str, Json]:
        tenant = lease.tenant
        return {
            "version": 1,
            "adapterType": "claude_local",
            "companyId": tenant.company,
            "environmentId": tenant.environment,
            "executionWorkspaceId": tenant.execution_workspace,
            "issueId": tenant.issue,
            "heartbeatRunId": run,
            "requestedMode": "shared_workspace",
            "source": {
                "kind": "project_primary",
                "localPath": local_path,
                "projectId": None,
                "projectWorkspaceId": None,
                "repoUrl": None,
                "repoRef": None,
                "strategy": "project_primary",
                "branchName": None,
                "worktreePath": None,
            },
            "additionalSources": [],
            "runtimeOverlay": {
                "provisionCommand": None,
                "runtimeProvisionCommand": None,
                "teardownCommand": None,
                "cleanupCommand": None,
                "workspaceRuntime": None,
            },
        }
