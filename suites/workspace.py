"""WS: the working directory in the sandbox.

Realize is called again on a lease that other checks use too, so most checks here run alone.
"""

from conformance.answer import Answer, answer_of
from conformance.checks import Capability, check
from conformance.evidence import Blocked, show
from conformance.expect import (
    expect,
    expect_answered,
    expect_equal,
    expect_error,
    expect_exit,
    expect_shape,
    expect_stdout,
)
from conformance.host.lease import Lease
from conformance.model import Cost, Level, RequirementId
from conformance.overlap import fresh_directory
from conformance.provider import Provider
from conformance.states import awake, unknown_lease
from conformance.steps import outcome_of, quote, run_script, write_file

MUST, SHOULD = Level.MUST, Level.SHOULD


async def realized_answer(provider: Provider, lease: Lease) -> Answer:
    """The answer to a realize that names a directory; blocked by WS-001 when it names none."""
    answer = await provider.realize(lease)
    if not answer.fields.get("cwd"):
        raise Blocked(RequirementId("WS-001"), f"realize named no directory: {answer.came}", answer.frames)
    return answer


@check("WS-001", level=MUST, cost=Cost.SHARED, alone=True)
async def realize_answers_with_a_directory(provider: Provider, lease: Lease) -> None:
    """Realize answers with an object that has a cwd; null fails the run."""
    answer = await answer_of(provider.realize(lease))

    expect_shape(answer, of="WS-001", advice="Return {cwd: …} each time, also when the directory exists already.")


@check("WS-002", level=MUST, cost=Cost.SHARED, alone=True)
async def commands_can_write_in_the_workspace(provider: Provider, lease: Lease) -> None:
    """After realize the directory is there, and commands can make files in it: the host uploads into it next.

    An environment test sends a workspace without any field; the directory is wanted all the same.
    """
    for bare in (False, True):
        answer = await answer_of(provider.realize(lease, bare=bare))
        name = provider.new_id()
        script = (
            f"cd {quote(lease.remote_cwd)} && mkdir {name} && echo work > {name}/file && mv {name}/file {name}/done"
        )
        seen = await run_script(provider, lease, script, cwd="/")

        expect_answered(answer)
        expect_exit(seen, 0, advice="Make metadata.remoteCwd in realize, for the user that commands run as.")


@check("WS-003", level=SHOULD, cost=Cost.SHARED, alone=True)
async def realize_names_the_directory_of_the_lease(provider: Provider, lease: Lease) -> None:
    """The cwd of realize is metadata.remoteCwd: the host records the one and works in the other."""
    answer = await realized_answer(provider, lease)

    expect_equal(answer, "cwd", answer.fields.get("cwd"), lease.remote_cwd, advice="Name one directory in both places.")


@check("WS-003", level=SHOULD, cost=Cost.SHARED)
async def a_command_without_cwd_starts_in_the_workspace(provider: Provider, lease: Lease) -> None:
    """Where nobody says where to work, the workspace is meant, and not the root of the file system."""
    params = provider.make.execute(lease, lease.shell, ["-c", "pwd -P"], cwd="", timeout_ms=30_000, bypass_session=True)
    del params["cwd"]
    seen = outcome_of(await provider.call("environmentExecute", params))
    there = await run_script(provider, lease, f"cd {quote(lease.remote_cwd)} && pwd -P", cwd="/")

    expect_stdout(seen, there.stdout, advice="Take metadata.remoteCwd where a command has no cwd.")


@check("WS-004", level=MUST, cost=Cost.SHARED, alone=True)
async def a_second_realize_keeps_what_is_there(provider: Provider, lease: Lease) -> None:
    """Realize may come again at any time, and leaves the work of the run alone."""
    path = f"{await fresh_directory(provider, lease)}/work"
    await write_file(provider, lease, path, "goes on")

    answer = await answer_of(provider.realize(lease))
    seen = await run_script(provider, lease, f"cat {quote(path)}")

    expect_answered(answer, advice="A workspace that is there already is a success.")
    expect_stdout(seen, "goes on", advice="Make the directory if it is missing; never make it afresh.")


@check("WS-004", level=MUST, cost=Cost.SHARED, needs=Capability.REUSABLE_LEASES)
async def a_realize_of_a_resumed_lease_keeps_what_is_there(provider: Provider, kept: Lease) -> None:
    """Each run of a reusable environment realizes again, on top of what is there."""
    async with awake(provider, kept) as lease:
        path = f"{lease.remote_cwd}/{provider.new_id()}"
        await write_file(provider, lease, path, "goes on")

        answer = await answer_of(provider.realize(lease))
        seen = await run_script(provider, lease, f"cat {quote(path)}")

    expect_answered(answer)
    expect_stdout(seen, "goes on", advice="Make the directory if it is missing; never make it afresh.")


@check("WS-005", level=SHOULD, cost=Cost.SHARED)
async def realize_of_a_lost_lease_is_an_error(provider: Provider, lease: Lease, gone: Lease) -> None:
    """A workspace without a sandbox is none: to say so at once spares the run a riddle at its first command."""
    for lost in (gone, unknown_lease(provider, lease)):
        answer = await answer_of(provider.realize(lost))

        expect_error(answer, what="realize of a lost lease", advice="Look at the sandbox before you answer.")


@check("WS-006", level=SHOULD, cost=Cost.SHARED, alone=True)
async def realize_leaves_the_directory_of_the_host_alone(provider: Provider, lease: Lease) -> None:
    """The localPath is a directory of the host: its files come by sync, and realize neither takes nor changes them."""
    here, name = provider.scratch, provider.new_id()
    (here / name).write_text("of the host", encoding="utf-8")

    answer = await answer_of(provider.realize(lease, here))
    seen = await run_script(provider, lease, f"[ ! -e {quote(f'{lease.remote_cwd}/{name}')} ]")
    left = {path.name: path.read_text(encoding="utf-8") for path in here.iterdir()}

    expect_equal(answer, "the directory", left, {name: "of the host"}, advice="Do not write to workspace.localPath.")
    expect_exit(seen, 0, advice="Do not copy workspace.localPath: that is what sync is for.")


@check("WS-006", level=SHOULD, cost=Cost.SHARED, alone=True)
async def realize_needs_no_directory_of_the_host(provider: Provider, lease: Lease) -> None:
    """The localPath need not exist on the machine of the worker, and does not come to exist."""
    absent = provider.scratch / "absent"

    answer = await answer_of(provider.realize(lease, absent))

    expect_answered(answer, advice="Do not look at workspace.localPath.")
    expect(
        answer,
        not absent.exists(),
        that="the directory does not exist afterwards",
        observed=f"{show(str(absent))} exists" if absent.exists() else "it does not exist",
        advice="Do not make workspace.localPath.",
    )


@check("WS-007", level=MUST, cost=Cost.SHARED, alone=True)
async def realize_leaves_the_account_of_the_host_alone(provider: Provider, lease: Lease) -> None:
    """The host keeps what became of a realize under workspaceRealization; metadata with this key overwrites it."""
    answer = await answer_of(provider.realize(lease))

    expect_shape(answer, of="WS-007", advice="Do not echo the metadata that the host sent.")
