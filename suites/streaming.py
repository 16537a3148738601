"""STREAM: `execute.log`, which carries output to the host while a command is still running.

A provider may send none of it, unless it declares `incrementalSessionOutput`; what it does send has to be right.
"""

import time
from collections.abc import Iterable, Iterator, Mapping

from conformance.checks import Capability, check
from conformance.evidence import cut, show
from conformance.expect import difference, expect, expect_exit, expect_same_text
from conformance.host.lease import Lease
from conformance.host.worker import Notice
from conformance.model import Cost, Level
from conformance.overlap import (
    PAUSE_S,
    LiveOutput,
    a_while_for_file,
    fresh_directory,
    kept_open,
    side_by_side,
    until_file,
)
from conformance.payloads import numbered_lines, print_in_single_bytes, print_numbered_lines, print_wide_text
from conformance.provider import Provider
from conformance.steps import Outcome, quote, run_script, run_to_success

MUST = Level.MUST
SHARED = Cost.SHARED

BOTH_WAYS = (True, False)
"""Values of bypassSession: outside a session, and in one if the provider has any."""

BURST = 1_200_000
"""Bytes printed at once: more than the largest chunk that the host takes (our choice)."""


@check("STREAM-002", level=MUST, cost=SHARED)
async def every_chunk_is_one_that_the_host_takes(provider: Provider, lease: Lease) -> None:
    """The stream is stdout or stderr, and the chunk a text that is neither empty nor too long."""
    scripts = (print_numbered_lines(BURST), "echo out; echo err >&2", "printf unfinished", ":")
    outcomes = [
        await run_script(provider, lease, script, bypass_session=bypass) for script in scripts for bypass in BOTH_WAYS
    ]

    longest = provider.launch.limits["live_chunk"].value
    chunks = [notice for outcome in outcomes for notice in live_output(outcome)]
    wrong = [problem for notice in chunks for problem in problems_of(notice, longest)]

    expect_none(
        outcomes[0],
        wrong,
        of=f"{len(chunks)} chunks",
        that=f"each execute.log has stream stdout or stderr, and a chunk of 1 to {longest:.0f} UTF-16 units",
        advice="Send nothing for an empty piece, and cut a long one: the host drops such a notification whole.",
    )


@check("STREAM-003", level=MUST, cost=SHARED)
async def every_chunk_carries_the_id_of_its_own_running_command(provider: Provider, lease: Lease) -> None:
    """Of two commands at once, each chunk names the one that printed it, while that is running, and its stream."""
    folder = await fresh_directory(provider, lease)
    marks = (provider.new_id(), provider.new_id())
    start = len(provider.worker.notices)
    lines = f"echo out-$mark; echo err-$mark >&2; sleep {PAUSE_S}"
    scripts = [
        f"mark={mark}; : > here-{mark}; {a_while_for_file(f'{folder}/here-{other}', 1)}; {lines}; {lines}; {lines}"
        for mark, other in (marks, marks[::-1])
    ]

    outcomes = await side_by_side(*(run_script(provider, lease, script, cwd=folder) for script in scripts))

    commands = dict(zip(marks, outcomes, strict=True))
    chunks = [notice for notice in provider.worker.notices[start:] if notice.method == "execute.log"]
    expect_none(
        outcomes[0],
        [problem for notice in chunks for problem in routing_problems(notice, commands)],
        of=f"{len(chunks)} chunks",
        that="each execute.log carries the invocation id of the command that printed it, still open, and its stream",
        advice="Keep the id with the call, in no variable that parallel calls share.",
    )


@check("STREAM-004", level=MUST, cost=SHARED)
async def no_chunk_comes_after_the_answer(provider: Provider, lease: Lease) -> None:
    """When a command is answered, all of its live output has been sent: the host drops what comes later."""
    scripts = ("echo all at once", "printf 'a last line without an end'", "echo out; printf err >&2; exit 3")
    outcomes = [
        await run_script(provider, lease, script, bypass_session=bypass) for script in scripts for bypass in BOTH_WAYS
    ]
    # What is late shows up before the answer to a call that is made later.
    await run_script(provider, lease, "echo later")

    late = [(outcome, notice) for outcome in outcomes for notice in live_output(outcome, late=True)]
    expect_none(
        outcomes[0],
        [
            f"{show(notice.params)} in frame {notice.frame}, after {outcome.sent} was answered"
            for outcome, notice in late
        ],
        of=f"{len(outcomes)} commands",
        that="no execute.log of a command comes after its answer",
        advice="Drain both streams and send the rest before you answer.",
    )


@check("STREAM-005", level=MUST, cost=SHARED)
async def live_output_is_the_beginning_of_the_final_text(provider: Provider, lease: Lease) -> None:
    """Chunks of a stream, joined, are a beginning of its text in the result: else the host prints everything again."""
    lines = "printf 'one\\r\\n\\033[1mtwo\\033[0m\\tthree\\n'; printf 'and\\n\\n' >&2; "
    script = f"{lines} sleep {PAUSE_S}; {lines} sleep {PAUSE_S}; printf 'no end'; exit 3"

    for bypass in BOTH_WAYS:
        outcome = await run_script(provider, lease, script, bypass_session=bypass)

        for stream, final in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
            live = joined(live_output(outcome), stream)
            expect(
                outcome,
                final.startswith(live),
                that=f"the chunks of {stream} are a beginning of the final {stream}",
                observed=difference(f"live {stream}", live, final[: len(live)]),
                advice="Send live exactly what you keep for the result, and fold streams on both ways or on none.",
            )


@check("STREAM-006", level=MUST, cost=SHARED)
async def the_result_holds_all_output_streamed_or_not(provider: Provider, lease: Lease) -> None:
    """Live output may get lost on its way, so the result repeats all of it."""
    folder = await fresh_directory(provider, lease)
    pieces = [f"piece {number} {provider.new_id()}\n" for number in range(6)]
    slow = "; ".join(f"printf %s {quote(piece)}; sleep {PAUSE_S}" for piece in pieces)

    for bypass in BOTH_WAYS:
        outcome = await run_script(
            provider, lease, f"{slow}; {print_numbered_lines(200_000)}", cwd=folder, bypass_session=bypass
        )

        expect_exit(outcome, 0)
        expect_same_text(
            outcome,
            "stdout",
            outcome.stdout,
            "".join(pieces) + numbered_lines(200_000),
            advice="Return the whole text, also what you have sent before.",
        )


@check("STREAM-007", level=MUST, cost=SHARED)
async def no_chunk_cuts_a_character_in_two(provider: Provider, lease: Lease) -> None:
    """A character of several bytes is sent when all of it is there, and so is one of two UTF-16 units."""
    slow = print_in_single_bytes("\u00e9\u20ac\U0001f600", f"sleep {PAUSE_S}")
    outcomes = [await run_script(provider, lease, script) for script in (slow, print_wide_text(100_000))]

    chunks = [notice for outcome in outcomes for notice in live_output(outcome)]
    expect_none(
        outcomes[0],
        [
            f"{show(cut(str(notice.params.get('chunk')), 60))} in frame {notice.frame}"
            for notice in chunks
            if is_cut(notice)
        ],
        of=f"{len(chunks)} chunks",
        that="no chunk holds U+FFFD or half of a character",
        advice="Use one incremental decoder for each stream, and do not cut between two surrogates.",
    )


@check("STREAM-008", level=MUST, cost=SHARED, needs=Capability.INCREMENTAL_SESSION_OUTPUT)
async def output_of_a_session_arrives_while_the_command_runs(provider: Provider, lease: Lease) -> None:
    """The host reads a frame, answers it through a file, and waits for the next: a frame that comes late stalls it."""
    await expect_dialogue(provider, lease, bypass_session=False)


@check("STREAM-009", level=MUST, cost=SHARED, needs=Capability.INCREMENTAL_SESSION_OUTPUT)
async def output_outside_a_session_arrives_while_the_command_runs(provider: Provider, lease: Lease) -> None:
    """With sessions switched off the same command comes with bypassSession true, and needs its live output too."""
    await expect_dialogue(provider, lease, bypass_session=True)


async def expect_dialogue(provider: Provider, lease: Lease, *, bypass_session: bool) -> None:
    """Demand that frames of a command arrive one by one while it waits for the answer to each."""
    folder = await fresh_directory(provider, lease)
    start, limit = (provider.launch.limits.seconds(name) for name in ("bridge", "live_output"))
    frames = [f'{{"seq":{number},"data":"{provider.new_id()}"}}' for number in range(3)]
    answers = [f"{folder}/answer-{number}" for number in range(len(frames))]
    # The command waits longer for an answer than the kit waits for a frame: it cannot end and send all of it at once.
    waits = (
        f"echo {quote(frame)}; {until_file(answer, 2 * start)}" for frame, answer in zip(frames, answers, strict=True)
    )
    live = LiveOutput(provider.worker.notices)
    delays: list[float] = []

    async with kept_open(run_script(provider, lease, "; ".join(waits), bypass_session=bypass_session)) as command:
        written, patience = time.monotonic(), start
        for frame, answer in zip(frames, answers, strict=True):
            moment = await live.moment_of(frame, patience)
            if moment is None:
                break
            delays.append(moment - written)
            await run_to_success(provider, lease, f": > {quote(answer)}")
            # The next frame was written a moment ago, or will be in a moment; nobody knows when the first one was.
            written, patience = time.monotonic(), limit
        await run_to_success(provider, lease, "; ".join(f": > {quote(answer)}" for answer in answers))

    slowest = max(0.0, *delays[1:], 0.0)
    provider.trace.spent(slowest / limit)
    expect(
        command.result(),
        len(delays) == len(frames) and slowest <= limit,
        that=f"each frame arrives while the command waits for its answer, at most {limit:g} s after it was written",
        observed=f"{len(delays)} of {len(frames)} frames arrived, the slowest of the later ones after {slowest:.2f} s",
        advice="Send what you read as soon as you have read it; do not declare incrementalSessionOutput otherwise.",
        timed=True,
    )
    expect_exit(command.result(), 0)
    expect_same_text(command.result(), "stdout", command.result().stdout, "".join(f"{frame}\n" for frame in frames))


def expect_none(outcome: Outcome, problems: Iterable[str], *, of: str, that: str, advice: str) -> None:
    """Demand that nothing is wrong with what arrived, of which there may be nothing at all."""
    found = list(problems)
    seen = "; ".join([f"{len(found)} problems", *found[:3]]) if found else f"no problem in {of}"
    expect(outcome, not found, that=that, observed=seen, advice=advice)


def live_output(outcome: Outcome, *, late: bool = False) -> list[Notice]:
    """The `execute.log` of one command; with `late`, only what came after its answer."""
    answered = outcome.frames[-1]
    logs = [notice for notice in outcome.answer.notices if notice.method == "execute.log"]
    return [notice for notice in logs if not late or notice.frame > answered]


def joined(notices: Iterable[Notice], stream: str) -> str:
    """All chunks of one stream."""
    return "".join(str(notice.params.get("chunk")) for notice in notices if notice.params.get("stream") == stream)


def problems_of(notice: Notice, longest: float) -> Iterator[str]:
    """What makes the host drop a chunk."""
    stream, chunk = notice.params.get("stream"), notice.params.get("chunk")
    if stream not in {"stdout", "stderr"}:
        yield f"stream {show(stream)} in frame {notice.frame}"
    if not isinstance(chunk, str):
        yield f"chunk {show(chunk)} in frame {notice.frame} is no text"
    elif not 0 < units_of(chunk) <= longest:
        yield f"a chunk of {units_of(chunk)} units in frame {notice.frame}"


def routing_problems(notice: Notice, commands: Mapping[str, Outcome]) -> Iterator[str]:
    """What is wrong with the address of a chunk; `commands` maps the mark that each command printed to its outcome."""
    stream, chunk = notice.params.get("stream"), str(notice.params.get("chunk"))
    for mark, outcome in commands.items():
        invocation = outcome.answer.invocation
        final = {"stdout": outcome.stdout, "stderr": outcome.stderr}.get(str(stream))
        if mark not in chunk:
            continue
        if invocation is None or notice.invocation != invocation.id:
            yield f"{show(cut(chunk, 60))} in frame {notice.frame} carries {show(notice.invocation)}"
        elif notice.open_call is None:
            yield f"{show(cut(chunk, 60))} in frame {notice.frame} comes after the answer"
        # A provider that folds stderr into stdout does so in the result too, and may do so here.
        for text in (f"out-{mark}", f"err-{mark}"):
            if text in chunk and final is not None and text not in final:
                yield f"{text} in frame {notice.frame} is said to be of {stream}, where the result does not have it"


def units_of(text: str) -> int:
    """Length as the host counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def is_cut(notice: Notice) -> bool:
    """Whether a chunk holds a replacement character, or half of a pair of surrogates."""
    chunk = str(notice.params.get("chunk"))
    return "\ufffd" in chunk or any("\ud800" <= unit <= "\udfff" for unit in chunk)
