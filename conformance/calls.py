"""The calls that make and end nothing at the backend, one typed method each."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.answer import Answer
from conformance.host.lease import Lease
from conformance.host.params import LOGIN_COMMAND, ParamsMaker
from conformance.host.setup import Setup
from conformance.host.tenant import Tenant
from conformance.host.worker import Launch
from conformance.model import Json, JsonObject


class Calls(ABC):
    """What `Provider` offers beside the calls that its ledger watches."""

    tenant: Tenant
    make: ParamsMaker

    @property
    @abstractmethod
    def config(self) -> dict[str, Json]:
        """The config of a single-use environment, secrets filled in."""

    @property
    @abstractmethod
    def stored_config(self) -> dict[str, Json]:
        """The same with the ids of secrets."""

    @property
    @abstractmethod
    def launch(self) -> Launch:
        """How workers are started."""

    @abstractmethod
    async def call(
        self, method: str, params: JsonObject, *, seconds: float | None = None, beside: JsonObject | None = None
    ) -> Answer:
        """Any request."""

    async def health(self) -> Answer:
        """`health`: part of the protocol, although no host sends it."""
        return await self.call("health", {})

    async def shutdown(self) -> Answer:
        """`shutdown`: the worker is expected to end after its answer."""
        return await self.call("shutdown", {})

    async def validate_plugin_config(self, config: JsonObject) -> Answer:
        """`validateConfig`: the plugin's own settings, not those of an environment."""
        return await self.call("validateConfig", self.make.plugin_config(config))

    async def config_changed(self, config: JsonObject) -> Answer:
        """`configChanged`: the plugin's own settings for one company."""
        return await self.call("configChanged", self.make.config_changed(self.tenant, config))

    async def validate_config(self, config: JsonObject | None = None) -> Answer:
        """`environmentValidateConfig`, by default of the config under test, with the ids of its secrets."""
        stored = self.stored_config if config is None else config
        return await self.call("environmentValidateConfig", self.make.validate_config(stored))

    async def probe(self, config: JsonObject | None = None) -> Answer:
        """`environmentProbe` of a draft environment."""
        return await self.call("environmentProbe", self.make.probe(self.tenant, self._or_own(config)))

    async def realize(self, lease: Lease, local_path: str | Path | None = None, *, bare: bool = False) -> Answer:
        """`environmentRealizeWorkspace`; `localPath` is a host directory that does not exist unless one is given.

        `bare` sends a workspace without any field, as an environment test does.
        """
        path = self.launch.directory.parent / "workspace-of-the-host" if local_path is None else local_path
        params = self.make.realize(lease, None if bare else str(path), lease.run or self.new_id())
        return await self.call("environmentRealizeWorkspace", params)

    async def execute(
        self,
        lease: Lease,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        timeout_ms: int | None = 30_000,
        bypass_session: bool = True,
    ) -> Answer:
        """`environmentExecute`; in the lease's directory unless `cwd` is given."""
        params = self.make.execute(
            lease,
            command,
            args,
            cwd=lease.remote_cwd if cwd is None else cwd,
            timeout_ms=timeout_ms,
            bypass_session=bypass_session,
            env=env,
            stdin=stdin,
        )
        return await self.call("environmentExecute", params)

    async def sync_in(self, lease: Lease, operations: Sequence[JsonObject]) -> Answer:
        """`environmentSyncIn`."""
        return await self.call("environmentSyncIn", self.make.sync(lease, operations))

    async def sync_out(self, lease: Lease, operations: Sequence[JsonObject]) -> Answer:
        """`environmentSyncOut`."""
        return await self.call("environmentSyncOut", self.make.sync(lease, operations))

    async def get_setup(self, setup: Setup, *, with_payload: bool | None = True, bare: bool = False) -> Answer:
        """`environmentGetInteractiveSetup`; None says nothing of the payload, `bare` leaves the host's record out."""
        params = self.make.get_setup(setup, with_payload=with_payload, bare=bare)
        return await self.call("environmentGetInteractiveSetup", params)

    async def open_terminal(self, lease: Lease, route: str, command: str = LOGIN_COMMAND) -> Answer:
        """`setupTokenPtyOpen`. Close it with the same `route`, whatever came of it, as the host does."""
        return await self.call("setupTokenPtyOpen", self.make.open_terminal(lease, route, command))

    async def type_into_terminal(self, session: str, data: str) -> Answer:
        """`setupTokenPtyInput`."""
        return await self.call("setupTokenPtyInput", self.make.terminal_input(session, data))

    async def stop_terminal(self, session: str) -> Answer:
        """`setupTokenPtyStop`."""
        return await self.call("setupTokenPtyStop", self.make.stop_terminal(session))

    async def close_terminal(self, route: str) -> Answer:
        """`setupTokenPtyClose`."""
        return await self.call("setupTokenPtyClose", self.make.close_terminal(route))

    @abstractmethod
    def new_id(self) -> str:
        """A fresh UUID from the seed of the run."""

    def _or_own(self, config: JsonObject | None) -> JsonObject:
        return self.config if config is None else config
