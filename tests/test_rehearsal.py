"""Rehearsals send what recorded hosts sent, in their order and beside one another, and tell where they went wrong."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance.answer import Answer
from conformance.bench import Bench
from conformance.checks import Check
from conformance.collection import load_checks
from conformance.errors import KitError, MalformedAnswer
from conformance.evidence import Blocked, Finding, Trace
from conformance.fixtures.mutants import all_mutants
from conformance.judge import Judge, Result
from conformance.model import MethodName, RequirementId, State
from conformance.plan import bench_for, make_plan
from conformance.rehearsal.flow import Flow, Stage
from conformance.rehearsal.sessions import Frame, frame_of
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Direction, Transcript
from tests.host.live import live_bench
from tests.recorded_runs import STORE, Request, as_lines, read_recordings, read_runs, request_of, without_repeats

RECORDINGS = Path(__file__).parents[1].parent / "shared" / "contract" / "host-transcripts"

BRIEF = "looks, assets and the config are rehearsed with the command-line and the polled lane"
OVER_COMMANDS = "the workspace goes over commands: not every provider with live output has native sync"
LAST_LOOK = "the recorded host looks once more for events that are in no file in this lane"

REHEARSALS = {check.name: check for check in load_checks() if check.area == "rehearsal"}

Shortened = Mapping[str, str]
"""Kinds of requests, or methods, with the reason why only one side sends them."""


@dataclass(frozen=True)
class Comparison:
    """A rehearsal and the recording that it plays; what only one of them sends, or sends earlier, with the reason."""

    recording: str
    rehearsal: str
    config: str
    only_recorded: Shortened
    only_rehearsed: Shortened
    moved: Shortened


WHOLE_RUNS = (
    Comparison("10", "a_run_of_the_command_line_lane_goes_through", '{"timeoutMs": 20000}', {}, {}, {}),
    Comparison("15", "a_run_goes_through_with_its_agent_in_the_background", '{"timeoutMs": 20000}', {}, {}, {}),
    Comparison("11", "a_run_goes_through_with_native_sync", '{"timeoutMs": 30000}', {}, {}, {}),
    Comparison(
        "14",
        "a_run_goes_through_with_a_streamed_agent",
        '{"timeoutMs": 30000}',
        {
            **dict.fromkeys(("first look", "look at PATH", "look for the program", "make the config"), BRIEF),
            **dict.fromkeys(("environmentSyncIn", "environmentSyncOut"), OVER_COMMANDS),
            "poll of events": LAST_LOOK,
        },
        dict.fromkeys(
            (
                "upload, prepare",
                "upload, append",
                "upload, put in place",
                "unpack the workspace",
                "unpack the overlay",
                "pack the workspace",
            ),
            OVER_COMMANDS,
        ),
        {"remove": OVER_COMMANDS},
    ),
)

LIVES = {
    "two_runs_go_through_on_one_lease": ("20", "21"),
    "the_lease_of_a_killed_worker_is_swept_by_the_next_one": ("30", "31"),
    "a_cancelled_run_ends_as_any_other": ("32",),
    "a_run_whose_agent_has_no_time_left_is_taken_back": ("34",),
    "a_host_that_stops_releases_under_the_open_agent": ("40",),
    "the_lease_of_a_killed_host_is_released_by_the_next_one": ("41",),
}
"""Rehearsals of the life of a lease, and the recordings that they play one after the other."""

NOT_OF_A_LIFE = {
    "environmentExecute": "compared in the whole runs",
    "environmentSyncIn": OVER_COMMANDS,
    "environmentSyncOut": OVER_COMMANDS,
    "initialize": "a recording begins when a worker runs, a rehearsal when it starts",
    "shutdown": "the kit stops its own workers; recorded hosts ran on",
}

AFTER_THE_RUN = {
    "two_runs_go_through_on_one_lease": ("environmentDestroyLease",),
    "a_cancelled_run_ends_as_any_other": ("environmentResumeLease",),
    "the_lease_of_a_killed_worker_is_swept_by_the_next_one": ("environmentResumeLease",),
    "the_lease_of_a_killed_host_is_released_by_the_next_one": ("environmentResumeLease",),
}
"""What a rehearsal sends at its end beyond the recording: to see that nothing is left, or to leave nothing."""


@dataclass(frozen=True)
class Played:
    """A rehearsal that was played: its result, and every request with whether others were open when it was sent."""

    result: Result
    requests: tuple[Request, ...]
    beside: tuple[frozenset[str], ...]


@contextlib.asynccontextmanager
async def quiet_bench(folder: Path) -> AsyncGenerator[Bench]:
    """A bench for the provider without live output."""
    script = Path(__file__).with_name("quiet_provider.py")
    command = (sys.executable, str(script))
    manifest = folder / "manifest.json"
    manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)  # noqa: ASYNC221
    options = Options(f"cmd:{' '.join(command)}", manifest=str(manifest), seed=1)
    bench = bench_for(make_plan(read_settings(options, os.environ, folder), folder), Transcript(), folder, os.environ)
    try:
        yield bench
    finally:
        await bench.close()


async def play_on(bench: Bench, rehearsal: Check) -> Played:
    result = await Judge(bench).judge(rehearsal)
    open_calls: dict[tuple[int, object], str] = {}
    requests: list[Request] = []
    beside: list[frozenset[str]] = []
    for frame in bench.launch.transcript.frames:
        if frame.direction not in {Direction.TO_WORKER, Direction.TO_HOST}:
            continue
        message = json.loads(frame.data)
        key = (frame.worker, message.get("id"))
        if frame.direction is Direction.TO_WORKER and "method" in message:
            requests.append(request_of(message))
            beside.append(frozenset(open_calls.values()))
            open_calls[key] = requests[-1].kind or requests[-1].method
        elif frame.direction is Direction.TO_HOST:
            open_calls.pop(key, None)
    return Played(result, tuple(requests), tuple(beside))


def play(rehearsal: str, config: str | None = None) -> Played:
    async def played() -> Played:
        async with live_bench(config=config) as bench:
            return await play_on(bench, REHEARSALS[rehearsal])

    return asyncio.run(played())


def name(request: Request) -> str:
    return request.kind or request.method


def ordered(requests: list[Request], others: list[Request], moved: Shortened) -> list[Request]:
    return [request for request in requests if request in others and name(request) not in moved]


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not part of this repository")
def test_the_stored_accounts_are_those_of_the_recordings() -> None:
    assert as_lines(read_recordings(RECORDINGS)) == STORE.read_text(encoding="utf-8")


def test_every_recorded_command_is_known_by_its_purpose() -> None:
    kinds = {request.kind for requests in read_runs().values() for request in requests}

    assert [kind for kind in kinds if kind.startswith("unknown")] == []


@pytest.mark.parametrize("comparison", WHOLE_RUNS, ids=lambda comparison: comparison.rehearsal)
def test_a_whole_run_sends_the_requests_of_the_recorded_one_in_its_order(comparison: Comparison) -> None:
    recorded = read_runs()[comparison.recording]

    played = play(comparison.rehearsal, comparison.config)

    sent = [request for request in without_repeats(played.requests) if request.method != "initialize"]
    assert played.result.state is State.PASS
    assert {name(request) for request in recorded if request not in sent} == set(comparison.only_recorded)
    assert {name(request) for request in sent if request not in recorded} == set(comparison.only_rehearsed)
    assert ordered(sent, recorded, comparison.moved) == ordered(recorded, sent, comparison.moved)


@pytest.mark.parametrize("rehearsal", sorted(LIVES))
def test_a_lease_lives_through_the_calls_of_the_recorded_one(rehearsal: str) -> None:
    recorded = [request for number in LIVES[rehearsal] for request in read_runs()[number]]

    played = play(rehearsal)

    def life(requests: list[Request]) -> list[tuple[str, tuple[str, ...]]]:
        return [(each.method, each.keys) for each in requests if each.method not in NOT_OF_A_LIFE]

    sent = life(list(played.requests))
    extra = AFTER_THE_RUN.get(rehearsal, ())
    assert played.result.state is State.PASS
    assert sent[: len(sent) - len(extra)] == life(recorded)
    assert tuple(method for method, _ in sent[len(sent) - len(extra) :]) == extra


def test_polls_go_on_beside_the_open_agent() -> None:
    played = play("a_run_of_the_command_line_lane_goes_through")

    beside = {
        name(request) for request, others in zip(played.requests, played.beside, strict=True) if "the agent" in others
    }
    assert {"poll of the bridge", "poll of the log", "size", "read from the queue", "response", "remove"} <= beside


def test_a_host_that_stops_releases_and_polls_while_the_agent_is_open() -> None:
    played = play("a_host_that_stops_releases_under_the_open_agent")

    names = [name(request) for request in played.requests]
    release = names.index("environmentReleaseLease")
    assert "the agent" in played.beside[release]
    assert "poll of the bridge" in names[release:]
    assert "shutdown" not in names


def test_the_agent_is_polled_where_live_output_is_declined(tmp_path: Path) -> None:
    async def judged(name: str) -> Result:
        async with quiet_bench(tmp_path) as bench:
            return (await play_on(bench, REHEARSALS[name])).result

    polled, streamed, command_line = (
        asyncio.run(judged(name))
        for name in (
            "a_run_goes_through_with_its_agent_in_the_background",
            "a_run_goes_through_with_a_streamed_agent",
            "a_run_of_the_command_line_lane_goes_through",
        )
    )

    assert (polled.state, streamed.state, command_line.state) == (State.PASS, State.UNSUPPORTED, State.PASS)


def test_every_rehearsal_has_a_mutant_of_its_decisive_step() -> None:
    mutants = [mutant for mutant in all_mutants().values() if mutant.__module__.endswith(".rehearsal")]

    assert {number for mutant in mutants for number in mutant.breaks} == {
        check.requirement for check in REHEARSALS.values()
    }


# -- telling the step ------------------------------------------------------------------------------------------------

FIRST, SECOND = Stage("acquire", "LEASE-001"), Stage("sync out", "FALL-002")


@dataclass(frozen=True)
class Seen:
    """Evidence without any content."""

    trace: Trace
    frames: tuple[()] = ()
    sent: str = ""


@pytest.fixture
def flow() -> Flow:
    return Flow(Trace(RequirementId("FALL-002"), "a rehearsal"), (FIRST, SECOND))


def test_a_decisive_step_that_fails_is_a_finding_that_names_the_step(flow: Flow) -> None:
    with flow.step(FIRST):
        pass

    with pytest.raises(Finding, match=r"step 2 of 2, sync out: all is well") as caught, flow.step(SECOND):
        flow.demand(Seen(flow.trace), holds=False, that="all is well", observed="not so")

    assert caught.value.decision.expected == "step 2 of 2, sync out: all is well"


def test_another_step_that_fails_blocks_by_its_own_rule_and_names_the_step(flow: Flow) -> None:
    with pytest.raises(Blocked, match=r"step 1 of 2, acquire: expected that all is well") as caught, flow.step(FIRST):
        flow.demand(Seen(flow.trace), holds=False, that="all is well", observed="not so")

    assert caught.value.by == "LEASE-001"
    assert flow.trace.decisions == []


def test_what_blocks_inside_a_step_is_told_with_the_step(flow: Flow) -> None:
    with pytest.raises(Blocked, match="step 1 of 2, acquire: no workspace"), flow.step(FIRST):
        raise Blocked(RequirementId("WS-001"), "no workspace")


def test_what_blocks_by_the_decisive_rule_is_a_finding(flow: Flow) -> None:
    with pytest.raises(Finding, match="step 1 of 2, acquire: the step succeeds"), flow.step(FIRST):
        raise Blocked(RequirementId("FALL-002"), "no file")


@pytest.mark.parametrize("wrong", [SECOND, Stage("acquire", "LEASE-002")], ids=["too early", "another one"])
def test_steps_come_in_the_order_that_was_announced(flow: Flow, wrong: Stage) -> None:
    with pytest.raises(KitError, match="left its order"), flow.step(wrong):
        pass


def test_an_answer_that_cannot_be_used_blocks_by_the_rule_that_it_breaks(flow: Flow) -> None:
    with flow.step(FIRST):
        pass
    fault = MalformedAnswer(MethodName("health"), RequirementId("RPC-005"), "an id as text")
    fault.__dict__["answer"] = Answer.__new__(Answer)
    object.__setattr__(fault.__dict__["answer"], "frames", ())

    with pytest.raises(Blocked, match="step 2 of 2, sync out: The answer") as caught, flow.step(SECOND):
        raise fault

    assert caught.value.by == "RPC-005"


def test_a_rehearsal_without_a_decisive_step_is_refused() -> None:
    with pytest.raises(KitError, match="No step"):
        Flow(Trace(RequirementId("LIFE-005"), "a rehearsal"), (FIRST, SECOND))


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ('{"seq":1,"type":"data","stream":"stdout","data":"aGk="}', Frame(1, "data", "hi")),
        ('{"seq":2,"type":"exit","code":0,"signal":null}', Frame(2, "exit", "")),
        ('{"seq":"1","type":"data","data":""}', None),
        ('{"seq":1,"type":"data","data":"no base64"}', None),
        ('{"seq":1}', None),
        ("[1]", None),
        ("agent says hello", None),
    ],
)
def test_a_frame_is_a_line_with_a_number_a_type_and_data(line: str, frame: Frame | None) -> None:
    assert frame_of(line) == frame
