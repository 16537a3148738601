"""One live worker: started, initialized, called and stopped the way the host does."""

import itertools
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from conformance.contract import Contract
from conformance.errors import KitError, MalformedAnswer, ProviderFault
from conformance.host.environment import initialize_params, worker_environment
from conformance.host.invocation import Invocation, Invocations
from conformance.host.limits import Limits
from conformance.host.package import Package
from conformance.host.services import HostServices
from conformance.host.store import HostStore
from conformance.host.tenant import Tenant
from conformance.model import FrameNumber, Json, JsonObject, MethodName, RequirementId, items_of, object_of
from conformance.wire.peer import Peer, Received, Reply
from conformance.wire.process import Command
from conformance.wire.transcript import Transcript


@dataclass(frozen=True)
class Notice:
    """One notification of the worker. `open_call`: its invocation belonged to a call that was still open."""

    method: str
    invocation: Json
    frame: FrameNumber
    seconds: float
    open_call: Invocation | None
    received: Received = field(repr=False)

    @property
    def params(self) -> JsonObject:
        """What it says. Raises `KitError` when that was so long ago that it is no longer kept."""
        if self.received.forgotten:
            raise KitError(f"The notification in frame {self.frame} is needed, but no longer kept.")
        return object_of(self.received.message.get("params"))


@dataclass(frozen=True)
class Launch:
    """What is needed to start workers of one provider, any number of times.

    `directory` is an empty folder that has nothing to do with the package; `secrets` maps secret ids to values.
    `on_start` is told the process id of each worker at once.
    """

    package: Package
    contract: Contract
    limits: Limits
    transcript: Transcript
    directory: Path
    seed: int
    own_environment: Mapping[str, str]
    pass_through: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    on_start: Callable[[int], None] | None = None
    store: HostStore = field(default_factory=HostStore)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    started: "list[Worker]" = field(default_factory=lambda: list["Worker"]())
    living: "set[Worker]" = field(default_factory=lambda: set["Worker"]())

    @property
    def capabilities(self) -> frozenset[str]:
        """The manifest's capability list, as far as it is one."""
        listed = items_of(object_of(self.package.manifest).get("capabilities"))
        return frozenset(name for name in listed if isinstance(name, str))

    def start(self, owner: str, tenant: Tenant, extra_environment: Mapping[str, str] | None = None) -> "Worker":
        """Start a worker for `owner`, a check or the bench.

        Raises `EnvironmentFault` when the program cannot run; never waits for the worker.
        """
        return Worker(self, owner, tenant, extra_environment or {})


class Worker:
    """A worker process, from start to stop. Made by `Launch.start`."""

    def __init__(self, launch: Launch, owner: str, tenant: Tenant, extra_environment: Mapping[str, str]) -> None:
        if launch.package.argv is None:
            raise KitError("A worker was to be started although the package has none.")
        self.launch = launch
        self.owner = owner
        self.number = next(launch.numbers)
        self.methods: tuple[str, ...] | None = None
        self.supported: Json = None
        self.initialized = False
        self.greeting: Reply | None = None
        self.notices: list[Notice] = []
        self._random = random.Random(f"{launch.seed}/{self.number}")  # noqa: S311 - ids that can be repeated
        self.invocations = Invocations(self._random)
        self.services = HostServices(
            launch.contract, launch.capabilities, self.invocations, launch.secrets, launch.store
        )
        environment = worker_environment(
            launch.own_environment, tenant.plugin_row, launch.capabilities, launch.pass_through
        )
        launch.directory.mkdir(parents=True, exist_ok=True)
        self.peer = Peer(
            Command(launch.package.argv, {**environment, **extra_environment}, launch.directory),
            launch.transcript,
            number=self.number,
            on_request=self._serve,
            on_notification=self._note,
        )
        if launch.on_start is not None:
            launch.on_start(self.process_id)
        launch.started.append(self)
        launch.living.add(self)

    @property
    def process_id(self) -> int:
        """Process id of the worker."""
        return self.peer.process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs and its stdout is open."""
        process = self.peer.process
        return not process.exited.is_set() and not process.output_ended.is_set()

    async def initialize(self) -> Reply:
        """Send `initialize` and keep the method list.

        Raises `ProviderFault` for everything that makes a host give up on the worker (protocol.md section 5).
        """
        params = initialize_params(self.launch.package.manifest, self.launch.contract)
        reply = self.greeting = await self.call(MethodName("initialize"), params)
        result: Any = reply.result
        if not isinstance(result, dict) or not result.get("ok"):  # type: ignore[union-attr]
            raise MalformedAnswer(reply.method, RequirementId("INIT-001"), f"its result is not ok: {result!r}"[:300])
        listed: Any = result.get("supportedMethods")  # type: ignore[union-attr]
        self.initialized, self.supported = True, listed
        if isinstance(listed, list) and all(isinstance(name, str) for name in cast("list[Any]", listed)):
            self.methods = tuple(cast("list[str]", listed))
        return reply

    async def call(
        self,
        method: MethodName,
        params: JsonObject,
        *,
        on_sent: Callable[[FrameNumber, Invocation | None], None] | None = None,
        seconds: float | None = None,
        beside: JsonObject | None = None,
    ) -> Reply:
        """One request with the host's invocation context and the host's patience; raises `ProviderFault`.

        `beside` are more keys next to `params`, as a newer host may send them.
        """
        if method == "configChanged":
            # The host has stored the settings before it tells the worker; from then on they can be asked for.
            self.launch.store.configs[str(params.get("companyId"))] = object_of(params.get("config"))
        rule = self.launch.contract.methods.get(method)
        invocation = self.invocations.start(method, params) if rule is None or rule.invocation else None
        limit, allowed = self.launch.limits.of_call(method, params)
        try:
            return await self.peer.call(
                method,
                params,
                seconds=allowed if seconds is None else seconds,
                limit=limit,
                beside={**(beside or {}), **(invocation.beside_params if invocation is not None else {})},
                on_sent=(lambda frame: on_sent(frame, invocation)) if on_sent is not None else None,
            )
        finally:
            if invocation is not None:
                self.invocations.end(invocation)

    async def stop(self) -> None:
        """The host's ladder: `shutdown`, grace, SIGTERM, SIGKILL; then whatever is left of the process group.

        A worker that did not initialize is killed at once, as the host does.
        """
        limits = self.launch.limits
        process = self.peer.process
        if self.alive and self.initialized:
            try:
                await self.call(MethodName("shutdown"), {})
                gone = await process.wait_exit(limits.seconds("shutdown_grace"))
            except ProviderFault:
                gone = await process.wait_exit(limits.seconds("shutdown_grace"))
            if not gone:
                process.send_signal(signal.SIGTERM)
                await process.wait_exit(limits.seconds("terminate_grace"))
        await self.kill()

    async def kill(self) -> None:
        """End the process at once, with everything in its process group."""
        await self.peer.process.kill()
        self.launch.living.discard(self)

    def _serve(self, message: JsonObject, frame: FrameNumber) -> None:
        method = message.get("method")
        needed = self.launch.contract.worker_methods.get(method) if isinstance(method, str) else None
        if needed is not None and needed not in self.launch.capabilities:
            self.peer.violates("RPC-017", f"{method} was asked without the manifest capability {needed}", frame)
        self.services.answer(message, frame, self._send)

    def _send(self, message: JsonObject) -> None:
        self.peer.send_message(message)

    def _note(self, received: Received) -> None:
        message = received.message
        self.notices.append(
            Notice(
                method=str(message.get("method")),
                invocation=message.get("paperclipInvocationId"),
                frame=received.frame,
                seconds=time.monotonic(),
                open_call=self.invocations.find(message.get("paperclipInvocationId")),
                received=received,
            )
        )


def own_environment() -> dict[str, str]:
    """The kit's environment, read once at the edge."""
    return dict(os.environ)
