"""Verbs for the first breath of a check: they bring about a situation and assert nothing.

When a step fails, the check behind it is blocked by the rule that the step stands on; that rule has checks of its own.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.answer import Answer, answer_of, evidence_of
from conformance.errors import ProviderFault
from conformance.evidence import Blocked, Trace, cut, show, show_start
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.ledger import Held
from conformance.model import FrameNumber, MethodName, RequirementId, object_of
from conformance.provider import Provider

EXECUTE = MethodName("environmentExecute")


@dataclass(frozen=True)
class Outcome:
    """How a command ended, in the shape that the contract demands. Evidence for a check."""

    answer: Answer = field(repr=False)
    exit_code: int | None
    timed_out: bool
    stdout: str
    stderr: str
    signal: str | None

    @property
    def trace(self) -> Trace:
        """The check that ran it."""
        return self.answer.trace

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """Request and answer."""
        return self.answer.frames

    @property
    def sent(self) -> str:
        """The command in short."""
        params = self.answer.params
        return f"environmentExecute {cut(show([params.get('command'), params.get('args')]), 300)}"

    @property
    def seconds(self) -> float:
        """From request to answer."""
        return self.answer.seconds

    @property
    def came(self) -> str:
        """The ending in short."""
        ending = f"exitCode {self.exit_code}, timedOut {self.timed_out}"
        return f"{ending}, stdout {show_start(self.stdout, 200)}, stderr {show_start(self.stderr, 200)}"


async def initialize_worker(provider: Provider) -> Answer:
    """Get a worker that was only started ready for other calls."""
    return await _standing_on("INIT-001", provider.initialize())


def advertised_methods(provider: Provider) -> tuple[str, ...]:
    """What the worker says it can do; blocked by INIT-002 when it does not say so in a list of texts."""
    if provider.worker.methods is None:
        raise Blocked(RequirementId("INIT-002"), f"there is no list of methods: {provider.greeting.came}")
    return provider.worker.methods


async def acquire(provider: Provider, *, reuse: bool = False) -> tuple[Answer, Lease]:
    """An acquire's answer, and the lease in it."""
    answer = await _standing_on("LEASE-001", provider.acquire(provider.reuse_config if reuse else provider.config))
    return answer, lease_of(provider, answer)


def lease_of(provider: Provider, answer: Answer) -> Lease:
    """The lease in the answer to an acquire; blocked by LEASE-001 when there is none."""
    lease = provider.leased(answer)
    if lease is None or lease.id is None:
        raise Blocked(RequirementId("LEASE-001"), f"acquire gave no lease: {answer.came}", answer.frames)
    return lease


async def acquire_lease(provider: Provider, *, reuse: bool = False) -> Lease:
    """A lease whose workspace is not realized yet."""
    return (await acquire(provider, reuse=reuse))[1]


async def realized_lease(provider: Provider, *, reuse: bool = False) -> Lease:
    """A lease that is ready for commands."""
    return await realize_workspace(provider, await acquire_lease(provider, reuse=reuse))


async def realize_workspace(provider: Provider, lease: Lease) -> Lease:
    """Make the workspace directory of a lease; the lease, with the host's account of that in its record.

    Blocked by LEASE-005 when the lease does not say where that is, for in ``/tmp`` leases would meet; or when there is
    no such directory.
    """
    if not str(lease.metadata.get("remoteCwd")).startswith("/"):
        raise Blocked(RequirementId("LEASE-005"), "the metadata of the lease name no absolute remoteCwd")
    answer = await _standing_on("WS-001", provider.realize(lease))
    ready = lease.realized(str(object_of(answer.params.get("workspace")).get("localPath")))
    script = f"[ -d {quote(ready.remote_cwd)} ] || echo missing"
    seen = await answer_of(provider.execute(ready, ready.shell, ["-c", script], cwd="/"))
    if str(seen.fields.get("stdout")).strip() == "missing":
        raise Blocked(RequirementId("LEASE-005"), f"realize made no directory {ready.remote_cwd}", seen.frames)
    return ready


async def release_lease(provider: Provider, lease: Lease) -> None:
    """End a single-use lease, or suspend a reusable one."""
    await _standing_on("LEASE-014", provider.release(lease))


async def destroy_lease(provider: Provider, lease: Lease) -> None:
    """Remove a lease for good."""
    await _standing_on("LEASE-020", provider.destroy(lease))


async def remove(provider: Provider, held: Held) -> None:
    """End whatever it is that the run has made: destroy, cancel or delete it. Raises `ProviderFault`."""
    match held:
        case Lease():
            await provider.destroy(held)
        case Setup():
            await provider.cancel_setup(held)
        case Template():
            await provider.delete_template(held)


async def give_back(provider: Provider, answer: Answer) -> None:
    """Destroy the lease that an answer holds, wanted or not, if it holds one; what becomes of that is not looked at."""
    lease = provider.leased(answer)
    if lease is not None and lease.id is not None:
        await answer_of(provider.destroy(lease))


async def resume_lease(provider: Provider, lease: Lease) -> Lease:
    """Bring a released reusable lease back."""
    return (await resume(provider, lease))[1]


async def resume(provider: Provider, lease: Lease) -> tuple[Answer, Lease]:
    """A resume's answer, and the lease in it."""
    answer = await _standing_on("LEASE-024", provider.resume(lease))
    resumed = provider.leased(answer)
    if resumed is None or resumed.id is None:
        raise Blocked(RequirementId("LEASE-024"), f"resume gave no lease: {answer.came}", answer.frames)
    return answer, resumed


async def run_script(provider: Provider, lease: Lease, script: str, **options: Any) -> Outcome:
    """Run a shell script in a lease, whatever becomes of it; `options` are those of `Provider.execute`."""
    return outcome_of(await provider.execute(lease, lease.shell, ["-c", script], **options))


async def run_program(provider: Provider, lease: Lease, command: str, *args: str, **options: Any) -> Outcome:
    """Run a program with arguments; `options` are those of `Provider.execute`."""
    return outcome_of(await provider.execute(lease, command, list(args), **options))


async def write_file(provider: Provider, lease: Lease, path: str, text: str) -> None:
    """Put a text file into the sandbox, by a command that reads stdin."""
    outcome = await run_script(provider, lease, f"cat > {quote(path)}", stdin=text)
    if outcome.exit_code != 0:
        raise Blocked(RequirementId("EXEC-013"), f"a file could not be written: {outcome.came}", outcome.frames)


async def run_to_success(provider: Provider, lease: Lease, script: str, **options: Any) -> Outcome:
    """Run a script that has to work for the check to make sense."""
    outcome = await run_script(provider, lease, script, **options)
    if outcome.exit_code != 0 or outcome.timed_out:
        raise Blocked(RequirementId("EXEC-002"), f"a plain command did not succeed: {outcome.came}", outcome.frames)
    return outcome


def outcome_of(answer: Answer) -> Outcome:
    """The outcome in an answer; blocked by EXEC-001 when the answer has not its shape."""
    problems = execute_problems(answer)
    if problems:
        raise Blocked(RequirementId("EXEC-001"), f"the result of a command is malformed: {problems[0]}", answer.frames)
    result: Mapping[str, Any] = answer.fields
    return Outcome(
        answer=answer,
        exit_code=result.get("exitCode"),
        timed_out=bool(result.get("timedOut")),
        stdout=result["stdout"],
        stderr=result["stderr"],
        signal=result.get("signal"),
    )


def execute_problems(answer: Answer) -> list[str]:
    """What is wrong with the shape of an execute result, in sentences."""
    contract = answer.worker.launch.contract
    found = contract.result_problems(EXECUTE, answer.result)
    return [f"{problem.path}: {problem.message}" for problem in found if problem.severity == "error"]


def quote(text: str) -> str:
    """A word for a POSIX shell, quoted as the host quotes."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


async def _standing_on(requirement: str, call: Awaitable[Answer]) -> Answer:
    try:
        return await call
    except ProviderFault as fault:
        raise Blocked(RequirementId(requirement), fault.sentence(), evidence_of(fault).frames) from fault
