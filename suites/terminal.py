"""PTY: the login terminal, on which an operator logs the agent in by hand.

A driver that does not declare it is asked for none of this. The login tool is a stand-in that the kit puts into the
sandbox and takes away again; where no command finds it, what it would have shown is not decided.
"""

from collections.abc import Iterator, Mapping, Sequence

from conformance.answer import Answer
from conformance.canaries import expect_unseen, new_mark, sightings
from conformance.checks import check
from conformance.evidence import Blocked, cut, show
from conformance.expect import expect, expect_alive, expect_equal, expect_error, expect_same_text, expect_shape
from conformance.gates import LOGIN_TERMINAL
from conformance.harmless import unknown_lease
from conformance.host.params import LOGIN_COMMAND
from conformance.host.worker import Notice
from conformance.login import OUTPUT, Login, Terminal
from conformance.model import Cost, Level, RequirementId
from conformance.payloads import print_numbered_lines, shown_input
from conformance.provider import Provider, answer_of
from conformance.standin import CALLED, ENDS, READY, TERMINAL, TICKS, TYPED, WAITS, take_keys, ticking, until_quiet
from conformance.steps import run_script
from conformance.suites.streaming import units_of

MUST, SHOULD = Level.MUST, Level.SHOULD
FREE, SHARED = Cost.FREE, Cost.SHARED

LOGIN_ARGUMENTS = LOGIN_COMMAND.partition(" ")[2]
"""What the stand-in is called with."""

OTHER_COMMANDS = (
    "claude login",
    "touch {folder}/other-1",
    "sh -c 'touch {folder}/other-2'",
    "claude setup-token; touch {folder}/other-3",
    "claude setup-token $(touch {folder}/other-4)",
)
"""What no host sends; each leaves a trace when it is run, in whole or in part."""

PLAIN_KEYS = (
    "a'b\"c $HOME `echo` $(echo) \\n ; | & < > * ? ~ ! # %s\n",
    "\u00e4\u00f6 \u20ac \u65e5\u672c \U0001f600\n",
)
"""Keys that a terminal hands on as they are, even while it edits lines."""

RAW_KEYS = (
    *PLAIN_KEYS,
    "a code#a state\r",
    "\x1b[A\x1bOP\x1b[200~pasted\x1b[201~",
    "\t\x7f\x01\x03\x04\x11\x13\x15\x16\x1a\x1c\r\n\n\r",
    "0123456789abcdef" * 128,
    "end",
)
"""Keys as an operator presses them or pastes: return, arrows, control keys, a long code."""

KEYS = {"raw": RAW_KEYS, "plain": PLAIN_KEYS}

BURST = 1_200_000
"""Bytes shown at once: more than the largest chunk that the host takes, and less than a whole terminal may show."""

ANY_STATE = (
    "Answer every close with its hostRouteId, also for a route that is unknown or over: else the host kills you."
)


# --- open


@check("PTY-001", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def a_terminal_opens_with_an_id(login: Login) -> None:
    """Open answers with the id of the session, a text that is not empty: keys and output go by it."""
    async with login.tool(WAITS) as tool, login.opened(tool) as terminal:
        terminal.demand_tool()

        expect_shape(terminal.answer, advice="Start the command, and answer with {workerSessionId} of your own making.")


@check("PTY-001", level=SHOULD, cost=SHARED, when=LOGIN_TERMINAL)
async def a_later_session_has_another_id(login: Login) -> None:
    """A session gets an id of its own: the late output of one that is over would be taken for that of the next."""
    async with login.tool(WAITS) as tool:
        async with login.opened(tool) as first:
            first.demand_open()
        async with login.opened(tool) as second:
            second.demand_open()
            expect(
                second,
                first.id != second.id,
                that="two sessions, one after the other, have different ids",
                observed=f"ids {show([first.id, second.id])}",
                advice="Make an id for each session; lease, route and environment stay the same.",
            )


@check("PTY-002", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def no_other_command_is_run(login: Login) -> None:
    """The terminal is there for one command, and no part of another one is ever run on it."""
    async with login.tool(ENDS) as tool:
        for command in OTHER_COMMANDS:
            async with login.opened(tool, command=command.format(folder=tool.folder)) as terminal:
                await terminal.settled()
        traces = f"ls other-* 2> /dev/null; [ ! -e {CALLED} ] || cat {CALLED}"
        seen = await run_script(login.provider, login.lease, traces, cwd=tool.folder)

    others = sorted(set(seen.stdout.splitlines()) - {LOGIN_ARGUMENTS})
    expect(
        seen,
        not others,
        that=f"nothing but `{LOGIN_COMMAND}` is run, whatever command is asked for",
        observed=f"traces of {', '.join(map(show, others))}" if others else "no trace of another command",
        advice="Compare the command as a whole, and start the one that you know instead of the one that came.",
    )


@check("PTY-002", level=SHOULD, cost=SHARED, when=LOGIN_TERMINAL)
async def another_command_is_refused(login: Login) -> None:
    """A command that is not run is refused with an error, so that nobody waits for its login."""
    async with login.tool(ENDS) as tool:
        for command in OTHER_COMMANDS:
            async with login.opened(tool, command=command.format(folder=tool.folder)) as terminal:
                expect_error(terminal.answer, what=f"an open with the command {show(command)}")


# --- close


@check("PTY-006", level=MUST, cost=FREE, when=LOGIN_TERMINAL)
async def a_route_that_nobody_opened_is_closed(provider: Provider) -> None:
    """Close is answered with its hostRouteId for a route that the worker has never heard of."""
    route = provider.new_id()

    expect_closed(await provider.close_terminal(route), route)
    await expect_alive(provider)


@check("PTY-006", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def a_route_whose_open_failed_is_closed(login: Login) -> None:
    """The host closes the route after a failed open, too, here on a lease that does not exist."""
    async with login.tool(WAITS) as tool, login.opened(tool, lease=unknown_lease(login.provider)) as terminal:
        expect_closed(await terminal.close(), terminal.route)
    await expect_alive(login.provider)


@check("PTY-006", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def an_open_terminal_is_closed_any_number_of_times(login: Login) -> None:
    """Close is answered while the command runs, and once more when there is nothing left to close."""
    async with login.terminal(WAITS) as terminal:
        await terminal.begun()

        expect_closed(await terminal.close(), terminal.route)
        expect_closed(await terminal.close(), terminal.route)


@check("PTY-006", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def a_terminal_is_closed_after_its_command_has_ended(login: Login) -> None:
    """A command that ends by itself leaves a route behind that the host closes."""
    async with login.terminal(WAITS) as terminal:
        await terminal.begun()
        await terminal.enter()
        await demand_end(terminal)

        expect_closed(await terminal.close(), terminal.route)


@check("PTY-007", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def close_ends_the_command(login: Login) -> None:
    """After close nothing of the login runs on in the sandbox."""
    await expect_ended_by_close(login, ticking(), advice="End the process of the terminal before you answer.")


@check("PTY-007", level=SHOULD, cost=SHARED, when=LOGIN_TERMINAL)
async def close_ends_a_command_that_a_hangup_does_not_end(login: Login) -> None:
    """To close the terminal is not enough where the command ignores the hangup: it is killed."""
    await expect_ended_by_close(login, ticking(deaf=True), advice="Send SIGKILL to its process group, too.")


# --- keys


@check("PTY-008", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def keys_arrive_unchanged_on_a_real_terminal(login: Login) -> None:
    """The tool demands a terminal and reads key by key: return, arrows, control keys and pasted codes as they are."""
    sizes = {how: len("".join(keys).encode()) for how, keys in KEYS.items()}
    async with login.terminal(take_keys(**sizes)) as terminal:
        await terminal.begun()
        start = await terminal.after(READY, f"cat how; [ ! -e {TERMINAL} ] || echo {TERMINAL}")
        how, *signs = start.stdout.split() or [""]
        expect_equal(terminal, "stdin and stdout of the tool are a terminal", TERMINAL in signs, expected=True)

        keys = KEYS.get(how, PLAIN_KEYS)
        for each in keys:
            await terminal.type(each)
        arrived = await terminal.after(TYPED, "base64 < keys")

        expect_same_text(
            arrived,
            "what was typed",
            shown_input(arrived.stdout),
            "".join(keys),
            advice="Write the UTF-8 bytes of data to the terminal, all of them, and nothing else.",
        )


# --- output and exit


@check("PTY-009", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def the_end_of_the_command_is_told_once(login: Login) -> None:
    """One exit with a number or null follows the end of the command; neither stop nor close brings another."""
    async with login.terminal(WAITS) as terminal:
        await terminal.begun()
        await terminal.enter()
        ended = await terminal.ends()
        expect(
            terminal,
            ended,
            that="exit is sent when the command has ended",
            observed="an exit" if ended else "no exit",
            advice="Wait for the process, and tell its end when its last output is out.",
            timed=True,
        )
        await answer_of(terminal.stop())
        await terminal.end()
        await expect_alive(login.provider)

        expect_exits(terminal, least=1)


@check("PTY-009", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def a_close_tells_at_most_one_end(login: Login) -> None:
    """Whether the end of a terminal that the host closes is told is up to the provider; it is never told twice."""
    async with login.terminal(WAITS) as terminal:
        await terminal.begun()
        await terminal.end()
        await expect_alive(login.provider)

        expect_exits(terminal, least=0)


@check("PTY-009", level=SHOULD, cost=SHARED, when=LOGIN_TERMINAL)
async def stop_ends_the_command_and_tells_it(login: Login) -> None:
    """Stop ends the command, which is told as any other end."""
    async with login.terminal(WAITS) as terminal:
        await terminal.begun()
        await terminal.stop()
        await terminal.ends()
        await expect_alive(login.provider)

        # Before the close, which may tell an end of its own.
        expect_exits(terminal, least=1)


@check("PTY-010", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def output_and_exit_are_such_as_the_host_takes(login: Login) -> None:
    """Output comes in texts that are neither empty nor too long; they and the exit name the session."""
    last = login.provider.new_id()
    async with login.terminal(f"{PROMPT}\n{print_numbered_lines(BURST)}\necho {last}") as terminal:
        await terminal.begun()
        await terminal.enter()
        shown = await terminal.shows(last)
        await terminal.ends()
        await terminal.end()

        longest = login.provider.launch.limits["terminal_chunk"].value
        wrong = [problem for notice in terminal.notices for problem in problems_of(notice, terminal.id, longest)]
        expect(
            terminal,
            not wrong,
            that=f"output and exit name their session, and a chunk is a text of 1 to {longest:.0f} UTF-16 units",
            observed="; ".join([f"{len(wrong)} problems", *wrong[:3]]) if wrong else "no problem",
            advice="Send nothing for an empty piece, cut a long one, and name the session: the host drops the rest.",
        )
        expect(
            terminal,
            shown,
            that="all that the tool shows arrives as output",
            observed=f"{len(terminal.text)} characters, ending in {show(terminal.text[-80:])}",
            advice="Read the terminal to its end before you tell the exit.",
            timed=True,
        )


@check("PTY-012", level=MUST, cost=SHARED, when=LOGIN_TERMINAL)
async def what_the_terminal_shows_is_nowhere_else(login: Login) -> None:
    """The tool shows a token: it goes out as output of the terminal, and into no log, error or line of stderr."""
    halves = [new_mark(login.provider), login.provider.new_id()]
    # In two parts: in one it would be part of the script, which is no output.
    await expect_only_shown(login, {"what the tool shows": "/".join(halves)}, shows=halves)


@check("PTY-012", level=SHOULD, cost=SHARED, when=LOGIN_TERMINAL)
async def what_is_typed_is_nowhere_else(login: Login) -> None:
    """The code that an operator types is on the terminal alone, too."""
    await expect_only_shown(login, {"what is typed": new_mark(login.provider)}, shows=["no", "mark"])


# --- what several of them demand


PROMPT = f": > {READY}; read -r line"
"""The first line of a body that waits for another."""


def expect_closed(answer: Answer, route: str) -> None:
    """Demand that a close echoes its route."""
    expect_equal(answer, "hostRouteId", answer.fields.get("hostRouteId"), route, advice=ANY_STATE)


async def expect_ended_by_close(login: Login, body: str, *, advice: str) -> None:
    """Demand that the command of a terminal does nothing any more after its close."""
    async with login.terminal(body) as terminal:
        await terminal.begun(TICKS)
        await terminal.end()
        seen = await terminal.after(TICKS, until_quiet())

        expect_equal(seen, "the command", seen.stdout.strip(), "ended", advice=advice)


async def demand_end(terminal: Terminal) -> None:
    """Wait for the end of the command; blocked by PTY-009 when it is not told."""
    if not await terminal.ends():
        raise Blocked(RequirementId("PTY-009"), "the end of the command was not told", terminal.frames)


def expect_exits(terminal: Terminal, *, least: int) -> None:
    """Demand that the end of a session was told once, or, where that is allowed, not at all."""
    codes = [notice.params.get("exitCode", "absent") for notice in terminal.exits]
    wanted = "one exit" if least else "at most one exit"
    expect(
        terminal,
        least <= len(codes) <= 1 and all(is_exit_code(code) for code in codes),
        that=f"{wanted} is sent, with a number or null",
        observed=f"{len(codes)} exits, with {show(codes)}",
        advice="Remember that the end was told; null stands for one without a code.",
    )


def is_exit_code(code: object) -> bool:
    """Whether the host takes a value for an exit code."""
    return code is None or (isinstance(code, int | float) and not isinstance(code, bool))


def problems_of(notice: Notice, session: str, longest: float) -> Iterator[str]:
    """What makes the host drop a notification of a terminal."""
    number, chunk = notice.params.get("workerSessionId"), notice.params.get("chunk")
    if number != session:
        yield f"workerSessionId {cut(show(number), 60)} in frame {notice.frame}"
    if notice.method != OUTPUT:
        return
    if not isinstance(chunk, str):
        yield f"chunk {cut(show(chunk), 60)} in frame {notice.frame} is no text"
    elif not 0 < units_of(chunk) <= longest:
        yield f"a chunk of {units_of(chunk)} units in frame {notice.frame}"


async def expect_only_shown(login: Login, secrets: Mapping[str, str], *, shows: Sequence[str]) -> None:
    """Demand that secrets, which are shown or typed in a login that goes wrong, are in the terminal's output alone."""
    worker = login.provider.worker
    body = f"printf '%s/%s\\n' {shows[0]} {shows[1]}\n{PROMPT}\nprintf 'wrong: %s\\n' \"$line\" >&2; exit 3"
    before = worker.peer.transcript.last
    async with login.terminal(body) as terminal:
        await terminal.begun()
        await terminal.enter(secrets.get("what is typed", ""))
        await terminal.ends()
        # A key may come too late: what is answered then is an error that must not tell either.
        await answer_of(terminal.type("\n"))
        await answer_of(terminal.stop())
        await terminal.end()
    await expect_alive(login.provider)
    if not all(secret in terminal.text for secret in secrets.values()):
        raise Blocked(RequirementId("PTY-010"), "the terminal did not show what was to be looked for", terminal.frames)

    shown = {notice.frame for notice in terminal.notices if notice.method == OUTPUT}
    found = [each for each in sightings(worker, secrets, since=before) if each.frame not in shown]
    expect_unseen(terminal, found, "what stands on the terminal", advice="Leave keys and output out of every log.")
