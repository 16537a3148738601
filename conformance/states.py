"""Leases in the states that a host meets: none, unknown, somebody else's, busy, past their end; and signs of an end.

Nothing here asserts. What a host may send about a lease is told in the contract's list of states and legal calls.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from string import digits

from conformance.answer import Answer, answer_of
from conformance.capabilities import claimed, verified_methods
from conformance.checks import Capability
from conformance.errors import ProviderFault, RpcError
from conformance.evidence import Blocked, Undecided
from conformance.host.lease import Lease
from conformance.host.tenant import Tenant, host_time
from conformance.model import Json, LeaseId, RequirementId
from conformance.overlap import GAVE_UP, PAUSE_S, until_file
from conformance.provider import Provider
from conformance.steps import (
    Outcome,
    quote,
    realize_workspace,
    realized_lease,
    release_lease,
    resume_lease,
    run_script,
    run_to_success,
)

NOBODY = "nobody"
"""Label of a lease that the ledger does not know, so that nothing said about it closes an entry."""

WRONG_SECRET = "rejected"  # noqa: S105 - a text that no backend takes for a secret of its own
"""In place of each secret of a config; the built-in provider knows it by this name."""

ENOUGH_DIGITS = 12
"""So many random digits never name a sandbox that somebody else has (our choice)."""

ENDS_S = (3.0, 30.0, 120.0)
"""How far away an end is asked for: the next one when the one before is refused (our choice)."""

RUNS_ON_S = 120.0
"""How long a busy lease would be busy if nobody ended it (our choice: longer than any limit that is waited for)."""

TICK_S = 0.2
"""Between two ticks of a clock in the sandbox, at least (our choice)."""

REST_S = 2.0
"""How long a released lease is left alone to see that nothing happens in it (our choice: ten ticks)."""

FAREWELL_S = 5.0
"""Patience for the answer of a command that was asked to end (our choice)."""


def no_lease(lease: Lease) -> Lease:
    """A lease without an id, as the host keeps it of an acquire that had nothing to hand out."""
    own = {key: value for key, value in lease.record.items() if key not in lease.metadata}
    return replace(lease, label=NOBODY, id=None, metadata={}, record=own)


def unknown_lease(provider: Provider, lease: Lease) -> Lease:
    """A lease with an id of the same shape that no provider ever gave out."""
    return replace(lease, label=NOBODY, id=LeaseId(another_id(provider.random, str(lease.id))))


def lookalikes(provider: Provider, lease: Lease) -> list[Lease]:
    """Leases whose ids begin as this one does, or are a beginning of it; ids so short might be in use are left out."""
    name = str(lease.id)
    ids = [f"{name}-{provider.new_id()}", *([name[:-1], name[:-4]] if _digits(name) >= ENOUGH_DIGITS else [])]
    return [replace(lease, label=NOBODY, id=LeaseId(number)) for number in ids]


def other_end(number: str) -> str:
    """A UUID that differs from another in its last digit only."""
    return f"{number[:-1]}{'0' if number[-1] != '0' else '1'}"


def seen_by_a_stranger(provider: Provider, lease: Lease) -> Lease:
    """The lease in the hands of another company, which somehow learned its id."""
    return replace(lease, label=NOBODY, tenant=Tenant.make(provider.random))


def with_wrong_secrets(provider: Provider, config: Mapping[str, Json]) -> dict[str, Json]:
    """A config whose secrets the backend does not accept."""
    return {**config, **dict.fromkeys(provider.subject.secret_names & config.keys(), WRONG_SECRET)}


async def neighbour_of(provider: Provider, lease: Lease, other: Lease) -> Lease:
    """Another lease of the same company, environment and agent, ready for commands: `other`, if it is such a one."""
    provider.tenant = lease.tenant
    return other if other.tenant == lease.tenant else await realized_lease(provider)


@contextlib.asynccontextmanager
async def awake(provider: Provider, kept: Lease) -> AsyncGenerator[Lease]:
    """A kept lease while it is resumed, ready for commands. Released again at the end, whatever happened.

    Blocked by LEASE-026 when the resume does not say where the workspace is.
    """
    lease = await resume_lease(provider, kept)
    try:
        if not lease.metadata.get("remoteCwd"):
            raise Blocked(RequirementId("LEASE-026"), "the resume names no remoteCwd")
        yield await realize_workspace(provider, lease)
    finally:
        with contextlib.suppress(ProviderFault):
            await provider.release(lease)


@contextlib.asynccontextmanager
async def busy(provider: Provider, lease: Lease) -> AsyncGenerator["asyncio.Task[Answer]"]:
    """A command that has begun on a lease and runs on. Its answer, of whatever kind, is the value of the task.

    Blocked by EXEC-027 when no second command sees it begin. If nobody ended it, it ends after the block, not with 0.
    """
    begun = f"{lease.remote_cwd}/{provider.new_id()}"
    mark = quote(begun)
    more = f"[ -e {mark} ] && [ $n -lt {round(RUNS_ON_S / PAUSE_S)} ]"
    script = f": > {mark}; n=0; while {more}; do n=$((n+1)); sleep {PAUSE_S}; done; exit {GAVE_UP}"
    call = provider.execute(lease, lease.shell, ["-c", script], timeout_ms=round(RUNS_ON_S * 1000))
    running = asyncio.create_task(answer_of(call))
    try:
        seen = await run_script(provider, lease, until_file(begun, provider.launch.limits.seconds("bridge")))
        if seen.exit_code != 0:
            raise Blocked(RequirementId("EXEC-027"), f"no second command saw the first begin: {seen.came}", seen.frames)
        yield running
    finally:
        if not running.done():
            with contextlib.suppress(ProviderFault, Blocked):
                await run_script(provider, lease, f"rm -f {mark}")
            await asyncio.wait({running}, timeout=FAREWELL_S)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@contextlib.asynccontextmanager
async def behind_its_release(provider: Provider, lease: Lease) -> AsyncGenerator["asyncio.Task[Answer]"]:
    """A command without end that is sent while the release of its lease is on the way; the release is answered.

    No answer of the command is waited for after the block: nothing can end a command on a lease that was released.
    """
    release = asyncio.create_task(release_lease(provider, lease))
    script = f"sleep {RUNS_ON_S:g}"
    call = provider.execute(lease, lease.shell, ["-c", script], timeout_ms=round(RUNS_ON_S * 2000))
    late = asyncio.create_task(answer_of(call))
    try:
        await release
        yield late
    finally:
        late.cancel()
        await asyncio.gather(late, return_exceptions=True)


async def ticks_around_a_rest(provider: Provider, kept: Lease) -> tuple[Outcome, int]:
    """Wake a lease, start a clock in it, release it, let some time pass, and wake it again.

    On stdout of the outcome: how often the clock ticked since the first look; with it, how often it can at most have
    ticked if it stood still in between. A clock that is slow for other reasons is not taken for one that stood still.
    """
    name = provider.new_id()
    async with awake(provider, kept) as lease:
        ticks = quote(f"{lease.remote_cwd}/{name}")
        clock = f"n=0; while [ $n -lt 600 ]; do echo >> {ticks}; n=$((n+1)); sleep {TICK_S}; done"
        await run_to_success(provider, lease, f"nohup sh -c {quote(clock)} > /dev/null 2>&1 < /dev/null &")
        began = time.monotonic()
        first = f"{until_file(f'{lease.remote_cwd}/{name}', FAREWELL_S)}; wc -l < {ticks}"
        before = await run_to_success(provider, lease, first)
    await asyncio.sleep(REST_S)
    async with awake(provider, kept) as lease:
        count = f"echo $(( $(wc -l < {quote(f'{lease.remote_cwd}/{name}')}) - {int(before.stdout)} ))"
        seen = await run_to_success(provider, lease, count)
        awake_for = time.monotonic() - began - REST_S
    return seen, int(awake_for / TICK_S) + 1


async def run_anywhere(provider: Provider, lease: Lease) -> Answer:
    """The answer to a command that needs nothing but a live sandbox: no workspace, no file."""
    return await answer_of(provider.execute(lease, lease.shell, ["-c", "echo alive"], cwd="/"))


def failed(answer: Answer) -> bool:
    """Whether a command did not succeed: an error, or a result without exit code 0. Silence and a crash are neither."""
    if answer.fault is not None:
        return isinstance(answer.fault, RpcError)
    return answer.fields.get("exitCode") != 0


def can_resume(provider: Provider) -> bool:
    """Whether the host would resume a lease of this provider."""
    subject = provider.subject
    needed = subject.contract.capabilities[Capability.REUSABLE_LEASES].prerequisites
    listed = verified_methods(list(provider.worker.methods or ()))
    return listed.issuperset(needed) and claimed(subject.contract, Capability.REUSABLE_LEASES, subject.driver)


async def acquire_with_an_end(provider: Provider) -> tuple[Answer, str]:
    """The answer to an acquire with a near end, and that end; a later one is asked for where a near one is refused."""
    for seconds in ENDS_S[:-1]:
        end = host_time(seconds)
        answer = await answer_of(provider.acquire(requested_expires_at=end))
        if not isinstance(answer.fault, RpcError):
            return answer, end
    end = host_time(ENDS_S[-1])
    return await answer_of(provider.acquire(requested_expires_at=end)), end


def those_refused(answers: Iterable[Answer], what: str) -> list[Answer]:
    """The answers that are errors; raises `Undecided` when none is: what did not fail tells nothing."""
    refused = [answer for answer in answers if isinstance(answer.fault, RpcError)]
    if not refused:
        raise Undecided(f"No {what} was refused.")
    return refused


async def acquires_that_fail(provider: Provider) -> list[Answer]:
    """The answers to acquires that have something wrong each: secrets, settings, the end. A lease in one is closed."""
    config, template = provider.config, provider.subject.template_field
    configs = [with_wrong_secrets(provider, config), {**config, **wrong_values(provider)}]
    # A template that does not exist is found out late, when a sandbox may be there already.
    configs += [{**config, template: provider.new_id()}] if template else []
    wrong = [await answer_of(provider.acquire(each)) for each in configs if each != config]
    return [*wrong, await answer_of(provider.acquire(requested_expires_at=host_time(-3600)))]


def wrong_values(provider: Provider) -> dict[str, Json]:
    """A value of another type for each setting of the provider that has one."""
    return {
        name: "no number" if rule["type"] in {"number", "integer", "boolean"} else 17
        for name, rule in provider.subject.typed_properties.items()
    }


async def run_after(provider: Provider, lease: Lease, end: str) -> Answer:
    """The first failing command after a moment; after the limit ``deadline`` it is the last one, however it went."""
    moment = moment_of(end) or time.time()
    await asyncio.sleep(max(0.0, moment - time.time()))
    patience = time.monotonic() + provider.launch.limits.seconds("deadline")
    while True:
        ran = await run_anywhere(provider, lease)
        if failed(ran) or time.monotonic() >= patience:
            return ran
        await asyncio.sleep(PAUSE_S)


def moment_of(text: object) -> float | None:
    """A date of the wire in seconds since the epoch; None when it is none."""
    if not isinstance(text, str):
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with contextlib.suppress(ValueError, OverflowError):
            return read(text).timestamp()
    return None


def another_id(source: random.Random, name: str) -> str:
    """An id of the same shape that names nothing: other digits, or a longer text where these would be too few."""
    if _digits(name) < ENOUGH_DIGITS:
        return f"{name}-{source.getrandbits(64):016x}"
    return "".join(str(source.randrange(10)) if character in digits else character for character in name)


def _digits(name: str) -> int:
    return sum(character in digits for character in name)
