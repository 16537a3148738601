"""The provider as a check sees it: one method a call, every answer kept as evidence."""

import contextlib
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from conformance.errors import AnswerTimeout, KitError, ProviderFault, RpcError
from conformance.evidence import Trace, cut, show
from conformance.host.invocation import Invocation
from conformance.host.params import Lease, ParamsMaker
from conformance.host.tenant import Tenant, random_uuid
from conformance.host.worker import Launch, Notice, Worker
from conformance.ledger import Ending, Entry, Ledger
from conformance.model import FrameNumber, Json, JsonObject, MethodName
from conformance.subject import Subject


@dataclass(frozen=True)
class Answer:
    """What became of one call: a result, or the fault that came instead. Evidence for a check."""

    trace: Trace = field(repr=False)
    method: MethodName
    params: JsonObject = field(repr=False)
    frames: tuple[FrameNumber, ...]
    seconds: float
    result: Json
    fault: ProviderFault | None
    invocation: Invocation | None
    worker: Worker = field(repr=False)

    @property
    def sent(self) -> str:
        """The request in short."""
        return f"{self.method} {cut(show(self.params), 300)}"

    @property
    def came(self) -> str:
        """The answer in short."""
        return self.fault.sentence() if self.fault is not None else f"a result: {cut(show(self.result), 300)}"

    @property
    def fields(self) -> Mapping[str, Any]:
        """The result as an object; empty when it is none."""
        return cast("Mapping[str, Any]", self.result) if isinstance(self.result, Mapping) else {}

    @property
    def error_code(self) -> int | float | None:
        """The code of the error answer; None for a result and for any other fault."""
        return self.fault.code if isinstance(self.fault, RpcError) else None

    @property
    def notices(self) -> list[Notice]:
        """Notifications that carried the invocation id of this call."""
        if self.invocation is None:
            return []
        return [notice for notice in self.worker.notices if notice.invocation == self.invocation.id]


class Provider:
    """One live worker in the hands of one check. Calls return an `Answer` or raise a `ProviderFault`."""

    def __init__(self, trace: Trace, worker: Worker, subject: Subject, ledger: Ledger, source: random.Random) -> None:
        self.trace = trace
        self.worker = worker
        self.subject = subject
        self.ledger = ledger
        self.random = source
        self.tenant = Tenant.make(source)
        self.make = ParamsMaker(subject.driver_key, subject.plugin_id, subject.contract)

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """The newest frame: where the check is now."""
        return (self.worker.peer.transcript.last,)

    @property
    def sent(self) -> str:
        """Nothing in particular."""
        return ""

    @property
    def config(self) -> dict[str, Json]:
        """The config of a single-use environment, as the host stores it."""
        return {"reuseLease": False, **self.subject.config}

    @property
    def reuse_config(self) -> dict[str, Json]:
        """The config of a reusable environment."""
        return {**self.subject.config, "reuseLease": True}

    @property
    def launch(self) -> Launch:
        """How its workers are started."""
        return self.worker.launch

    @property
    def scratch(self) -> Path:
        """An empty host directory of the run, outside the package and outside the workers' directory."""
        folder = self.launch.directory.parent / "scratch" / str(random_uuid(self.random))
        folder.mkdir(parents=True)
        return folder

    def new_id(self) -> str:
        """A fresh UUID from the seed of the run."""
        return str(random_uuid(self.random))

    async def initialize(self) -> Answer:
        """Only for a worker that was started without it."""
        started = time.monotonic()
        before = self.worker.peer.transcript.last
        params: JsonObject = {}
        method = MethodName("initialize")
        try:
            reply = await self.worker.initialize()
        except ProviderFault as fault:
            raise self._failed(method, params, (before,), started, fault, None) from fault
        return self._answer(method, params, (reply.sent, reply.received), started, reply.result, None, None)

    async def validate_config(self, config: JsonObject | None = None) -> Answer:
        """`environmentValidateConfig`, by default of the config under test, with the ids of its secrets."""
        stored = {"reuseLease": False, **self.subject.stored_config} if config is None else config
        return await self.call("environmentValidateConfig", self.make.validate_config(stored))

    async def probe(self, config: JsonObject | None = None) -> Answer:
        """`environmentProbe` of a draft environment."""
        return await self.call("environmentProbe", self.make.probe(self.tenant, self._or_own(config)))

    async def acquire(
        self, config: JsonObject | None = None, *, requested_expires_at: str | None = None, bare: bool = False
    ) -> Answer:
        """`environmentAcquireLease`. The ledger knows before it is sent; `leased` makes the `Lease` of the answer."""
        stored = self._or_own(config)
        params = (
            self.make.bare_acquire(self.tenant, stored, self.new_id())
            if bare
            else self.make.acquire(self.tenant, stored, self.new_id(), requested_expires_at=requested_expires_at)
        )
        return await self.acquire_with(params)

    async def acquire_with(self, params: JsonObject) -> Answer:
        """`environmentAcquireLease` with the given params, under the ledger's eyes."""
        entry = self.ledger.intend(self.trace.check)
        try:
            answer = await self.call("environmentAcquireLease", params)
        except ProviderFault as fault:
            refused = isinstance(fault, RpcError)
            self.ledger.settle(entry, Ending.NEVER_OPENED if refused else Ending.UNKNOWN)
            raise
        entry.lease = self.make.lease(entry.label, self.tenant, _config_of(params), answer.result)
        if entry.lease is None or entry.lease.id is None:
            self.ledger.settle(entry, Ending.UNKNOWN if entry.lease is None else Ending.NEVER_OPENED)
        return answer

    def leased(self, answer: Answer) -> Lease | None:
        """The lease of an acquire or resume answer; None when it holds none."""
        label = next((entry.label for entry in self.ledger.entries if _names(entry, answer)), "?")
        return self.make.lease(label, self.tenant, _config_of(answer.params), answer.result)

    async def resume(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentResumeLease` with the stored config of a reusable environment."""
        stored = self.reuse_config if config is None else config
        answer = await self.call("environmentResumeLease", self.make.resume(lease, stored))
        resumed = self.make.lease("", self.tenant, stored, answer.result)
        if resumed is not None and resumed.id is not None and resumed.id != lease.id:
            # Another sandbox was handed out, wanted or not: it is ours to close.
            entry = self.ledger.intend(self.trace.check)
            entry.lease = self.make.lease(entry.label, self.tenant, stored, answer.result)
        return answer

    async def release(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentReleaseLease`; a release without `reuseLease` closes the ledger's entry."""
        params = self.make.end(lease, config)
        answer = await self.call("environmentReleaseLease", params)
        if _config_of(params).get("reuseLease") is not True:
            self.ledger.settle_lease(lease.label, Ending.RELEASED)
        return answer

    async def destroy(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentDestroyLease`; success closes the ledger's entry."""
        answer = await self.call("environmentDestroyLease", self.make.end(lease, config))
        self.ledger.settle_lease(lease.label, Ending.DESTROYED)
        return answer

    async def realize(self, lease: Lease, local_path: str | None = None) -> Answer:
        """`environmentRealizeWorkspace`; `localPath` is a host directory that does not exist unless one is given."""
        path = str(self.launch.directory.parent / "workspace-of-the-host") if local_path is None else local_path
        return await self.call("environmentRealizeWorkspace", self.make.realize(lease, path))

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

    async def call(self, method: str, params: JsonObject, *, seconds: float | None = None) -> Answer:
        """Any request, with the host's invocation context and time limit; `seconds` replaces that limit."""
        name = MethodName(method)
        started = time.monotonic()
        sent: list[FrameNumber] = []
        invocations: list[Invocation | None] = []

        def note(frame: FrameNumber, invocation: Invocation | None) -> None:
            sent.append(frame)
            invocations.append(invocation)

        _, allowed = self.launch.limits.of_call(name, params)
        try:
            reply = await self.worker.call(name, params, on_sent=note, seconds=seconds)
        except ProviderFault as fault:
            invocation = invocations[0] if invocations else None
            raise self._failed(name, params, tuple(sent), started, fault, invocation) from fault
        self.trace.spent((time.monotonic() - started) / allowed)
        return self._answer(name, params, (reply.sent, reply.received), started, reply.result, None, invocations[0])

    @contextlib.asynccontextmanager
    async def fresh_worker(self, environment: Mapping[str, str] | None = None) -> AsyncGenerator["Provider"]:
        """A second worker process of the same provider, stopped by the host's ladder at the end.

        It acts for the same tenant, so leases can be handed over. Raises `ProviderFault` when it does not initialize.
        """
        launcher = Launcher(self.trace, self.launch, self.subject, self.ledger, self.random)
        async with launcher.worker(environment, self.tenant) as other:
            await other.initialize()
            yield other

    def _or_own(self, config: JsonObject | None) -> JsonObject:
        return self.config if config is None else config

    def _answer(
        self,
        method: MethodName,
        params: JsonObject,
        frames: tuple[FrameNumber, ...],
        started: float,
        result: Json,
        fault: ProviderFault | None,
        invocation: Invocation | None,
    ) -> Answer:
        seconds = time.monotonic() - started
        return Answer(self.trace, method, params, frames, seconds, result, fault, invocation, self.worker)

    def _failed(
        self,
        method: MethodName,
        params: JsonObject,
        frames: tuple[FrameNumber, ...],
        started: float,
        fault: ProviderFault,
        invocation: Invocation | None,
    ) -> ProviderFault:
        last = self.worker.peer.transcript.last
        seen = frames if isinstance(fault, AnswerTimeout) else tuple(dict.fromkeys((*frames, last)))
        answer = self._answer(method, params, seen, started, None, fault, invocation)
        fault.__dict__["answer"] = answer
        return fault


@dataclass(frozen=True)
class Launcher:
    """Starts workers for checks that judge the start itself. Evidence of nothing by itself."""

    trace: Trace
    launch: Launch
    subject: Subject
    ledger: Ledger
    random: random.Random

    @contextlib.asynccontextmanager
    async def worker(
        self, environment: Mapping[str, str] | None = None, tenant: Tenant | None = None
    ) -> AsyncGenerator[Provider]:
        """A worker that is started but not initialized; `environment` is added to the host's."""
        acting_for = Tenant.make(self.random) if tenant is None else tenant
        worker = self.launch.start(acting_for, environment)
        provider = Provider(self.trace, worker, self.subject, self.ledger, self.random)
        provider.tenant = acting_for
        try:
            yield provider
        finally:
            await worker.stop()


async def answer_of(call: Awaitable[Answer]) -> Answer:
    """The answer of a call, whether it is a result or a fault. Says nothing about which."""
    try:
        return await call
    except ProviderFault as fault:
        return evidence_of(fault)


def evidence_of(fault: ProviderFault) -> Answer:
    """The answer that a fault raised by a `Provider` call stands for."""
    answer = fault.__dict__.get("answer")
    if not isinstance(answer, Answer):
        raise KitError(f"A fault was not raised by a call: {fault}") from fault
    return answer


def _config_of(params: JsonObject) -> JsonObject:
    config = params.get("config")
    return cast("JsonObject", config) if isinstance(config, Mapping) else {}


def _names(entry: Entry, answer: Answer) -> bool:
    return entry.lease is not None and entry.lease.id == answer.fields.get("providerLeaseId")
