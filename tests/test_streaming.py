"""Live output: silence is allowed, and so is one stream; what arrives in pieces is found."""

import asyncio
from pathlib import Path

import pytest

from conformance.host.worker import Notice
from conformance.model import FrameNumber, State
from conformance.overlap import LiveOutput
from conformance.suites.streaming import is_cut, problems_of
from conformance.wire.peer import Received

from .lenient import states_of

WITH_LIVE_OUTPUT = {"STREAM-008", "STREAM-009"}


def chunk(text: object, *, stream: str = "stdout", invocation: str = "a", seconds: float = 1.0) -> Notice:
    received = Received(FrameNumber(7), {"params": {"stream": stream, "chunk": text}})  # type: ignore[dict-item]
    return Notice("execute.log", invocation, FrameNumber(7), seconds, None, received)


def test_a_provider_that_sends_nothing_is_fine_and_can_be_polled(tmp_path: Path) -> None:
    states = states_of("Quiet", tmp_path, "STREAM-", "EXEC-025")

    assert {number for number, seen in states.items() if seen == {State.UNSUPPORTED}} == WITH_LIVE_OUTPUT
    assert {number for number, seen in states.items() if seen == {State.PASS}} == set(states) - WITH_LIVE_OUTPUT


def test_a_provider_with_one_stream_is_fine(tmp_path: Path) -> None:
    states = states_of("OneStream", tmp_path, "STREAM-")

    assert all(seen == {State.PASS} for seen in states.values())


def test_a_text_is_found_though_it_comes_in_pieces_beside_others() -> None:
    notices: list[Notice] = []
    live = LiveOutput(notices)
    notices += [
        chunk("fra", seconds=1),
        chunk("me 1", invocation="b", seconds=2),
        chunk("me 1", stream="stderr", seconds=3),
        chunk("me 1 and frame 2", seconds=4),
    ]

    assert asyncio.run(live.moment_of("frame 1", 0)) == 4
    assert asyncio.run(live.moment_of("frame 2", 0)) is not None
    assert asyncio.run(live.moment_of("frame 3", 0)) is None


def test_what_came_before_is_not_looked_at() -> None:
    live = LiveOutput([chunk("frame 1")])

    assert asyncio.run(live.moment_of("frame 1", 0)) is None


@pytest.mark.parametrize(
    ("notice", "problems"),
    [
        (chunk("x"), 0),
        (chunk("x" * 10), 0),
        (chunk("\U0001f600" * 5), 0),
        (chunk("\U0001f600" * 5 + "x"), 1),
        (chunk(""), 1),
        (chunk(None), 1),
        (chunk(5), 1),
        (chunk("x", stream="log"), 1),
        (chunk("", stream=""), 2),
    ],
)
def test_a_chunk_is_measured_as_the_host_measures_it(notice: Notice, problems: int) -> None:
    assert len(list(problems_of(notice, 10))) == problems


@pytest.mark.parametrize(("text", "cut"), [("whole \U0001f600", False), ("half \ud83d", True), ("broken \ufffd", True)])
def test_half_a_character_is_seen(text: str, cut: bool) -> None:  # noqa: FBT001 - a table of cases
    assert is_cut(chunk(text)) is cut
