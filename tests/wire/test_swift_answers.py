"""Answers of a quick worker are looked for at once, and nothing else is different for that."""

import asyncio

import pytest

from conformance.errors import AnswerTimeout, WorkerGone
from conformance.wire import peer as wire
from conformance.wire.peer import Peer, Reply
from conformance.wire.transcript import Direction
from tests.wire.peers import CALL, PATIENCE_S, Seen, script_peer

pytestmark = pytest.mark.asyncio

START = """
import json, os, sys, time
def ask():
    line = sys.stdin.readline()
    return json.loads(line)["id"] if line else os._exit(0)
def say(*messages):
    os.write(1, "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\\n" for message in messages).encode())
def answer(number):
    say({"id": number, "result": number})
"""
QUICK = START + "while True: answer(ask())"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker counts as quick however busy the machine is, and its answers are awaited for as long as it takes."""
    monkeypatch.setattr(wire, "SWIFT_MS", 60_000)
    monkeypatch.setattr(wire, "TURN_S", 3_600)


async def call(peer: Peer, seconds: float = PATIENCE_S) -> Reply:
    return await peer.call(CALL, {}, seconds=seconds, limit="test")


async def has_a_turn(peer: Peer) -> bool:
    """Whether others had a turn while a call was answered."""
    turns: list[None] = []
    asyncio.get_running_loop().call_soon(turns.append, None)
    await call(peer)
    return bool(turns)


@pytest.mark.usefixtures("patient")
async def test_one_call_after_another_needs_no_turn_of_the_loop() -> None:
    async with script_peer(QUICK) as peer:
        turns = [await has_a_turn(peer) for _ in range(4)]

    assert turns == [True, True, False, False]


async def test_the_others_get_their_turn_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SWIFT_MS", 60_000)
    monkeypatch.setattr(wire, "TURN_S", 0)

    async with script_peer(QUICK) as peer:
        turns = [await has_a_turn(peer) for _ in range(4)]

    assert turns == [True, True, True, True]


@pytest.mark.usefixtures("patient")
async def test_another_task_begins_with_a_turn() -> None:
    async with script_peer(QUICK) as peer:
        for _ in range(3):
            await call(peer)

        assert await asyncio.gather(has_a_turn(peer), has_a_turn(peer)) == [True, True]


@pytest.mark.usefixtures("patient")
async def test_calls_made_at_once_are_open_at_once() -> None:
    script = START + "answer(ask()); answer(ask())\nwhile True:\n  both = ask(), ask()\n  [answer(one) for one in both]"

    async with script_peer(script) as peer:
        await call(peer)
        await call(peer)
        for _ in range(2):
            replies = await asyncio.gather(call(peer), call(peer))

            assert max(reply.sent for reply in replies) < min(reply.received for reply in replies)


@pytest.mark.usefixtures("patient")
async def test_what_was_on_stderr_before_an_answer_is_recorded_before_it() -> None:
    script = START + "while True:\n  number = ask()\n  os.write(2, b'working\\n')\n  answer(number)"

    async with script_peer(script) as peer:
        replies = [await call(peer) for _ in range(5)]
        frames = peer.transcript.frames

    # The first way goes through the loop, which reads the pipes as they come.
    for reply in replies[1:]:
        between = [frame.direction for frame in frames if reply.sent < frame.number < reply.received]
        assert between == [Direction.STDERR]


@pytest.mark.usefixtures("patient")
async def test_more_on_stderr_than_a_pipe_holds_holds_up_nothing() -> None:
    script = START + "while True:\n  number = ask()\n  sys.stderr.write('x' * 300_000 + '\\n')\n  answer(number)"

    async with script_peer(script) as peer:
        for _ in range(3):
            await call(peer)


@pytest.mark.usefixtures("patient")
async def test_what_else_the_worker_says_reaches_its_handlers() -> None:
    seen = Seen()
    more = "say({'method': 'tell'}, {'id': 'a', 'method': 'ask'}, {'id': number, 'result': None}, {'method': 'late'})"
    async with script_peer(START + f"while True:\n  number = ask()\n  {more}", seen) as peer:
        for _ in range(3):
            await call(peer)

    assert [message["method"] for message in seen.notifications] == ["tell", "late"] * 3
    assert [message["method"] for message in seen.requests] == ["ask"] * 3


@pytest.mark.usefixtures("patient")
async def test_a_worker_that_ends_instead_is_gone() -> None:
    async with script_peer(START + "answer(ask()); answer(ask()); ask(); os._exit(3)") as peer:
        await call(peer)
        await call(peer)
        with pytest.raises(WorkerGone, match="exited with code 3"):
            await call(peer)


@pytest.mark.usefixtures("patient")
async def test_a_host_that_does_not_read_does_not_look() -> None:
    async with script_peer(QUICK) as peer:
        await call(peer)
        peer.process.pause_reading()
        waiting = asyncio.ensure_future(call(peer))
        await asyncio.sleep(0.05)
        early = waiting.done()
        peer.process.resume_reading()
        await waiting

    assert not early


async def test_a_worker_that_is_quick_no_more_is_awaited_in_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SWIFT_MS", 60_000)
    async with script_peer(
        START + "answer(ask()); answer(ask()); ask(); number = ask(); answer(number); ask()"
    ) as peer:
        await call(peer)
        await call(peer)
        monkeypatch.setattr(wire, "SWIFT_MS", 1)
        with pytest.raises(AnswerTimeout):
            await call(peer, seconds=0.1)
        turns = await has_a_turn(peer)

    assert turns
