"""SESS: commands that may run in a session which stays open between calls.

The session is the provider's own affair: nothing of it may show in what a command returns.
"""

from conformance.answer import Answer
from conformance.checks import Capability, check
from conformance.errors import RpcError
from conformance.expect import expect, expect_alive, expect_equal, expect_exit, expect_none_of, expect_stdout
from conformance.host.lease import Lease
from conformance.model import Cost, Level
from conformance.overlap import a_while_for_file, fresh_directory, kept_open, side_by_side, until_file
from conformance.payloads import print_wide_text
from conformance.provider import Provider, answer_of
from conformance.steps import run_program, run_script, run_to_success, write_file
from conformance.transfer.bridge import CHANNEL

MUST, SHOULD = Level.MUST, Level.SHOULD
SHARED, OWN = Cost.SHARED, Cost.OWN
SESSIONS = Capability.PERSISTENT_PROCESS_SESSIONS


@check("SESS-001", level=MUST, cost=SHARED, needs=SESSIONS)
async def a_command_outside_the_session_does_not_wait_for_one_in_it(provider: Provider, spare: Lease) -> None:
    """While the agent's command occupies the session, control commands with bypassSession true get their answers."""
    folder = await fresh_directory(provider, spare)
    waiting = f"{until_file(f'{folder}/go', provider.launch.limits.seconds('bridge'))}; echo session"

    async with kept_open(run_script(provider, spare, waiting, bypass_session=False)) as long:
        shorts = await side_by_side(
            *(run_script(provider, spare, f"echo {number}", cwd=folder, env=CHANNEL) for number in range(3))
        )
        beside = not long.done()
        await run_to_success(provider, spare, ": > go", cwd=folder)

    expect(
        shorts[-1],
        beside,
        that="commands with bypassSession true are answered while the command of the session is still open",
        observed=f"answered {'before' if beside else 'only after'} the end of the session's command",
        advice="Start a process of its own for bypassSession true, and take no lock of the session.",
        timed=True,
    )
    for number, short in enumerate(shorts):
        expect_stdout(short, f"{number}\n")
    expect_stdout(long.result(), "session\n")


@check("SESS-002", level=MUST, cost=SHARED, needs=SESSIONS)
async def nothing_passes_between_the_session_and_a_command_outside_it(provider: Provider, lease: Lease) -> None:
    """With bypassSession true a command neither sees nor changes directory, variables or settings of the session."""
    folder = await fresh_directory(provider, lease)
    await run_to_success(provider, lease, "echo here > mark", cwd=folder)
    given, exported, outside = provider.new_id(), provider.new_id(), provider.new_id()
    script = f"cd /; umask 077; export KIT_EXPORTED={exported}"
    await run_script(provider, lease, script, env={"KIT_GIVEN": given}, cwd=folder, bypass_session=False)

    script = f"cat ./mark && env && cd / && export KIT_OUTSIDE={outside}"
    bypassing = await run_script(provider, lease, script, env={"KIT_TOO": outside}, cwd=folder)
    inside = await run_script(provider, lease, "cat ./mark && env", cwd=folder, bypass_session=False)

    for outcome, marks in ((bypassing, (given, exported)), (inside, (outside,))):
        expect_exit(outcome, 0, advice="Run the command in the directory of its own call.")
        expect_none_of(
            outcome,
            marks,
            outcome.stdout,
            where="the environment on the other side of the session",
            advice="Start a process of its own for bypassSession true.",
        )


@check("SESS-003", level=MUST, cost=SHARED, needs=SESSIONS)
async def a_session_answers_as_a_single_command_would(provider: Provider, lease: Lease) -> None:
    """Exit code and both texts of a command are the same with bypassSession false and true."""
    scripts = ("exit 0", "echo out; echo err >&2; exit 3", "exit 42", "printf 'a\\n\\n\\n'", print_wide_text(2000))
    for script in scripts:
        alone = await run_script(provider, lease, script)
        inside = await run_script(provider, lease, script, bypass_session=False)

        expect_equal(
            inside,
            "exitCode, stdout and stderr in a session",
            [inside.exit_code, inside.stdout, inside.stderr],
            [alone.exit_code, alone.stdout, alone.stderr],
            advice="Take exit code and output of this one command, byte for byte.",
        )


@check("SESS-003", level=MUST, cost=SHARED, needs=SESSIONS)
async def a_session_gives_each_command_what_its_own_call_names(provider: Provider, lease: Lease) -> None:
    """Arguments, variables, directory and stdin are those of the call, whatever an earlier command left behind."""
    folder = await fresh_directory(provider, lease, "with a blank")
    await write_file(provider, lease, f"{folder}/here", "its own directory\n")
    script = "cd /; export KIT_VALUE=changed; exit 3"
    await run_script(provider, lease, script, env={"KIT_VALUE": "earlier"}, cwd=folder, bypass_session=False)

    words = ["-c", 'cat; printf "%s|%s|%s\\n" "$0" "$1" "$KIT_VALUE"; cat ./here', "its name", "two words"]
    outcome = await run_program(
        provider,
        lease,
        lease.shell,
        *words,
        env={"KIT_VALUE": "its own"},
        cwd=folder,
        stdin="its input\n",
        bypass_session=False,
    )
    without_stdin = await run_script(provider, lease, "cat; echo end", cwd=folder, bypass_session=False)

    advice = "Set directory and variables for every command anew, and give each its own stdin."
    expect_stdout(outcome, "its input\nits name|two words|its own\nits own directory\n", advice=advice)
    expect_stdout(without_stdin, "end\n", advice=advice)


@check("SESS-003", level=SHOULD, cost=SHARED, needs=SESSIONS)
async def a_session_forgets_what_a_command_was_given(provider: Provider, lease: Lease) -> None:
    """What one call sets is not there for the next call of the session, which did not name it."""
    folder = await fresh_directory(provider, lease)
    given, exported = provider.new_id(), provider.new_id()
    script = f"export KIT_EXPORTED={exported}"
    await run_script(provider, lease, script, env={"KIT_GIVEN": given}, cwd=folder, bypass_session=False)

    outcome = await run_program(provider, lease, "env", cwd=folder, bypass_session=False)

    expect_exit(outcome, 0)
    expect_none_of(
        outcome,
        (given, exported),
        outcome.stdout,
        where="the environment of the session's next command",
        advice="Run each command in a subshell of the session.",
    )


@check("SESS-004", level=MUST, cost=SHARED, needs=SESSIONS)
async def a_command_that_ends_its_shell_ends_only_itself(provider: Provider, lease: Lease) -> None:
    """Exit, exec, a kill and a timeout are the end of that command; the next one works as if nothing had happened."""
    folder = await fresh_directory(provider, lease)
    advice = "Run each command below the session's shell, and replace a session that has died."
    for script, code in (("exit 7", 7), ("exec sh -c 'exit 5'", 5)):
        ended = await run_script(provider, lease, script, cwd=folder, bypass_session=False)
        after = await run_script(provider, lease, "echo alive", cwd=folder, bypass_session=False)

        expect_exit(ended, code, advice=advice)
        expect_stdout(after, "alive\n", advice=advice)
    for script in ("kill -9 $$", "sleep 60"):
        killed = await answer_of(
            provider.execute(lease, lease.shell, ["-c", script], cwd=folder, timeout_ms=1000, bypass_session=False)
        )
        after = await run_script(provider, lease, "echo alive", cwd=folder, bypass_session=False)

        expect_no_success(killed, script)
        expect_stdout(after, "alive\n", advice=advice)


@check("SESS-004", level=SHOULD, cost=SHARED, needs=SESSIONS)
async def a_command_that_kills_the_sessions_own_shell_breaks_nothing(provider: Provider, spare: Lease) -> None:
    """When what stands above a command is killed, that command is no success, and the next one works again."""
    script = "kill -9 $PPID; sleep 1; exit 3"
    ended = await answer_of(provider.execute(spare, spare.shell, ["-c", script], bypass_session=False))
    after = await run_script(provider, spare, "echo alive", bypass_session=False)

    expect_no_success(ended, script)
    expect_stdout(after, "alive\n", advice="Notice that a session is dead, and open a new one.")
    await expect_alive(provider)


@check("SESS-005", level=MUST, cost=SHARED, needs=SESSIONS)
async def late_output_of_one_command_is_not_in_the_next(provider: Provider, lease: Lease) -> None:
    """What a background child prints after its command was answered belongs to nobody, least of all to the next one."""
    folder = await fresh_directory(provider, lease)
    late = f"({until_file(f'{folder}/go', provider.launch.limits.seconds('bridge'))}; echo late; : > said) & echo first"
    await answer_of(
        provider.execute(lease, lease.shell, ["-c", late], cwd=folder, timeout_ms=2000, bypass_session=False)
    )

    # The child may be gone with its command, which is allowed: so the second command waits a second at most.
    script = f": > go; {a_while_for_file(f'{folder}/said', 1)}; echo second"
    second = await run_script(provider, lease, script, cwd=folder, bypass_session=False)
    third = await run_script(provider, lease, "echo third", cwd=folder, bypass_session=False)

    advice = "Give each command pipes of its own, or throw away what comes before its own first byte."
    expect_stdout(second, "second\n", advice=advice)
    expect_stdout(third, "third\n", advice=advice)


@check("SESS-005", level=MUST, cost=SHARED, needs=SESSIONS)
async def output_of_parallel_commands_in_a_session_is_not_mixed(provider: Provider, lease: Lease) -> None:
    """Eight session commands at once, each with its own text and exit code, and a ninth after them."""
    folder = await fresh_directory(provider, lease)
    marks = [provider.new_id() for _ in range(8)]
    lines = "n=0; while [ $n -lt 200 ]; do echo {mark}; n=$((n+1)); done; exit {code}"

    outcomes = await side_by_side(
        *(
            run_script(provider, lease, lines.format(mark=mark, code=code), cwd=folder, bypass_session=False)
            for code, mark in enumerate(marks)
        )
    )
    ninth = await run_script(provider, lease, "echo ninth", cwd=folder, bypass_session=False)

    advice = "Give each command pipes of its own, or let the session run one command after the other."
    for code, (outcome, mark) in enumerate(zip(outcomes, marks, strict=True)):
        expect_exit(outcome, code, advice=advice)
        expect_equal(outcome, "stdout", outcome.stdout, f"{mark}\n" * 200, advice=advice)
    expect_stdout(ninth, "ninth\n", advice=advice)


def expect_no_success(answer: Answer, script: str) -> None:
    """Demand an error answer or a result that is no success, for a script that cannot have succeeded."""
    fields = answer.fields
    failed = fields.get("timedOut") is True or ("exitCode" in fields and fields["exitCode"] != 0)
    expect(
        answer,
        isinstance(answer.fault, RpcError) or failed,
        that=f"`{script}` is answered with an error, or as a command that did not succeed",
        observed=answer.came,
        advice="A dead session is replaced or reported as an error, never as exit code 0.",
    )
