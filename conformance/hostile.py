"""Calls that a hostile or unlucky host would make: texts that a shell would act on in every field, and many failures.

Nothing here asserts. Every answer is fine, a result as well as an error; what matters is what has not happened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.answer import Answer, answer_of, evidence_of
from conformance.canaries import Injections, new_mark
from conformance.errors import RpcError
from conformance.evidence import Blocked
from conformance.files.operations import file, operation
from conformance.form import own_fields, wrong_value
from conformance.host.lease import Lease
from conformance.host.tenant import Tenant
from conformance.model import Json, LeaseId, RequirementId
from conformance.overlap import side_by_side
from conformance.provider import Provider
from conformance.states import unknown_lease
from conformance.steps import Outcome, give_back, run_script

CUT_OFF_MS = 1000
"""Time limit of a command that is to run into it (our choice: the shortest that any backend can count)."""


def secrets_of(provider: Provider) -> dict[str, str]:
    """The secrets of the config under test, by the field that holds them."""
    names = provider.subject.secret_names
    return {name: value for name, value in provider.config.items() if name in names and isinstance(value, str)}


async def fail_with_the_config(provider: Provider) -> dict[str, str]:
    """Calls that get the config and its secrets, some of them wrong; then one with secrets that no backend knows.

    Those are returned, by the field that held them.
    """
    refused = {name: new_mark(provider) for name in secrets_of(provider)}
    wrong: dict[str, Json] = {name: wrong_value(rule) for name, rule in own_fields(provider.subject).items()}
    changes: tuple[Mapping[str, Json], ...] = (wrong, {"timeoutMs": "soon"}, refused)
    acquired: Answer | None = None
    for changed in changes:
        answer = await answer_of(provider.acquire({**provider.config, **changed}))
        lease = provider.leased(answer)
        if acquired is None and lease is not None and lease.id is not None:
            # A lease costs money: one that was handed out although something was wrong serves as well as another.
            acquired = answer
        else:
            await give_back(provider, answer)
    acquired = await answer_of(provider.acquire()) if acquired is None else acquired
    lease = provider.leased(acquired)
    if lease is not None and lease.id is not None:
        await answer_of(provider.realize(lease))
        await answer_of(provider.execute(lease, "true"))
        await give_back(provider, acquired)
        await fail_with_a_command(provider, lease)
        await answer_of(provider.realize(lease))
    return refused


async def fail_with_a_command(
    provider: Provider, lease: Lease, *, env: Mapping[str, str] | None = None, stdin: str | None = None
) -> None:
    """Run commands that work, fail, are not there, have no place to run, or take too long; none prints anything."""
    given: dict[str, Any] = {"env": env, "stdin": stdin}
    odd_name = {f"A B;{name}": value for name, value in (env or {}).items()} or None
    nowhere = f"/nowhere/{provider.new_id()}"
    gone = unknown_lease(provider, lease)
    await answer_of(provider.execute(lease, lease.shell, ["-c", ":"], **given))
    await answer_of(provider.execute(lease, lease.shell, ["-c", "exit 3"], **given))
    await answer_of(provider.execute(lease, lease.shell, ["-c", ":"], bypass_session=False, **given))
    await answer_of(provider.execute(lease, f"kit-{provider.new_id()}", **given))
    await answer_of(provider.execute(lease, lease.shell, ["-c", ":"], cwd=nowhere, **given))
    await answer_of(provider.execute(lease, "sleep", ["60"], timeout_ms=CUT_OFF_MS, **given))
    await answer_of(provider.execute(lease, "true", ["\0"], **given))
    await answer_of(provider.execute(lease, "true", env=odd_name, stdin=stdin))
    await answer_of(provider.execute(gone, "true", cwd="/", **given))
    mapping = file(nowhere, f"{lease.remote_cwd}/{provider.new_id()}")
    await answer_of(provider.sync_in(lease, [operation(mapping)]))


async def hostile_commands(provider: Provider, lease: Lease, traps: Injections) -> Sequence[Answer]:
    """Commands with traps in the program, the arguments, the directory and the variables."""
    values = {f"KIT_{number}": text for number, text in enumerate(traps.of("env"))}
    calls = [
        provider.execute(lease, "true", traps.of("args")),
        provider.execute(lease, "true", env=values),
        provider.execute(lease, "true", env=values, bypass_session=False),
        *(provider.execute(lease, text) for text in traps.of("command")),
        *(provider.execute(lease, "true", cwd=f"{lease.remote_cwd}/{text}") for text in traps.of("cwd")),
    ]
    return await side_by_side(*map(answer_of, calls))


async def call_with_hostile_ids(provider: Provider, lease: Lease, traps: Injections) -> Sequence[Answer]:
    """An acquire with traps in all its ids, and calls about nobody's lease; what was acquired is destroyed."""
    texts = traps.of("acquire")
    tenant = _tenant(provider.tenant, texts)
    params = {
        **provider.make.acquire(tenant, provider.config, texts[5]),
        "workspaceMode": texts[0],
        "adapterType": texts[3],
    }
    answers = [await answer_of(provider.acquire_with(params, tenant))]
    await give_back(provider, answers[0])
    for number, text in enumerate(traps.of("ids")):
        stranger = replace(
            unknown_lease(provider, lease), tenant=_tenant(provider.tenant, [*texts[number:], *texts[:number]])
        )
        answers += [
            await answer_of(provider.realize(stranger, text)),
            await answer_of(provider.execute(stranger, "true", timeout_ms=5000)),
            await answer_of(provider.release(stranger)),
            await answer_of(provider.destroy(stranger)),
        ]
    return answers


def hostile_ids(known: str, canary: Path, traps: Injections) -> list[LeaseId]:
    """Ids that lead to a canary, resemble a known one, or hold what a shell would run.

    Each can only ever reach what the kit itself has put there: a bare ``..`` or ``*`` might reach what others own.
    """
    upwards = "/".join([".."] * 24)
    paths = [str(canary), f"{upwards}{canary}", f"{known}/{upwards}{canary}", f"file://{canary}", f"{canary}\0"]
    alike = [f"./{known}", f"x/../{known}", f"{known}/.", f"{known}/", f"{known}?x=1", f"{known}#x", f"{known}%00"]
    blank = [f" {known}", f"{known}\n", f"{known}\0"]
    return [LeaseId(text) for text in (*paths, *alike, *blank, *traps.of("id"), f"{known}'", f'{known}"')]


async def run_there(provider: Provider, lease: Lease, script: str) -> Outcome:
    """Run a script by another worker than the one that acquired the lease; blocked by LEASE-023 where it cannot."""
    try:
        return await run_script(provider, lease, script)
    except RpcError as fault:
        raise Blocked(RequirementId("LEASE-023"), fault.sentence(), evidence_of(fault).frames) from fault


async def ask_about(provider: Provider, lease: Lease) -> Answer:
    """Every call that takes an id, the ones that end a lease last."""
    await answer_of(provider.resume(lease))
    await answer_of(provider.execute(lease, "true", cwd="/", timeout_ms=5000))
    await answer_of(provider.release(lease))
    return await answer_of(provider.destroy(lease))


def _tenant(tenant: Tenant, texts: Sequence[str]) -> Tenant:
    company, environment, issue, agent, workspace = texts[:5]
    return replace(
        tenant,
        company=company,
        environment=environment,
        issue=issue,
        agent=agent,
        execution_workspace=workspace,
    )
