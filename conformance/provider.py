"""The provider as a check sees it: one method a call, every answer kept as evidence."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from conformance.answer import Answer, answer_of, evidence_of
from conformance.calls import Calls
from conformance.errors import AnswerTimeout, KitError, ProviderFault, RpcError
from conformance.evidence import Trace
from conformance.files.canaries import disturbances, make_folder
from conformance.host.invocation import Invocation
from conformance.host.lease import Keeper, Lease
from conformance.host.params import ParamsMaker
from conformance.host.setup import Setup, Template, setup_of, template_of
from conformance.host.tenant import Tenant, host_time, random_uuid
from conformance.host.worker import Launch, Worker
from conformance.ledger import Ending, Entry, Kind, Ledger
from conformance.model import FrameNumber, Json, JsonObject, MethodName, object_of
from conformance.purse import NoRoom
from conformance.subject import Subject

__all__ = ["Answer", "Launcher", "Provider", "answer_of", "evidence_of"]

ROOM_S = 20.0
"""How long one more lease than was set aside is waited for (our choice: longer, and two checks wait for each other)."""

LOOK_AGAIN_S = 0.1
"""Between two looks whether there is room (our choice)."""

T = TypeVar("T")

SETUP_S = 3600.0
"""How long a setup may last (contract: the host's default)."""


async def uncut(making: Coroutine[Any, Any, T]) -> T:
    """See a call through that makes something, also when the check is cut off: what nobody can name is lost."""
    task = asyncio.ensure_future(making)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise


class Provider(Calls):
    """One live worker in the hands of one check. Calls return an `Answer` or raise a `ProviderFault`.

    What makes or ends something at the backend stands here, under the ledger's eyes; the other calls, in `Calls`.
    """

    def __init__(self, trace: Trace, worker: Worker, subject: Subject, ledger: Ledger, source: random.Random) -> None:
        self.trace = trace
        self.worker = worker
        self.subject = subject
        self.ledger = ledger
        self.random = source
        self.tenant = Tenant.make(source)
        self._folders: list[Path] = []
        self.make = ParamsMaker(subject.driver_key)
        self.keeper = Keeper(
            subject.driver_key,
            subject.plugin_id,
            frozenset(subject.contract.internal_keys),
            subject.secret_names,
        )

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
        """The config of a single-use environment, secrets filled in."""
        return {**self.subject.config, "reuseLease": False}

    @property
    def reuse_config(self) -> dict[str, Json]:
        """The config of a reusable environment, secrets filled in."""
        return {**self.subject.config, "reuseLease": True}

    @property
    def stored_config(self) -> dict[str, Json]:
        """The config of a single-use environment as the host stores it, with the ids of secrets."""
        return {**self.subject.stored_config, "reuseLease": False}

    @property
    def launch(self) -> Launch:
        """How its workers are started."""
        return self.worker.launch

    @property
    def scratch(self) -> Path:
        """An empty host directory of the run, outside the package and outside the workers' directory."""
        folder = make_folder(self._scratch_root, str(random_uuid(self.random)))
        self._folders.append(folder)
        return folder

    @property
    def _scratch_root(self) -> Path:
        return self.launch.directory.parent / "scratch"

    @property
    def greeting(self) -> Answer:
        """What this worker answered to `initialize`, which may have been before the check began."""
        reply = self.worker.greeting
        if reply is None:
            raise KitError("The greeting of a worker was wanted that has not answered initialize.")
        return self._answer(reply.method, {}, (reply.sent, reply.received), time.monotonic(), reply.result, None, None)

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
        self.trace.spent((time.monotonic() - started) / self.launch.limits.seconds("initialize"))
        return self._answer(method, params, (reply.sent, reply.received), started, reply.result, None, None)

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

    async def acquire_with(self, params: JsonObject, tenant: Tenant | None = None) -> Answer:
        """`environmentAcquireLease` with the given params, under the ledger's eyes; `tenant` when it is another one.

        The lease is ended in the name of the tenant that has it: a provider must refuse everybody else.
        """
        return await uncut(self._acquire_with(params, self.tenant if tenant is None else tenant))

    async def _acquire_with(self, params: JsonObject, owner: Tenant) -> Answer:
        entry = await self._intend(Kind.LEASE, params)
        # The flag of a test's acquire means nothing to a single-use lease, so such a one is like any other.
        config = {**object_of(params.get("config"))}
        config.pop("archiveOnRelease", None)
        entry.plain = config == self.config and "requestedExpiresAt" not in params
        try:
            answer = await self.call("environmentAcquireLease", params)
        except ProviderFault as fault:
            self._unanswered(entry, fault)
            raise
        self.ledger.answer(entry, self.keeper.lease(entry.label, owner, params, answer.result))
        if entry.lease is None or entry.lease.id is None:
            # Only null says that there is nothing to clean up; no id at all may mean a sandbox that nobody can name.
            nothing = entry.lease is not None and answer.fields.get("providerLeaseId", "") is None
            self.ledger.settle(entry, Ending.NEVER_OPENED if nothing else Ending.UNKNOWN)
        return answer

    def leased(self, answer: Answer) -> Lease | None:
        """The lease of an acquire or resume answer; None when it holds none."""
        known = next((entry for entry in self.ledger.entries if _names(entry, answer)), None)
        label, tenant = ("?", self.tenant) if known is None else (known.label, _tenant_of(known, self.tenant))
        return self.keeper.lease(label, tenant, answer.params, answer.result)

    async def _intend(self, kind: Kind, params: JsonObject) -> Entry:
        """Note what is about to be made; where no lease was set aside for it and there is no room, wait for a while."""
        for _ in range(round(ROOM_S / LOOK_AGAIN_S)):
            with contextlib.suppress(NoRoom):
                return self.ledger.intend(self.trace.check, kind, params)
            self.trace.waits_for = "waits for a free lease"
            await asyncio.sleep(LOOK_AGAIN_S)
        return self.ledger.intend(self.trace.check, kind, params)

    async def resume(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentResumeLease` with the stored config of a reusable environment."""
        stored = self.reuse_config if config is None else config
        answer = await self.call("environmentResumeLease", self.make.resume(lease, stored))
        resumed = self.keeper.lease("", lease.tenant, answer.params, answer.result)
        if resumed is not None and resumed.id is not None and resumed.id != lease.id:
            # Another sandbox was handed out, wanted or not: it is ours to close.
            entry = self.ledger.intend(self.trace.check, params=answer.params, unasked=True)
            self.ledger.answer(entry, self.keeper.lease(entry.label, lease.tenant, answer.params, answer.result))
        return answer

    async def release(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentReleaseLease`; a release without `reuseLease` closes the ledger's entry."""
        params = self.make.end(lease, config)
        answer = await self.call("environmentReleaseLease", params)
        if object_of(params.get("config")).get("reuseLease") is not True:
            self.ledger.settle_lease(lease.label, Ending.RELEASED)
        return answer

    async def destroy(self, lease: Lease, config: JsonObject | None = None) -> Answer:
        """`environmentDestroyLease`; success closes the ledger's entry."""
        answer = await self.call("environmentDestroyLease", self.make.end(lease, config))
        self.ledger.settle_lease(lease.label, Ending.DESTROYED)
        return answer

    async def start_setup(
        self,
        config: JsonObject | None = None,
        *,
        expires_at: str | None = None,
        source_ref: str | None = None,
        source_kind: str | None = None,
    ) -> Answer:
        """`environmentStartInteractiveSetup`, ending in an hour unless told otherwise; `set_up` makes the `Setup`."""
        params = self.make.start_setup(
            self.tenant,
            self._or_own(config),
            self.new_id(),
            expires_at=host_time(SETUP_S) if expires_at is None else expires_at,
            source_ref=source_ref,
            source_kind=source_kind,
        )
        return await uncut(self._start_setup(params))

    async def _start_setup(self, params: JsonObject) -> Answer:
        entry = await self._intend(Kind.SETUP, params)
        try:
            answer = await self.call("environmentStartInteractiveSetup", params)
        except ProviderFault as fault:
            self._unanswered(entry, fault)
            raise
        setup = self.set_up(answer)
        self.ledger.answer(entry, setup)
        if setup is None or setup.id is None:
            self.ledger.settle(entry, Ending.UNKNOWN if setup is None else Ending.NEVER_OPENED)
        return answer

    def set_up(self, answer: Answer) -> Setup | None:
        """The setup of a start's answer; None when it holds none."""
        return setup_of(self.tenant, answer.params, answer.result)

    async def cancel_setup(self, setup: Setup, reason: str = "the operator gave up", *, bare: bool = False) -> Answer:
        """`environmentCancelInteractiveSetup`; success closes the entry. `bare` leaves the host's record out."""
        params = self.make.cancel_setup(setup, reason, bare=bare)
        answer = await self.call("environmentCancelInteractiveSetup", params)
        self.ledger.settle_held(setup, Ending.DESTROYED)
        return answer

    async def capture_template(self, setup: Setup, *, previous_ref: str | None = None) -> Answer:
        """`environmentCaptureTemplate`; the template is removed with the check's leases if nobody does it before."""
        label = f"paperclip-{setup.tenant.environment}-{self.new_id()[:8]}"
        params = self.make.capture(setup, label=label, previous_ref=previous_ref)
        entry = self.ledger.intend(self.trace.check, Kind.TEMPLATE, params)
        try:
            answer = await self.call("environmentCaptureTemplate", params)
        except ProviderFault as fault:
            self._unanswered(entry, fault)
            raise
        template = template_of(setup, answer.result)
        self.ledger.answer(entry, template)
        if template is None:
            self.ledger.settle(entry, Ending.UNKNOWN)
        return answer

    async def delete_template(self, template: Template) -> Answer:
        """`environmentDeleteTemplate`; success closes the ledger's entry."""
        answer = await self.call("environmentDeleteTemplate", self.make.delete_template(template))
        self.ledger.settle_held(template, Ending.DESTROYED)
        return answer

    async def sync_out(self, lease: Lease, operations: Sequence[JsonObject]) -> Answer:
        """`environmentSyncOut`. What it changes outside of every mapping counts, whatever is being checked."""
        try:
            return await super().sync_out(lease, operations)
        finally:
            for problem in disturbances(self._scratch_root, self._folders):
                self.worker.peer.violates("SYNC-018", problem, self.worker.peer.transcript.last)

    async def call(
        self, method: str, params: JsonObject, *, seconds: float | None = None, beside: JsonObject | None = None
    ) -> Answer:
        """Any request, with the host's invocation context and time limit; `seconds` replaces that limit.

        `beside` are more keys next to `params`.
        """
        name = MethodName(method)
        started = time.monotonic()
        sent: list[FrameNumber] = []
        invocations: list[Invocation | None] = []

        def note(frame: FrameNumber, invocation: Invocation | None) -> None:
            sent.append(frame)
            invocations.append(invocation)

        _, allowed = self.launch.limits.of_call(name, params)
        self.trace.waits_for = name
        try:
            reply = await self.worker.call(name, params, on_sent=note, seconds=seconds, beside=beside)
        except ProviderFault as fault:
            invocation = invocations[0] if invocations else None
            raise self._failed(name, params, tuple(sent), started, fault, invocation) from fault
        self.trace.spent((time.monotonic() - started) / allowed)
        if name in {"environmentReleaseLease", "environmentDestroyLease"}:
            # Sent as it is, for what the check has in mind: whatever became of the lease, nobody can go on with it.
            self.ledger.wear_out(params.get("providerLeaseId"))
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

    def _unanswered(self, entry: Entry, fault: ProviderFault) -> None:
        refused = isinstance(fault, RpcError)
        self.ledger.settle(entry, Ending.NEVER_OPENED if refused else Ending.UNKNOWN)

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
        worker = self.launch.start(self.trace.check, acting_for, environment)
        provider = Provider(self.trace, worker, self.subject, self.ledger, self.random)
        provider.tenant = acting_for
        try:
            yield provider
        finally:
            await worker.stop()


def _tenant_of(entry: Entry, otherwise: Tenant) -> Tenant:
    return entry.lease.tenant if entry.lease is not None else otherwise


def _names(entry: Entry, answer: Answer) -> bool:
    return entry.lease is not None and entry.lease.id == answer.fields.get("providerLeaseId")
