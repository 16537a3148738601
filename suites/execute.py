"""EXEC: one command on a lease: what it is given, what comes back, and what becomes of it.

Commands need only what the host itself needs of a sandbox image.
"""

from collections.abc import Sequence
from dataclasses import replace

from conformance.answer import Answer
from conformance.checks import Capability, check
from conformance.errors import RpcError
from conformance.evidence import show
from conformance.expect import (
    difference,
    expect,
    expect_alive,
    expect_answered,
    expect_equal,
    expect_exit,
    expect_none_of,
    expect_same_text,
    expect_shape,
    expect_stdout,
)
from conformance.gates import A_LONG_TIME_IN_THE_CONFIG, A_SHORT_TIME_IN_THE_CONFIG, LONG_LIFE_MS, SHORT_LIFE_MS
from conformance.host.lease import Lease
from conformance.model import Cost, Json, JsonObject, LeaseId, Level
from conformance.overlap import PAUSE_S, cut_off, fresh_directory, kept_open, side_by_side, until_file
from conformance.payloads import (
    DIGEST,
    NASTY_TEXTS,
    SHOW_ARGUMENTS,
    base64_text,
    digest_of,
    named_variables,
    numbered_lines,
    print_in_single_bytes,
    print_numbered_lines,
    print_wide_text,
    random_texts,
    show_variables,
    shown_input,
    shown_texts,
    wide_text,
)
from conformance.provider import Provider, answer_of
from conformance.steps import (
    Outcome,
    execute_problems,
    lease_of,
    quote,
    realize_workspace,
    run_program,
    run_script,
    run_to_success,
    write_file,
)
from conformance.transfer.bridge import CHANNEL

MUST, SHOULD = Level.MUST, Level.SHOULD
SHARED, OWN = Cost.SHARED, Cost.OWN

RANDOM_TEXTS = 40
"""Random texts beside the table of nasty ones: as many as still make a short command line."""

BOURNE = "#!/bin/sh\n"

WORK_STEPS = 6
WORK_STEP_S = 0.8
"""Commands, and the seconds that each takes: together more than `SHORT_LIFE_MS` (our choice)."""

LONGER_THAN_A_DEFAULT_S = 75
"""Longer than the minute that several client libraries grant by default (our choice)."""


# --- the result


@check("EXEC-001", level=MUST, cost=SHARED)
async def a_result_has_all_four_fields_whatever_became_of_the_command(provider: Provider, lease: Lease) -> None:
    """exitCode, timedOut, stdout and stderr are in every result, also when a command prints nothing or fails."""
    for script in (":", "echo to stdout", "echo to stderr >&2", "exit 3"):
        answer = await answer_of(provider.execute(lease, lease.shell, ["-c", script]))

        expect_shape(answer, advice="Return all four fields each time; the host calls string functions on both texts.")


@check("EXEC-001", level=MUST, cost=SHARED)
async def a_result_has_all_four_fields_when_a_command_could_not_end_or_start(provider: Provider, lease: Lease) -> None:
    """A result for a command that was cut off, or that was never there, has the same fields as any other."""
    cut_off_answer = await answer_of(provider.execute(lease, "sleep", ["60"], timeout_ms=1000))
    missing_answer = await answer_of(provider.execute(lease, f"kit-{provider.new_id()}"))

    for answer in (cut_off_answer, missing_answer):
        problems = execute_problems(answer) if answer.fault is None else []
        expect(
            answer,
            not problems,
            that="the result of a command, where there is one, has the four fields",
            observed="; ".join(problems) or answer.came,
            advice="Return all four fields on every path, also with empty texts.",
        )


@check("EXEC-002", level=MUST, cost=SHARED)
async def the_exit_code_is_the_commands_own(provider: Provider, lease: Lease) -> None:
    """A command that ran is a result with the command's own exit code and its output, whatever that code is."""
    for code in (0, 1, 3, 126, 255):
        outcome = await run_script(provider, lease, f"echo output; exit {code}")

        expect_exit(outcome, code, advice="A failed command is a result: never an error, never another code.")
        expect(
            outcome,
            outcome.stdout == "output\n",
            that="the output of a command is there whatever its exit code",
            observed=outcome.came,
            advice="Take the output from the error object if your client library throws on a non-zero exit.",
        )


# --- arguments


@check("EXEC-003", level=MUST, cost=SHARED)
async def arguments_arrive_as_they_are(provider: Provider, lease: Lease) -> None:
    """The command and its args are a vector: nothing in it is expanded, split, joined, trimmed or dropped."""
    folder = await fresh_directory(provider, lease)
    await write_file(provider, lease, f"{folder}/show", SHOW_ARGUMENTS)
    texts = (*NASTY_TEXTS, *random_texts(provider.random, RANDOM_TEXTS))

    outcome = await run_program(provider, lease, lease.shell, f"{folder}/show", *texts)

    expect_all_arrived(
        outcome, "argument", texts, advice="Pass the vector to an exec call; if there is only a shell, quote each word."
    )


@check("EXEC-003", level=SHOULD, cost=SHARED)
async def a_program_is_run_although_its_path_holds_blanks_and_quotes(provider: Provider, lease: Lease) -> None:
    """The command itself is one word of the vector too, whatever characters its path is made of."""
    path = await fresh_directory(provider, lease, "it's a $HOME")
    await write_file(provider, lease, f"{path}/a tool", f'{BOURNE}echo "$1"\n')
    await run_to_success(provider, lease, f"chmod 755 {quote(path)}/*")

    outcome = await run_program(provider, lease, f"{path}/a tool", "its argument")

    expect_stdout(outcome, "its argument\n", advice="Quote the command as you quote its arguments.")


@check("EXEC-004", level=MUST, cost=SHARED)
async def words_after_a_script_become_its_parameters(provider: Provider, lease: Lease) -> None:
    """With sh -c SCRIPT NAME WORD the script finds $0 and $1 set; the host's own scripts depend on it."""
    words = ["-c", 'printf "%s|%s|%s\\n" "$0" "$1" "$#"', "its name", "two words"]

    outcome = await run_program(provider, lease, lease.shell, *words)

    expect_stdout(outcome, "its name|two words|1\n", advice="Do not take the script out of the vector: pass it whole.")


@check("EXEC-005", level=MUST, cost=SHARED)
async def one_argument_of_forty_kib_arrives_whole(provider: Provider, lease: Lease) -> None:
    """The host's file bridge sends blocks of 32 KiB, and the script around them, as one argument."""
    script, digest = script_of_size(provider, int(provider.launch.limits["argument"].value))

    outcome = await run_script(provider, lease, script)

    expect_exit(outcome, 0, advice="Do not pass the command line in an address or a header of your backend's API.")
    expect_equal(outcome, "the digest of the argument", outcome.stdout[:64], digest)


@check("EXEC-006", level=SHOULD, cost=SHARED)
async def one_argument_may_be_as_long_as_linux_takes(provider: Provider, lease: Lease) -> None:
    """The names of all deleted files travel in one argument; 131,071 bytes are the most that Linux takes."""
    sizes = (65_536, 98_304, int(provider.launch.limits["argument_largest"].value))
    scripts = {size: script_of_size(provider, size) for size in sizes}

    answers = {size: await answer_of(provider.execute(lease, lease.shell, ["-c", scripts[size][0]])) for size in sizes}

    whole = [size for size in sizes if scripts[size][1] in str(answers[size].fields.get("stdout"))]
    expect(
        answers[sizes[-1]],
        whole == list(sizes),
        that=f"one argument of {', '.join(map(str, sizes))} bytes arrives whole",
        observed=f"whole at {whole}; at {sizes[-1]}: {answers[sizes[-1]].came}",
        advice="A wrapper shell puts its own text on top: pass the vector on unchanged.",
    )


@check("EXEC-006", level=SHOULD, cost=SHARED)
async def a_longer_argument_fails_clearly_or_works(provider: Provider, lease: Lease) -> None:
    """What no Linux takes is a result that is not 0, or an error: never a success, silence or a crash."""
    script, digest = script_of_size(provider, 200 * 1024)

    answer = await answer_of(provider.execute(lease, lease.shell, ["-c", script]))

    works = digest in str(answer.fields.get("stdout"))
    expect_not_success(answer, "an argument of 200 KiB", works=works, advice="Catch the fault of starting a process.")
    await expect_alive(provider)


# --- working directory


@check("EXEC-007", level=MUST, cost=SHARED)
async def a_command_runs_in_the_directory_it_was_given(provider: Provider, lease: Lease) -> None:
    """The given cwd is kept to exactly, whatever is in its name; the host's transfer runs in the root directory."""
    folder = await fresh_directory(provider, lease)
    names = ("plain", "with blanks in it", 'it\'s "quoted" $HOME', "-dash", "semicolon;and&more", "\u00fc \u65e5\u672c")
    await run_to_success(
        provider,
        lease,
        "; ".join(
            f"mkdir -p {quote(f'{folder}/{name}')} && echo {quote(name)} > {quote(f'{folder}/{name}/here')}"
            for name in names
        ),
    )

    for name in names:
        outcome = await run_script(provider, lease, "cat ./here", cwd=f"{folder}/{name}")
        expect_stdout(
            outcome, f"{name}\n", advice="Give the directory to the exec call; if there is only a shell, quote it."
        )
    root = await run_script(provider, lease, "pwd", cwd="/")

    expect_stdout(root, "/\n", advice="Do not confine cwd to the workspace.")


@check("EXEC-008", level=SHOULD, cost=SHARED)
async def a_command_does_not_run_when_its_directory_is_missing(provider: Provider, lease: Lease) -> None:
    """A cwd that is not there is an error or a failed command: it must not run somewhere else."""
    folder = await fresh_directory(provider, lease)

    answer = await answer_of(
        provider.execute(lease, lease.shell, ["-c", f": > {quote(folder)}/ran"], cwd=f"{folder}/missing")
    )

    expect_not_success(answer, "a command in a missing directory", advice="Use `cd DIR && …`, never `cd DIR; …`.")
    trace = await run_to_success(provider, lease, f"if [ -e {quote(folder)}/ran ]; then echo it ran; fi")
    expect(
        trace,
        "it ran" not in trace.stdout,
        that="the command did not run in another directory",
        observed=trace.came,
        advice="Use `cd DIR && …`, never `cd DIR; …`.",
    )


# --- environment


@check("EXEC-009", level=MUST, cost=SHARED)
async def values_of_variables_arrive_as_they_are(provider: Provider, lease: Lease) -> None:
    """Each entry of env is set for the command with exactly its value, also an empty one and one of 64 KiB."""
    long = base64_text(provider.random, int(provider.launch.limits["environment_value"].value))
    texts = (*NASTY_TEXTS, *random_texts(provider.random, RANDOM_TEXTS), long)
    variables = named_variables(texts)

    outcome = await run_script(provider, lease, show_variables(list(variables)), env=variables)

    expect_all_arrived(
        outcome, "variable", texts, advice="Pass env to the exec call; if there is only a shell, quote each value."
    )


@check("EXEC-009", level=SHOULD, cost=SHARED)
async def a_variable_of_the_call_wins_over_one_of_the_image(provider: Provider, lease: Lease) -> None:
    """What env sets is put on top of what the sandbox sets itself, so the caller's value counts."""
    outcome = await run_script(provider, lease, 'echo "$HOME"', env={"HOME": "/a home of the caller"})

    expect_stdout(outcome, "/a home of the caller\n", advice="Apply the call's env last, after any profile.")


@check("EXEC-009", level=SHOULD, cost=SHARED)
async def the_name_of_a_variable_is_never_run(provider: Provider, lease: Lease) -> None:
    """A key of env that is no variable name is refused or left out; a wrapper shell must not run it as code."""
    folder = await fresh_directory(provider, lease)
    for name in (f"A;touch {folder}/ran;B", f"$(touch {folder}/ran)", "A B", "1X", ""):
        await answer_of(provider.execute(lease, "true", env={name: "value"}))

    outcome = await run_to_success(provider, lease, f"if [ -e {quote(folder)}/ran ]; then echo it ran; fi")

    expect(
        outcome,
        "it ran" not in outcome.stdout,
        that="no key of env is run as code",
        observed=outcome.came,
        advice="Check each key against [A-Za-z_][A-Za-z0-9_]* before it gets near a shell.",
    )
    await expect_alive(provider)


@check("EXEC-009", level=SHOULD, cost=SHARED)
async def the_path_of_the_call_should_decide_which_program_runs(provider: Provider, lease: Lease) -> None:
    """PATH in env should decide where a command is looked for: the host puts its wrapper commands there."""
    await expect_path_decides(provider, lease)


@check("EXEC-010", level=MUST, cost=SHARED, since="2026.916")
async def the_path_of_the_call_decides_which_program_runs(provider: Provider, lease: Lease) -> None:
    """PATH in env decides where a command is looked for: the host puts its wrapper commands there."""
    await expect_path_decides(provider, lease)


@check("EXEC-011", level=MUST, cost=SHARED)
async def there_is_a_path_when_the_call_sets_none(provider: Provider, lease: Lease) -> None:
    """A command whose env sets no PATH finds the usual programs by name."""
    outcome = await run_program(provider, lease, "env")
    found = await run_script(provider, lease, "command -v sh && command -v cat")

    lines = outcome.stdout.splitlines()
    expect(
        outcome,
        any(line.startswith("PATH=/") for line in lines),
        that="PATH is set, and its first directory is absolute",
        observed=next((line for line in lines if line.startswith("PATH=")), outcome.came),
        advice="Start commands with the image's environment, not with an empty one.",
    )
    expect_exit(found, 0, advice="Put the directories of the image's programs on PATH.")


@check("EXEC-011", level=SHOULD, cost=SHARED)
async def home_is_a_directory(provider: Provider, lease: Lease) -> None:
    """HOME should name a directory of the user that commands run as; tools keep their settings there."""
    outcome = await run_script(provider, lease, 'printf %s "$HOME"; [ -d "$HOME" ] && [ -w "$HOME" ]')

    expect_exit(outcome, 0, advice="Set HOME to a directory that this user can write to.")
    expect(outcome, outcome.stdout.startswith("/"), that="HOME is an absolute path", observed=outcome.came)


@check("EXEC-012", level=SHOULD, cost=SHARED)
async def variables_of_one_call_are_gone_in_the_next(provider: Provider, lease: Lease) -> None:
    """What env sets belongs to its call: a secret that one command was given must not be there for the next."""
    folder = await fresh_directory(provider, lease)
    given, exported = provider.new_id(), provider.new_id()
    script = f"export KIT_EXPORTED={exported}; cd /"
    await run_to_success(provider, lease, script, env={"KIT_GIVEN": given}, cwd=folder)

    outcome = await run_program(provider, lease, "env", cwd=folder)

    expect_exit(outcome, 0)
    expect_none_of(outcome, (given, exported), outcome.stdout, where="the environment of the next command")


# --- stdin


@check("EXEC-013", level=MUST, cost=SHARED)
async def stdin_arrives_byte_for_byte_and_ends(provider: Provider, lease: Lease) -> None:
    """A command reads exactly the given text and then the end, whatever line ends and marks are in it."""
    mixed = "\n".join((*NASTY_TEXTS, *random_texts(provider.random, RANDOM_TEXTS)))
    for text in ("", "no line feed at the end", "one at the end\n", "\n\n", f"{mixed}\nEOF", wide_text(20_000)):
        outcome = await run_script(provider, lease, "base64", stdin=text)

        expect_exit(outcome, 0, advice="Close the command's stdin after the last byte.")
        expect_same_text(
            outcome,
            "stdin as the command read it",
            shown_input(outcome.stdout),
            text,
            advice="Hand the bytes over as they are; do not paste them into a shell line or a here-document.",
        )


@check("EXEC-013", level=MUST, cost=SHARED)
async def four_mib_of_stdin_arrive(provider: Provider, lease: Lease) -> None:
    """The host's upload sends blocks of 4,194,304 characters on stdin."""
    folder = await fresh_directory(provider, lease)
    text = base64_text(provider.random, int(provider.launch.limits["stdin"].value))
    script = f"cat > big && wc -c < big && {{ {DIGEST}; }} < big; rm -f big"

    outcome = await run_script(provider, lease, script, stdin=text, cwd=folder)

    expect_exit(outcome, 0, advice="Feed stdin while you read stdout, or the two block each other.")
    size, digest = [*outcome.stdout.split(), "?", "?"][:2]
    expect_equal(outcome, "number of bytes and digest", [size, digest], [str(len(text)), digest_of(text)])


@check("EXEC-013", level=SHOULD, cost=SHARED)
async def nul_characters_on_stdin_arrive(provider: Provider, lease: Lease) -> None:
    """NUL is a character like any other on stdin."""
    outcome = await run_script(provider, lease, "base64", stdin="a\0b\0")

    expect_same_text(outcome, "stdin as the command read it", shown_input(outcome.stdout), "a\0b\0")


@check("EXEC-013", level=SHOULD, cost=SHARED)
async def a_command_may_leave_its_stdin_unread(provider: Provider, lease: Lease) -> None:
    """A command that ends without reading all of its input has still ended by itself, with its own exit code."""
    text = base64_text(provider.random, 1_048_576)

    outcome = await run_script(provider, lease, "echo not interested", stdin=text)

    expect_stdout(outcome, "not interested\n", advice="A broken pipe to the command is no fault of the call.")


@check("EXEC-014", level=MUST, cost=SHARED)
async def without_stdin_a_command_meets_the_end_at_once(provider: Provider, lease: Lease) -> None:
    """A call that brings no stdin gives its command an empty one that is closed."""
    limit = round(provider.launch.limits.seconds("bridge") * 1000)
    for script, text in (("cat; echo end", "end\n"), ('read -r line; echo "got:$line"', "got:\n")):
        outcome = await run_script(provider, lease, script, timeout_ms=limit)

        expect_stdout(outcome, text, advice="Close stdin, or give the command /dev/null, when the call has none.")


# --- output


@check("EXEC-015", level=MUST, cost=SHARED)
async def four_megabytes_of_stdout_are_complete(provider: Provider, lease: Lease) -> None:
    """The host's download reads blocks of 4.3 MB of base64 from stdout; a byte less is a broken file."""
    size = int(provider.launch.limits["stdout"].value)

    outcome = await run_script(provider, lease, print_numbered_lines(size))

    expect_exit(outcome, 0, advice="Read until the end of both streams, not until the command has ended.")
    expect_same_text(
        outcome, "stdout", outcome.stdout, numbered_lines(size), advice="Lift the limit on output, here and in the API."
    )


@check("EXEC-015", level=SHOULD, cost=SHARED)
async def both_streams_are_complete_when_both_are_large(provider: Provider, lease: Lease) -> None:
    """A mebibyte on each stream at the same time: neither is cut, and neither holds the other up."""
    size = 1_048_576
    script = f"{print_numbered_lines(size, 'out')} & {print_numbered_lines(size, 'err')} >&2; wait"

    outcome = await run_script(provider, lease, script)

    expect_exit(outcome, 0, advice="Drain both streams at once.")
    expect_same_text(outcome, "stdout", outcome.stdout, numbered_lines(size, "out"))
    expect_same_text(outcome, "stderr", outcome.stderr, numbered_lines(size, "err"))


@check("EXEC-015", level=SHOULD, cost=SHARED)
async def control_characters_on_stdout_should_be_kept(provider: Provider, lease: Lease) -> None:
    """NUL and the other control characters are output like any other."""
    await expect_control_characters_kept(provider, lease)


@check("EXEC-016", level=MUST, cost=SHARED)
async def characters_stay_whole_wherever_a_block_ends(provider: Provider, lease: Lease) -> None:
    """Output is decoded as one stream: a megabyte of characters of three and four bytes arrives unharmed."""
    characters = 300_000

    outcome = await run_script(provider, lease, f"{print_wide_text(characters)}; echo")

    expect_exit(outcome, 0)
    expect_same_text(
        outcome,
        "stdout",
        outcome.stdout,
        f"{wide_text(characters)}\n",
        advice="Use one incremental decoder for each stream.",
    )


@check("EXEC-016", level=MUST, cost=SHARED)
async def characters_stay_whole_when_they_come_byte_by_byte(provider: Provider, lease: Lease) -> None:
    """A character that a command writes in several pieces is still one character."""
    text = "\u00e9\u20ac\U0001f600\n"

    outcome = await run_script(provider, lease, print_in_single_bytes(text, f"sleep {PAUSE_S}"))

    expect_exit(outcome, 0)
    expect_same_text(outcome, "stdout", outcome.stdout, text, advice="Use one incremental decoder for each stream.")


@check("EXEC-017", level=SHOULD, cost=SHARED)
async def a_byte_that_is_no_text_does_not_fail_the_call(provider: Provider, lease: Lease) -> None:
    """Bytes that are no UTF-8 come back as some character; the command and the text around them are as usual."""
    answer = await answer_of(provider.execute(lease, lease.shell, ["-c", "printf 'before\\377after\\n'"]))

    expect_answered(answer, advice="Decode with replacement, never strictly.")
    stdout = str(answer.fields.get("stdout"))
    expect(
        answer,
        answer.fields.get("exitCode") == 0 and stdout.startswith("before") and stdout.endswith("after\n"),
        that="exitCode is 0 and the text around the byte is there",
        observed=answer.came,
        advice="Decode with replacement, never strictly.",
    )


@check("EXEC-018", level=SHOULD, cost=SHARED)
async def stdout_and_stderr_stay_apart(provider: Provider, lease: Lease) -> None:
    """What a command writes to stderr is not in stdout, which the host parses."""
    outcome = await run_script(provider, lease, "echo to stdout; echo to stderr >&2")

    expect_stdout(outcome, "to stdout\n", advice="Ask the backend for two streams; a terminal has only one.")
    expect_equal(outcome, "stderr", outcome.stderr, "to stderr\n")


@check("EXEC-018", level=SHOULD, cost=SHARED)
async def nothing_of_stderr_is_lost(provider: Provider, lease: Lease) -> None:
    """Where a backend has only one stream, what went to stderr is in that: the reason of a failure must be seen."""
    outcome = await run_script(provider, lease, "echo the reason >&2")

    expect(
        outcome,
        "the reason" in outcome.stdout + outcome.stderr,
        that="what was written to stderr is in the result",
        observed=outcome.came,
        advice="Read stderr too.",
    )


@check("EXEC-019", level=MUST, cost=SHARED)
async def nothing_is_added_to_stdout(provider: Provider, lease: Lease) -> None:
    """All of stdout was written by the command: no banner, prompt, colour, line end or closing text is added."""
    for script, text in (("printf 5", "5"), (":", ""), ("echo a; echo b", "a\nb\n"), ("printf '{}\\n\\n'", "{}\n\n")):
        outcome = await run_script(provider, lease, script)

        expect_stdout(outcome, text, advice="Use no login shell and no terminal, and do not trim or end lines.")


@check("EXEC-020", level=MUST, cost=SHARED, since="2026.916")
async def control_characters_on_stdout_are_kept(provider: Provider, lease: Lease) -> None:
    """NUL and the other control characters are output like any other; the host frames its probes with NUL."""
    await expect_control_characters_kept(provider, lease)


# --- time limits


@check("EXEC-021", level=MUST, cost=SHARED)
async def a_command_past_its_limit_is_answered_as_timed_out(provider: Provider, spare: Lease) -> None:
    """The limit is in milliseconds and bounds the call, the first one on a lease too, with and without stdin."""
    first = await run_script(provider, spare, "echo early; sleep 60", timeout_ms=1000)
    later = await run_script(provider, spare, "echo early; sleep 60", timeout_ms=1000, stdin="not read by anybody")

    for outcome in (first, later):
        expect(
            outcome,
            outcome.timed_out,
            that="timedOut is true within timeoutMs and 30 seconds",
            observed=f"{outcome.came}, after {outcome.seconds:.1f} s",
            advice="Keep the time yourself, and answer with what you know when it is over.",
        )


@check("EXEC-022", level=SHOULD, cost=SHARED)
async def after_a_timeout_there_is_no_exit_code_and_the_output_so_far(provider: Provider, lease: Lease) -> None:
    """A command that was cut off has no exit code, so it is null, and the user sees how far the command came."""
    folder = await fresh_directory(provider, lease)

    outcome = await cut_off(
        provider, lease, "echo early; : > got-here; sleep 60", once=f"{folder}/got-here", cwd=folder
    )

    expect(
        outcome,
        # Where a backend has one stream, the shell's own word about the end may stand behind it.
        outcome.exit_code is None and outcome.stdout.startswith("early\n"),
        that='exitCode is null and stdout begins with "early\\n"',
        observed=outcome.came,
        advice="Collect output while the command runs, and give it back when the time is up.",
    )


@check("EXEC-023", level=MUST, cost=SHARED)
async def a_command_that_was_cut_off_never_counts_as_success(provider: Provider, lease: Lease) -> None:
    """Also a command that ends politely when it is asked to was cut off: 0 without timedOut would be a lie."""
    folder = await fresh_directory(provider, lease)
    script = f"trap 'exit 0' TERM INT HUP; : > got-here; while :; do sleep {PAUSE_S}; done"

    outcome = await cut_off(provider, lease, script, once=f"{folder}/got-here", cwd=folder)

    expect(
        outcome,
        outcome.timed_out or outcome.exit_code != 0,
        that="the result is not exitCode 0 with timedOut false",
        observed=outcome.came,
        advice="Remember that the limit was reached, whatever the command then exits with.",
    )


@check("EXEC-023", level=SHOULD, cost=SHARED)
async def a_command_that_kills_its_parent_never_counts_as_success(provider: Provider, spare: Lease) -> None:
    """Exit code 0 is an observation: when what stood above the command is gone, its end is not known to be good."""
    answer = await answer_of(provider.execute(spare, spare.shell, ["-c", "kill -9 $PPID; sleep 1; echo finished"]))

    finished = "finished" in str(answer.fields.get("stdout"))
    expect_not_success(
        answer,
        "a command that lost its parent",
        works=finished,
        advice="A missing exit event is no 0: answer with null, or with an error.",
    )
    await expect_alive(provider)


@check("EXEC-024", level=MUST, cost=SHARED)
async def a_timeout_ends_every_process_of_the_command(provider: Provider, lease: Lease) -> None:
    """After a timeout nothing of the command is left, neither children nor theirs, even if they ignore SIGTERM."""
    folder = await fresh_directory(provider, lease)
    tick = f"i=0; while [ $i -lt 600 ]; do echo . >> ticks; i=$((i+1)); sleep {PAUSE_S}; done"
    script = f"trap '' TERM INT HUP; ({tick}) & ( ({tick}) & wait ) & wait"
    await cut_off(provider, lease, script, once=f"{folder}/ticks", cwd=folder)

    outcome = await run_script(
        provider,
        lease,
        "i=0; while [ $i -lt 10 ]; do a=$(wc -c < ticks); sleep 0.5; b=$(wc -c < ticks); "
        "[ $a -eq $b ] && echo quiet && exit 0; i=$((i+1)); done; echo still running",
        cwd=folder,
    )

    expect_stdout(outcome, "quiet\n", advice="Kill the whole tree with SIGKILL, not only the shell you started.")


# --- background processes, files, other commands


@check("EXEC-025", level=MUST, cost=SHARED)
async def a_background_process_outlives_the_call_that_returns_at_once(provider: Provider, lease: Lease) -> None:
    """The host's bridge is a process started with nohup: the call ends with its own shell, the process goes on."""
    folder = await fresh_directory(provider, lease)
    limit = provider.launch.limits.seconds("bridge")
    # Moved into place: a file is there before what is written to it.
    background = f"{until_file(f'{folder}/go', 3 * limit)}; echo alive > draft; mv draft done"
    start = f"nohup sh -c {quote(background)} > log 2>&1 < /dev/null & echo started"

    started = await run_script(provider, lease, start, cwd=folder, timeout_ms=round(limit * 1000))
    expect_stdout(started, "started\n", advice="End the call when its main process has ended; do not wait for others.")
    alive = await run_script(provider, lease, f": > go; {until_file(f'{folder}/done', limit)}; cat done", cwd=folder)

    expect_stdout(alive, "alive\n", advice="Do not kill the group of a command that ended by itself.")


@check("EXEC-025", level=SHOULD, cost=SHARED)
async def a_background_process_that_holds_stdout_does_not_cost_the_output(provider: Provider, lease: Lease) -> None:
    """A child that keeps stdout open may hold the call up to its limit, but what was printed comes back."""
    folder = await fresh_directory(provider, lease)
    limit = provider.launch.limits.seconds("bridge")
    script = f"({until_file(f'{folder}/stop', limit)}) & echo started"

    answer = await answer_of(provider.execute(lease, lease.shell, ["-c", script], cwd=folder, timeout_ms=2000))
    await run_to_success(provider, lease, ": > stop", cwd=folder)

    expect(
        answer,
        answer.fields.get("stdout") == "started\n",
        that='a result whose stdout is "started\\n"',
        observed=answer.came,
        advice="Drain for a moment after the main process has ended, then answer with what there is.",
    )


@check("EXEC-025", level=MUST, cost=SHARED)
async def events_of_a_background_process_can_be_polled(provider: Provider, lease: Lease) -> None:
    """Without live output the host starts the agent in the background and reads its event file again and again."""
    folder = await fresh_directory(provider, lease)
    limit = provider.launch.limits.seconds("bridge")
    events = [f'{{"seq":{number},"mark":"{provider.new_id()}"}}' for number in range(3)]
    background = "; ".join(
        f"{until_file(f'{folder}/read-{n}', 3 * limit)}; echo {quote(event)} > new && mv new event-{n}"
        for n, event in enumerate(events)
    )
    start = f"nohup sh -c {quote(background)} > log 2>&1 < /dev/null & :"
    await run_to_success(provider, lease, start, cwd=folder, timeout_ms=round(limit * 1000))

    for number, event in enumerate(events):
        poll = f": > read-{number}; {until_file(f'{folder}/event-{number}', limit)}; cat event-{number}"
        outcome = await run_script(provider, lease, poll, cwd=folder)
        expect_stdout(outcome, f"{event}\n", advice="Leave the background process alone, and its files where they are.")


@check("EXEC-026", level=MUST, cost=SHARED)
async def files_last_from_one_call_to_the_next(provider: Provider, lease: Lease) -> None:
    """What one command writes, in the workspace or in its home, is there for the next."""
    folder = await fresh_directory(provider, lease)
    name = f".kit-{provider.new_id()}"
    await run_to_success(
        provider, lease, f'mkdir -p a/b && echo kept > a/b/.c && echo kept > "$HOME"/{name}', cwd=folder
    )

    outcome = await run_script(provider, lease, f'cat a/b/.c "$HOME"/{name}; rm -f "$HOME"/{name}', cwd=folder)

    expect_stdout(outcome, "kept\nkept\n", advice="Run all commands of a lease in one and the same sandbox.")


@check("EXEC-026", level=SHOULD, cost=OWN, when=A_SHORT_TIME_IN_THE_CONFIG)
async def a_lease_lasts_as_long_as_it_is_used(provider: Provider) -> None:
    """Where timeoutMs is the life of a sandbox, each command puts its end off: no run may lose it on the way."""
    config = await short_lived(provider)
    lease = await realize_workspace(provider, lease_of(provider, await provider.acquire(config)))
    folder = await fresh_directory(provider, lease)

    for number in range(WORK_STEPS):
        outcome = await run_script(
            provider, lease, f"sleep {WORK_STEP_S}; echo {number} >> steps; tail -n 1 steps", cwd=folder
        )
        expect_stdout(outcome, f"{number}\n", advice="Put the end of a sandbox off with every command that it runs.")


@check("EXEC-027", level=MUST, cost=SHARED)
async def short_commands_are_answered_beside_a_long_one_and_not_mixed(provider: Provider, spare: Lease) -> None:
    """While the agent's command is open the host sends control commands on the same lease and needs their answers."""
    folder = await fresh_directory(provider, spare)
    inputs = [f"{base64_text(provider.random, 65_536)}\n" for _ in range(8)]
    waiting = f"{until_file(f'{folder}/go', provider.launch.limits.seconds('bridge'))}; echo long"

    async with kept_open(run_script(provider, spare, waiting)) as long:
        shorts = await side_by_side(
            *(run_script(provider, spare, "cat", stdin=text, cwd=folder, env=CHANNEL) for text in inputs)
        )
        beside = not long.done()
        await run_to_success(provider, spare, ": > go", cwd=folder)

    expect(
        shorts[-1],
        beside,
        that="eight short commands are answered while a long one is still open on the same lease",
        observed=f"answered {'before' if beside else 'only after'} the long one had ended",
        advice="Give each command its own process: no queue, no lock and no session for a whole lease.",
        timed=True,
    )
    for short, text in zip(shorts, inputs, strict=True):
        expect_exit(short, 0)
        expect_same_text(short, "stdout", short.stdout, text, advice="Share no variable and no file between commands.")
    expect_stdout(long.result(), "long\n", advice="Share no variable and no file between commands.")


@check("EXEC-027", level=MUST, cost=SHARED, needs=Capability.INDEPENDENT_CONTROL_COMMANDS)
async def a_short_command_takes_no_longer_beside_a_long_one(provider: Provider, lease: Lease) -> None:
    """Independent control commands are answered beside a long one; one round of the bridge may take 10 s."""
    folder = await fresh_directory(provider, lease)
    waiting = until_file(f"{folder}/go", provider.launch.limits.seconds("bridge"))

    async with kept_open(run_script(provider, lease, waiting)) as long:
        short = await run_script(provider, lease, "echo beside", cwd=folder, env=CHANNEL)
        beside = not long.done()
        await run_to_success(provider, lease, ": > go", cwd=folder)

    limit = provider.launch.limits.seconds("prompt")
    expect_stdout(short, "beside\n")
    expect(
        short,
        beside and short.seconds <= limit,
        that=f"a short command is answered within {limit:.1f} s, and while the long one is open",
        observed=f"{short.seconds:.2f} s, {'before' if beside else 'after'} the end of the long one",
        advice="Do not declare independentControlCommands if commands of a lease wait for one another.",
        timed=True,
    )


@check("EXEC-028", level=MUST, cost=SHARED)
async def commands_of_two_leases_are_not_mixed(provider: Provider, lease: Lease, spare: Lease) -> None:
    """Each command runs in the sandbox of its own lease, and its output goes back to its own caller."""
    places = [(one, await fresh_directory(provider, one), provider.new_id()) for one in (lease, spare)]
    name = f".kit-{provider.new_id()}"
    script = f'cat ./mark "$HOME/{name}"'
    for one, folder, mark in places:
        await run_to_success(provider, one, f'echo {mark} > mark; echo {mark} > "$HOME/{name}"', cwd=folder)
        # A home that does not last from call to call is a matter of another rule.
        await run_to_success(provider, one, script, cwd=folder)

    calls = places * 4
    outcomes = await side_by_side(
        *(run_script(provider, one, script, cwd=folder, env=CHANNEL) for one, folder, _ in calls)
    )

    for outcome, (_, _, mark) in zip(outcomes, calls, strict=True):
        expect_stdout(
            outcome, f"{mark}\n{mark}\n", advice="Find the sandbox by the id of each call; keep no current one."
        )


# --- commands that cannot run


@check("EXEC-029", level=SHOULD, cost=SHARED)
async def a_program_that_does_not_exist_is_a_failed_command(provider: Provider, lease: Lease) -> None:
    """A missing tool is a result with a non-zero exit code, best 127, as a shell gives it."""
    name = f"kit-{provider.new_id()}"
    for program in (name, f"/nowhere/{name}"):
        answer = await answer_of(provider.execute(lease, program, ["an argument"]))

        expect_answered(answer, advice="Turn the fault of starting a process into exit code 127 and a line on stderr.")
        expect_not_success(answer, "a program that does not exist", advice="Answer with exit code 127.")


@check("EXEC-029", level=SHOULD, cost=SHARED)
async def a_command_killed_by_a_signal_says_so(provider: Provider, lease: Lease) -> None:
    """A death by signal has exitCode null, or 128 and the signal; the signal, if it is named, is the right one."""
    for name, number in (("KILL", 9), ("TERM", 15)):
        outcome = await run_script(provider, lease, f"kill -{name} $$")

        expect(
            outcome,
            outcome.exit_code in {None, 128 + number} and not outcome.timed_out,
            that=f"exitCode is null or {128 + number}, and timedOut false",
            observed=outcome.came,
            advice="Report null and the signal, or the number that a shell makes of it.",
        )
        expect(
            outcome,
            outcome.signal in {None, name, f"SIG{name}"},
            that=f"signal is SIG{name}, or not given",
            observed=show(outcome.signal),
            advice="Leave the signal out when you do not know it.",
        )


@check("EXEC-029", level=SHOULD, cost=SHARED)
async def no_signal_is_named_for_a_command_that_ended_by_itself(provider: Provider, lease: Lease) -> None:
    """A signal in the result says that one ended the command: it must not be made up from an exit code."""
    for code in (0, 3, 130):
        outcome = await run_script(provider, lease, f"exit {code}")

        expect(
            outcome,
            outcome.signal is None,
            that=f"no signal for exit code {code}",
            observed=show(outcome.signal),
            advice="Leave the signal out when you do not know it.",
        )


@check("EXEC-030", level=MUST, cost=SHARED)
async def a_command_on_a_lease_that_is_gone_never_succeeds(provider: Provider, gone: Lease) -> None:
    """A command for a destroyed, unknown or missing lease is an error or a failed command, in bounded time."""
    unknown = replace(gone, id=LeaseId(provider.new_id()))
    nameless = replace(gone, id=None)

    for nothing, what in ((gone, "a destroyed lease"), (unknown, "an unknown lease"), (nameless, "no lease")):
        answer = await answer_of(provider.execute(nothing, "true", cwd="/", timeout_ms=5000))
        expect_not_success(
            answer, f"a command on {what}", advice="Answer with an error; never make a new sandbox in silence."
        )
    await expect_alive(provider)


@check("EXEC-031", level=MUST, cost=SHARED)
async def four_hours_are_an_accepted_limit(provider: Provider, lease: Lease) -> None:
    """The host grants an agent 14,400,000 ms when nobody says otherwise; refusing that refuses every agent."""
    limit = int(provider.launch.limits["agent_time"].value)

    outcome = await run_script(provider, lease, "echo agent", timeout_ms=limit)

    expect_stdout(outcome, "agent\n", advice="Cut the time to your backend's maximum without an error.")


@check("EXEC-031", level=SHOULD, cost=Cost.LONG, when=A_LONG_TIME_IN_THE_CONFIG)
async def a_command_may_take_longer_than_a_minute(provider: Provider, lease: Lease) -> None:
    """A command whose limit allows it runs on past a minute, which client libraries have as a default of their own."""
    script = f"sleep {LONGER_THAN_A_DEFAULT_S}; echo done"

    outcome = await run_script(provider, lease, script, timeout_ms=LONG_LIFE_MS)

    expect_stdout(outcome, "done\n", advice="Hand the limit of the call to every client on the way to the command.")


@check("EXEC-032", level=SHOULD, cost=SHARED)
async def all_commands_run_as_one_user(provider: Provider, lease: Lease) -> None:
    """Every command of a lease runs as the same user, in a session or not, with or without stdin and env."""
    first = await run_to_success(provider, lease, "id -u")
    others = (
        await run_script(provider, lease, "id -u", bypass_session=False),
        await run_script(provider, lease, "id -u", stdin="text"),
        await run_script(provider, lease, "id -u", env=CHANNEL, cwd="/"),
    )

    for outcome in others:
        expect_stdout(outcome, first.stdout, advice="Name the user in every exec call, on every way.")


@check("EXEC-032", level=SHOULD, cost=SHARED, needs=Capability.NATIVE_SYNC_IN)
async def synced_files_belong_to_the_user_of_the_commands(provider: Provider, lease: Lease) -> None:
    """The agent has to change the files that it was given: they belong to the user that commands run as."""
    folder = await fresh_directory(provider, lease)
    source = provider.scratch / "given.txt"
    source.write_text("given\n", encoding="utf-8")
    mapping: JsonObject = {"sourcePath": str(source), "targetPath": f"{folder}/given.txt", "kind": "file"}
    await provider.sync_in(lease, [{"operationId": "sync-op-0", "files": [mapping]}])

    outcome = await run_script(
        provider, lease, "[ -O given.txt ] && echo changed >> given.txt && cat given.txt", cwd=folder
    )

    expect_stdout(outcome, "given\nchanged\n", advice="Copy as the user that commands run as, or hand the files over.")


# --- what several checks demand


def expect_all_arrived(outcome: Outcome, what: str, sent: Sequence[str], *, advice: str) -> None:
    """Demand that every text arrived in its place; the shortest that did not is shown first."""
    expect_exit(outcome, 0, advice=advice)
    came = shown_texts(outcome.stdout)
    pairs = list(zip(came, sent, strict=False))
    wrong = sorted((pair for pair in pairs if pair[0] != pair[1]), key=lambda pair: len(pair[1]))
    seen = [difference(f"{what} {show(text)}", arrived, text) for arrived, text in wrong[:5]]
    expect(
        outcome,
        len(came) == len(sent) and not wrong,
        that=f"all {len(sent)} {what}s arrive as they were sent",
        observed="; ".join([f"{len(came)} arrived, {len(wrong)} of them wrong or shifted", *seen]),
        advice=advice,
    )


def expect_not_success(answer: Answer, what: str, *, works: bool = False, advice: str) -> None:
    """Demand an error answer or a result that is no success; a success only if it is known that it `works`."""
    fields = answer.fields
    failed = isinstance(answer.fault, RpcError) or ("exitCode" in fields and fields["exitCode"] != 0)
    expect(
        answer,
        failed or works,
        that=f"{what} is answered with an error, or with an exitCode that is not 0",
        observed=answer.came,
        advice=advice,
    )


async def short_lived(provider: Provider) -> dict[str, Json]:
    """The config with a short timeoutMs; as it is where the provider does not take one so short."""
    short: dict[str, Json] = {"timeoutMs": SHORT_LIFE_MS}
    answer = await answer_of(provider.validate_config({**provider.stored_config, **short}))
    return {**provider.config, **(short if answer.fields.get("ok") is True else {})}


async def expect_path_decides(provider: Provider, lease: Lease) -> None:
    """Demand that a program of the caller's PATH is found, by the provider itself and by a shell that it starts."""
    folder = await fresh_directory(provider, lease)
    await write_file(provider, lease, f"{folder}/kit-tool", f"{BOURNE}echo the tool of the caller\n")
    await run_to_success(provider, lease, f"chmod 755 {quote(folder)}/kit-tool")
    path = {"PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin"}
    advice = "Look the command up with the PATH of the call, and let no profile set it again."

    direct = await run_program(provider, lease, "kit-tool", env=path)
    by_shell = await run_script(provider, lease, "kit-tool", env=path)

    for outcome in (direct, by_shell):
        expect_stdout(outcome, "the tool of the caller\n", advice=advice)


async def expect_control_characters_kept(provider: Provider, lease: Lease) -> None:
    """Demand that a command can print every control character."""
    text = "".join(map(chr, (*range(10), *range(11, 32), 127, 10)))

    outcome = await run_script(provider, lease, print_in_single_bytes(text, ":"))

    expect_exit(outcome, 0)
    expect_same_text(
        outcome, "stdout", outcome.stdout, text, advice="Pass output through no terminal, C string or shell variable."
    )


def script_of_size(provider: Provider, size: int) -> tuple[str, str]:
    """A script of exactly `size` bytes that prints the digest of most of itself, and that digest."""
    frame = f"printf %s '' | {DIGEST}"
    text = base64_text(provider.random, size)[: size - len(frame)]
    return f"printf %s '{text}' | {DIGEST}", digest_of(text)
