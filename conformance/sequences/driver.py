"""The steps of a sequence on a live provider: each tells itself, does one thing, and compares with the facts."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from conformance.answer import Answer, answer_of
from conformance.errors import ProviderFault
from conformance.evidence import Blocked, show
from conformance.host.lease import Lease
from conformance.overlap import until_file
from conformance.provider import Launcher, Provider
from conformance.sequences.actions import FILES, Action, Kind
from conformance.sequences.broken import Broken
from conformance.sequences.facts import Facts, Since, Standing
from conformance.steps import (
    Outcome,
    give_back,
    initialize_worker,
    lease_of,
    outcome_of,
    quote,
    realize_workspace,
    resume_lease,
)

EXTRA_LEASES = 1
"""Leases that sequences may make and end beside the two that they are given (our choice: each costs money)."""

MORE_WHEN_BROKEN = 12
"""Leases granted on top to find the shortest sequence that goes wrong (our choice: a short one is worth them)."""

ABSENT, END = "ABSENT", "--END--"


@dataclass
class Driver:
    """Workers and leases that outlive a sequence. `single` is never ended, `reusable` only released and resumed."""

    launcher: Launcher
    single: Lease
    reusable: Lease | None
    gone: Lease
    provider: Provider
    stack: contextlib.AsyncExitStack
    budget: int = EXTRA_LEASES
    kept: bool = False
    steps: list[str] = field(default_factory=list[str])
    place: str = ""

    # -- a sequence begins and ends

    async def begin(self) -> dict[str, Facts]:
        """Bring every lease into the state in which each sequence starts: active, and without files of its own."""
        self.steps, self.place = [], self.provider.new_id()
        self.provider = await self._alive()
        facts = {"A": Facts("A", self.single, reusable=False)}
        if self.reusable is not None:
            if self.kept:
                self.reusable = await resume_lease(self.provider, self.reusable)
                self.kept = False
            facts["B"] = Facts("B", await realize_workspace(self.provider, self.reusable), reusable=True)
        for each in facts.values():
            await self._make_place(each.lease)
        return facts

    async def look_at_all(self, facts: dict[str, Facts]) -> None:
        """What became of everything that was written, in each lease that takes commands."""
        for each in facts.values():
            if each.standing is Standing.ACTIVE:
                await self.read(each, FILES)

    async def end(self, facts: dict[str, Facts]) -> None:
        """End the lease that the sequence made, if it has not done so itself."""
        extra = facts.get("C")
        if extra is not None and extra.real and extra.standing is Standing.ACTIVE:
            self.provider = await self._alive()
            await answer_of(self.provider.destroy(extra.lease))

    async def do(self, action: Action, facts: dict[str, Facts]) -> bool:
        """Take one step; False where it makes no sense as things are, because steps before it were left out."""
        each = facts.get(action.lease)
        if action.lease and (each is None or (action.needs_commands and each.standing is not Standing.ACTIVE)):
            return False
        match action, each:
            case Action(Kind.WRITE, file=file), Facts():
                await self.write(each, file)
            case Action(Kind.READ), Facts():
                await self.read(each, FILES)
            case Action(Kind.RELEASE), Facts():
                await self.release(each)
            case Action(Kind.RESUME), Facts():
                await self.resume(each)
            case Action(Kind.DESTROY), Facts():
                await self.destroy(each)
            case Action(Kind.KILL_IN_A_WRITE, file=file), Facts():
                await self.kill_in_a_write(facts, each, file)
            case _:
                await self._do_without_a_lease(action, facts)
        return True

    async def _do_without_a_lease(self, action: Action, facts: dict[str, Facts]) -> None:
        match action.kind:
            case Kind.ACQUIRE:
                await self.acquire(facts)
            case Kind.RELEASE_THE_GONE:
                await self.end_the_gone(destroy=False)
            case Kind.DESTROY_THE_GONE:
                await self.end_the_gone(destroy=True)
            case Kind.RESUME_THE_GONE:
                await self.resume_the_gone()
            case Kind.RESTART:
                await self.restart(facts)
            case _:
                await self.kill(facts)

    # -- steps

    async def acquire(self, facts: dict[str, Facts]) -> None:
        """One more single-use lease."""
        if self.budget <= 0:
            facts["C"] = Facts("C", self.gone, reusable=False, real=False)
            return
        self.budget -= 1
        self._tell("acquire lease C")
        answer = await self._answered(self.provider.acquire())
        lease = lease_of(self.provider, answer)
        ids = {each.lease.id for each in facts.values()}
        self._demand(answer, lease.id not in ids, "LEASE-009", "the id of a new lease is new", f"it is {lease.id}")
        facts["C"] = Facts("C", await realize_workspace(self.provider, lease), reusable=False)
        await self._make_place(lease)

    async def write(self, facts: Facts, file: str) -> None:
        """A new text into a file, over a command's stdin."""
        text = self.provider.new_id()
        if not facts.real:
            return
        self._tell(f"write {text[:8]} to {file} in {facts.name}")
        outcome = await self._run(facts, f"cat > {self._path(facts, file)}", stdin=f"{text}\n")
        self._demand(
            outcome, outcome.exit_code == 0, "EXEC-013", "a command that reads stdin ends with 0", outcome.came
        )
        facts.write(file, text)

    async def read(self, facts: Facts, files: Sequence[str]) -> None:
        """What each file holds, or that it is not there."""
        if not facts.real:
            return
        self._tell(f"read {' and '.join(files)} in {facts.name}")
        paths = [self._path(facts, file) for file in files]
        outcome = await self._run(
            facts, "; ".join(f"if [ -e {path} ]; then cat {path}; else echo {ABSENT}; fi; echo {END}" for path in paths)
        )
        pieces = outcome.stdout.split(f"{END}\n")[:-1]
        whole = len(pieces) == len(files)
        self._demand(outcome, whole, "EXEC-016", "the output of a command comes back whole", outcome.came)
        for file, seen in zip(files, (piece.removesuffix("\n") for piece in pieces), strict=True):
            wanted = facts.expected(file)
            if wanted is None:
                self._demand(outcome, seen == ABSENT, "LEASE-009", f"{file} is not in {facts.name}", outcome.came)
            elif wanted.text is not None:
                self._demand(
                    outcome, seen == wanted.text, wanted.since, f"{file} holds {show(wanted.text)}", outcome.came
                )

    async def release(self, facts: Facts) -> None:
        """The end of a single-use lease, or a rest for one that is kept."""
        if not facts.real:
            facts.standing = Standing.ENDED
            return
        self._tell(f"release {facts.name}")
        await self._answered(self.provider.release(facts.lease), "LEASE-014")
        if facts.reusable:
            facts.standing, self.kept = Standing.KEPT, True
            facts.note(Since.RELEASE)
        else:
            facts.standing = Standing.ENDED

    async def resume(self, facts: Facts) -> None:
        """A kept lease, or one that is active, for the next run."""
        self._tell(f"resume {facts.name}")
        rule = "LEASE-024" if facts.standing is Standing.KEPT else "LEASE-027"
        answer = await self._answered(self.provider.resume(facts.lease), rule)
        handed_out = bool(answer.fields.get("providerLeaseId"))
        self._demand(answer, handed_out, rule, f"resume hands {facts.name} out", answer.came)
        facts.lease = await realize_workspace(self.provider, lease_of(self.provider, answer))
        facts.standing, self.kept, self.reusable = Standing.ACTIVE, False, facts.lease

    async def destroy(self, facts: Facts) -> None:
        """The end of a lease in whatever state."""
        if not facts.real:
            facts.standing = Standing.ENDED
            return
        self._tell(f"destroy {facts.name}")
        rule = "LEASE-021" if facts.standing is Standing.ENDED else "LEASE-020"
        await self._answered(self.provider.destroy(facts.lease), rule)
        facts.standing = Standing.ENDED

    async def end_the_gone(self, *, destroy: bool) -> None:
        """Release or destroy of a lease that was destroyed long ago."""
        self._tell(f"{'destroy' if destroy else 'release'} a lease that was destroyed before")
        call = self.provider.destroy(self.gone) if destroy else self.provider.release(self.gone)
        await self._answered(call, "LEASE-021" if destroy else "LEASE-013")

    async def resume_the_gone(self) -> None:
        """Resume of a lease that was destroyed long ago."""
        self._tell("resume a lease that was destroyed before")
        answer = await answer_of(self.provider.resume(self.gone))
        handed_out = bool(answer.fields.get("providerLeaseId"))
        # It is none of those that were set aside, and the next try would make one more.
        await give_back(self.provider, answer)
        self._demand(answer, not handed_out, "LEASE-028", "resume hands no sandbox out", answer.came)

    async def restart(self, facts: dict[str, Facts]) -> None:
        """The worker is shut down, and another one takes over."""
        self._tell("shut the worker down and start another")
        await self.provider.worker.stop()
        await self._take_over(facts)

    async def kill(self, facts: dict[str, Facts]) -> None:
        """The worker is killed, and another one takes over."""
        self._tell("kill the worker and start another")
        await self.provider.worker.kill()
        await self._take_over(facts)

    async def kill_in_a_write(self, facts: dict[str, Facts], each: Facts, file: str) -> None:
        """The worker is killed while a command writes; of that file nothing is known afterwards."""
        self._tell(f"kill the worker while {file} is written in {each.name}, and start another")
        begun = f"{each.lease.remote_cwd}/{self.place}/begun-{self.provider.new_id()}"
        script = f"echo new > {self._path(each, file)}; : > {quote(begun)}; sleep 5"
        writing = asyncio.ensure_future(answer_of(self.provider.execute(each.lease, each.lease.shell, ["-c", script])))
        await self._run(each, until_file(begun, self.provider.launch.limits.seconds("bridge")))
        await self.provider.worker.kill()
        await writing
        each.forget(file)
        await self._take_over(facts)

    # -- below the steps

    async def _take_over(self, facts: dict[str, Facts]) -> None:
        self.provider = await self._alive()
        for each in facts.values():
            each.note(Since.WORKER)

    async def _alive(self) -> Provider:
        if self.provider.worker.alive:
            return self.provider
        started = await self.stack.enter_async_context(self.launcher.worker(tenant=self.provider.tenant))
        await initialize_worker(started)
        return started

    async def _make_place(self, lease: Lease) -> None:
        await self._script(lease, f"mkdir -p {quote(f'{lease.remote_cwd}/{self.place}')}")

    def _path(self, facts: Facts, file: str) -> str:
        return quote(f"{facts.lease.remote_cwd}/{self.place}/{file}")

    async def _run(self, facts: Facts, script: str, **options: str) -> Outcome:
        return await self._script(facts.lease, script, **options)

    async def _script(self, lease: Lease, script: str, **options: str) -> Outcome:
        call = self.provider.execute(lease, lease.shell, ["-c", script], stdin=options.get("stdin"))
        return outcome_of(await self._answered(call, "EXEC-002"))

    async def _answered(self, call: "asyncio.Future[Answer] | object", rule: str = "LEASE-001") -> Answer:
        answer = await answer_of(call)  # type: ignore[arg-type]
        self._demand(answer, answer.fault is None, rule, f"{answer.method} is answered with a result", answer.came)
        return answer

    def _demand(self, evidence: Answer | Outcome, holds: bool, rule: str, that: str, observed: str) -> None:  # noqa: FBT001
        if not holds:
            raise Broken(evidence, rule, that, observed)

    def _tell(self, step: str) -> None:
        self.steps.append(step)


@contextlib.asynccontextmanager
async def driver_for(launcher: Launcher, single: Lease, reusable: Lease | None, gone: Lease) -> AsyncGenerator[Driver]:
    """A driver with a worker of its own, which is stopped at the end with all that replaced it.

    `reusable` was released; at the end it is destroyed.
    """
    async with contextlib.AsyncExitStack() as stack:
        provider = await stack.enter_async_context(launcher.worker(tenant=single.tenant))
        await initialize_worker(provider)
        driver = Driver(launcher, single, reusable, gone, provider, stack, kept=reusable is not None)
        try:
            yield driver
        finally:
            if driver.reusable is not None:
                with contextlib.suppress(ProviderFault, Blocked):
                    await driver.provider.destroy(driver.reusable)
