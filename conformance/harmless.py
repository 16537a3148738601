"""Calling any method so that nothing is lost by it: on a lease, a setup and a template that do not exist."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from conformance.answer import Answer
from conformance.errors import KitError, ProviderFault
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.model import Json
from conformance.provider import Provider

MAKING = frozenset({"environmentAcquireLease", "environmentProbe", "environmentStartInteractiveSetup"})
"""Methods that make something at the backend, however they are called: every other one acts on what is there."""


def unknown_lease(provider: Provider) -> Lease:
    """A lease in the host's own shape, with an id that the provider never handed out."""
    params = provider.make.acquire(provider.tenant, provider.config, provider.new_id())
    invented: dict[str, Json] = {
        "providerLeaseId": f"no-such-lease-{provider.new_id()}",
        "metadata": {"remoteCwd": "/tmp/no-such-lease"},  # noqa: S108 - a path inside a sandbox
    }
    lease = provider.keeper.lease("none", provider.tenant, params, invented)
    if lease is None:
        raise KitError("No lease could be invented.")
    return lease


def harmless_call(provider: Provider, method: str) -> Awaitable[Answer]:
    """Call a method with the params of a host; what it makes, if it is one of `MAKING`, is ended with the check.

    A method that the host of this revision does not call gets no params.
    """
    known = _Calls(provider).by_method().get(method)
    return provider.call(method, {}) if known is None else known()


@dataclass(frozen=True)
class _Calls:
    provider: Provider

    def by_method(self) -> Mapping[str, Callable[[], Awaitable[Answer]]]:
        provider, lease, setup = self.provider, unknown_lease(self.provider), self._setup()
        route, session = f"no-such-route-{provider.new_id()}", f"no-such-session-{provider.new_id()}"
        return {
            "validateConfig": lambda: provider.validate_plugin_config({}),
            "configChanged": lambda: provider.config_changed({}),
            "environmentValidateConfig": provider.validate_config,
            "environmentProbe": provider.probe,
            "environmentAcquireLease": provider.acquire,
            "environmentResumeLease": lambda: provider.resume(lease),
            "environmentReleaseLease": lambda: provider.release(lease),
            "environmentDestroyLease": lambda: provider.destroy(lease),
            "environmentRealizeWorkspace": lambda: provider.realize(lease),
            "environmentExecute": lambda: provider.execute(lease, "true"),
            "environmentSyncIn": lambda: provider.sync_in(lease, []),
            "environmentSyncOut": lambda: provider.sync_out(lease, []),
            "environmentStartInteractiveSetup": provider.start_setup,
            "environmentGetInteractiveSetup": lambda: provider.get_setup(setup, with_payload=False),
            "environmentCancelInteractiveSetup": lambda: provider.cancel_setup(setup),
            "environmentCaptureTemplate": lambda: provider.capture_template(setup),
            "environmentDeleteTemplate": lambda: provider.delete_template(self._template()),
            "setupTokenPtyOpen": lambda: self._open_and_close_terminal(lease, route),
            "setupTokenPtyInput": lambda: provider.type_into_terminal(session, ""),
            "setupTokenPtyStop": lambda: provider.stop_terminal(session),
            "setupTokenPtyClose": lambda: provider.close_terminal(route),
        }

    def _setup(self) -> Setup:
        provider = self.provider
        number = f"no-such-setup-{provider.new_id()}"
        return Setup(number, provider.tenant, provider.config, None, None, {})

    def _template(self) -> Template:
        provider = self.provider
        return Template(f"no-such-template-{provider.new_id()}", "snapshot", provider.tenant, provider.config, {})

    async def _open_and_close_terminal(self, lease: Lease, route: str) -> Answer:
        try:
            return await self.provider.open_terminal(lease, route)
        finally:
            with contextlib.suppress(ProviderFault):
                await self.provider.close_terminal(route)
