"""Calls and answers are matched as the host matches them, over a real pipe; what breaks a rule is noted once."""

import asyncio
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.errors import AnswerTimeout, MalformedAnswer, RpcError, WorkerGone
from conformance.model import Json
from conformance.wire.peer import NOTIFICATION_BYTES_KEPT, VIOLATIONS_KEPT, Reply
from conformance.wire.transcript import Direction

from .peers import CALL, PATIENCE_S, Echo, Seen, echo, peer_of, result, script_peer

pytestmark = pytest.mark.asyncio

ANSWERED_IN_THREE_PIECES = """
import sys, time
line = sys.stdin.buffer.readline()
answer = b'{"jsonrpc":"2.0","id":1,"result":"gr\\xc3\\xb6\\xc3\\x9fer"}\\r\\n'
for place in range(0, len(answer), 3):
    sys.stdout.buffer.write(answer[place:place + 3])
    sys.stdout.buffer.flush()
sys.stdin.buffer.read()
"""

ECHO_PARAMS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": asked["params"]}), flush=True)
"""


async def test_an_answer_is_matched_with_its_call() -> None:
    async with echo() as worker:
        one, two = await worker.ask(), await worker.ask()
        assert worker.peer.pending == (CALL, CALL)
        assert worker.peer.pending_ids == (1, 2)

        worker.say(result(2, '"second"'), result(1, '"first"'))
        first, second = await one, await two

        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert (first.result, second.result) == ("first", "second")
        assert first.sent < first.received
        assert worker.peer.pending == ()
        assert worker.broken == []


async def test_an_answer_on_a_line_that_nobody_can_read_is_not_waited_for() -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(result(1, "[" * 100_000 + "]" * 100_000))

        assert isinstance(await call, MalformedAnswer)
        assert worker.broken == ["RPC-001"]


async def test_what_is_sent_is_one_ascii_line_with_the_keys_of_a_request() -> None:
    async with echo() as worker:
        call = worker.peer.call(
            CALL, {"text": "größer\u2028\n"}, seconds=0.01, limit="test", beside={"paperclipInvocation": {"id": "i"}}
        )
        with pytest.raises(AnswerTimeout):
            await call
        frame = worker.peer.transcript.frames[0]

    assert frame.data.isascii()
    assert b"\n" not in frame.data
    assert json.loads(frame.data) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "call",
        "params": {"text": "größer\u2028\n"},
        "paperclipInvocation": {"id": "i"},
    }


async def test_messages_in_pieces_with_carriage_returns_are_read() -> None:
    async with script_peer(ANSWERED_IN_THREE_PIECES) as peer:
        reply = await peer.call(CALL, {}, seconds=10, limit="test")

        assert reply.result == "größer"
        assert peer.violations == []


async def test_glued_frames_blank_lines_and_spaces_are_no_problem() -> None:
    async with echo() as worker:
        one, two = await worker.ask(), await worker.ask()

        worker.peer.process.write(f"\n\r\n   {result(1)}\t\r\n \n{result(2)}\n".encode())

        assert isinstance(await one, Reply)
        assert isinstance(await two, Reply)
        assert worker.broken == []


@pytest.mark.parametrize(
    ("answer", "requirement"),
    [
        (result("1"), "RPC-005"),
        ('{"jsonrpc":"2.0","id":1,"result":1,"error":null}', "RPC-006"),
        ('{"jsonrpc":"2.0","id":1,"error":null}', "RPC-006"),
        ('{"jsonrpc":"2.0","id":1}', "RPC-006"),
        ('{"id":1,"result":1}', "RPC-004"),
        ('{"jsonrpc":"1.0","id":1,"error":{"code":1,"message":"no"}}', "RPC-004"),
        (f"...{result(1)}", "RPC-002"),
        (f"{result(1)}{result(9)}", "RPC-002"),
        (f"[{result(1)}]", "RPC-001"),
    ],
)
async def test_an_answer_that_the_host_loses_fails_its_call_at_once(answer: str, requirement: str) -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(answer)
        fault = await call

        assert isinstance(fault, MalformedAnswer)
        assert fault.requirement == requirement
        assert worker.broken == [requirement]


async def test_whole_numbers_written_with_a_point_are_the_same_id() -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say('{"jsonrpc":"2.0","id":1.0,"result":2}')

        assert isinstance(await call, Reply)
        assert worker.broken == []


@pytest.mark.parametrize("number", ["2", "true", "1.5", '"x"', "[1]", '{"id":1}', "null", '"01"', "-1", "1e400"])
async def test_an_answer_with_an_unknown_id_is_nobodys(number: str) -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(f'{{"jsonrpc":"2.0","id":{number},"result":1}}')
        await worker.all_said()
        still_open = not call.done()
        worker.say(result(1))

        assert still_open
        assert isinstance(await call, Reply)
        assert worker.broken == []


async def test_a_second_answer_is_ignored_and_counted() -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(result(1, '"first"'), result(1, '"second"'))
        reply = await call
        await worker.all_said()

        assert isinstance(reply, Reply)
        assert reply.result == "first"
        assert len(worker.peer.answered[1].frames) == 2
        assert worker.broken == []


async def test_an_answer_after_the_time_limit_is_dropped() -> None:
    async with echo() as worker:
        late = await worker.ask(seconds=0.01)
        fault = await late

        worker.say(result(1))
        await worker.all_said()
        next_call = await worker.ask()
        worker.say(result(2))

        assert isinstance(fault, AnswerTimeout)
        assert (fault.method, fault.seconds, fault.limit) == ("call", 0.01, "test")
        assert isinstance(await next_call, Reply)
        assert worker.broken == []
        assert 1 not in worker.peer.answered


async def test_a_cancelled_call_leaves_nothing_behind() -> None:
    async with echo() as worker:
        call = await worker.ask()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        worker.say(result(1))
        await worker.all_said()

        assert worker.peer.pending == ()
        assert worker.broken == []


@pytest.mark.parametrize(
    ("error", "code", "text", "broken"),
    [
        ('{"code":-32002,"message":"no","data":{"a":1}}', -32002, "no", []),
        ('{"code":0,"message":""}', 0, "", []),
        ('{"code":"-32002","message":"no"}', None, "no", ["RPC-007"]),
        ('{"code":true,"message":"no"}', None, "no", ["RPC-007"]),
        ('{"code":-32002}', -32002, None, ["RPC-007"]),
        ("{}", None, None, ["RPC-007", "RPC-007"]),
        ('"just text"', None, "just text", ["RPC-007"]),
        ("0", None, 0, ["RPC-007", "RPC-007"]),
    ],
)
async def test_errors_keep_their_facts(error: str, code: int | None, text: Json, broken: list[str]) -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(f'{{"jsonrpc":"2.0","id":1,"error":{error},"result":"beside"}}')
        fault = await call

        assert isinstance(fault, RpcError)
        assert (fault.code, fault.text) == (code, text)
        assert worker.broken == broken


async def test_requests_and_notifications_go_to_their_handlers_in_order() -> None:
    seen = Seen()
    async with peer_of("cat", seen=seen) as peer:
        worker = Echo(peer)
        worker.say(
            '{"jsonrpc":"2.0","id":5,"method":"ask"}',
            '{"jsonrpc":"2.0","method":"tell","params":{"n":1}}',
            '{"jsonrpc":"2.0","id":"a","method":"ask","params":{}}',
        )
        await worker.all_said()

        assert [message["id"] for message in seen.requests] == [5, "a"]
        assert [message["method"] for message in seen.notifications] == ["tell", "mark"]
        assert [received.message for received in peer.requests] == seen.requests
        assert worker.broken == []


async def test_each_line_but_blank_ones_is_recorded_once() -> None:
    async with echo() as worker:
        worker.say("", "noise", "  ", result(3), "x" * 100_000)
        await worker.all_said()

        recorded = [f for f in worker.peer.transcript.frames if f.direction is Direction.TO_HOST]
        assert [frame.size for frame in recorded[:-1]] == [5, len(result(3)), 100_000]
        assert worker.broken == ["RPC-003", "RPC-003"]


async def test_bad_bytes_do_not_lose_the_answer() -> None:
    async with echo() as worker:
        call = await worker.ask()

        worker.say(b'{"jsonrpc":"2.0","id":1,"result":"caf\xe9"}')
        reply = await call

        assert isinstance(reply, Reply)
        assert reply.result == "caf\ufffd"
        assert worker.broken == ["RPC-001"]


async def test_endless_noise_fills_no_memory_with_violations() -> None:
    async with echo() as worker:
        worker.say(*["noise"] * (VIOLATIONS_KEPT + 50), "...{}", result(1, "NaN"))
        await worker.all_said()

        assert worker.broken == [*["RPC-003"] * VIOLATIONS_KEPT, "RPC-001"]


async def test_a_call_waiting_at_the_end_of_the_worker_tells_how_it_ended() -> None:
    script = "import sys; sys.stdin.readline(); sys.stderr.write('first\\nno line end'); sys.exit(7)"
    async with script_peer(script) as peer:
        calls = [asyncio.create_task(peer.call(CALL, {}, seconds=10, limit="test")) for _ in range(3)]
        faults = await asyncio.gather(*calls, return_exceptions=True)

        assert [type(fault) for fault in faults] == [WorkerGone] * 3
        for fault in faults:
            assert isinstance(fault, WorkerGone)
            assert (fault.exit_code, fault.stderr_tail) == (7, "first\nno line end")


async def test_a_call_to_a_worker_that_is_gone_fails_at_once() -> None:
    async with script_peer("pass") as peer:
        await peer.process.exited.wait()
        await peer.process.output_ended.wait()

        with pytest.raises(WorkerGone, match="exited with code 0 during call"):
            await peer.call(CALL, {}, seconds=10, limit="test")


async def test_a_worker_that_only_closes_its_stdout_is_gone_too() -> None:
    async with script_peer("import os, sys; sys.stdin.readline(); os.close(1); sys.stdin.read()") as peer:
        with pytest.raises(WorkerGone, match="closed its stdout without exiting"):
            await peer.call(CALL, {}, seconds=10, limit="test")


@pytest.mark.parametrize(
    ("script", "broken"),
    [
        ('print(\'{"jsonrpc":"2.0","method":"log"}\', end=\'\')', ["RPC-001"]),
        ("import sys; sys.stdout.write('half a line'); sys.stdout.flush(); sys.stdin.read()", []),
    ],
)
async def test_an_unfinished_last_line_counts_unless_the_kit_cut_it_off(script: str, broken: list[str]) -> None:
    async with script_peer(script) as peer:
        if broken:
            await peer.process.output_ended.wait()
        else:
            peer.send_line(b"{}")
            peer.process.end_stdin()
            await peer.process.output_ended.wait()

        assert [violation.requirement for violation in peer.violations] == broken


async def test_a_worker_killed_in_mid_call_raises_in_its_caller_only(caplog: pytest.LogCaptureFixture) -> None:
    async with echo() as worker:
        call = await worker.ask()
        forgotten = await worker.ask()
        forgotten.cancel()

        await worker.peer.process.kill()

        fault = await call
        assert isinstance(fault, WorkerGone)
        assert fault.exit_code == -9
    assert caplog.get_records("call") == []
    assert logging.getLogger("asyncio").isEnabledFor(logging.ERROR)


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(1, 7)), st.lists(st.integers(min_value=0), max_size=12), st.data())
async def test_answers_find_their_calls_in_any_order_and_any_pieces(
    order: list[int], places: list[int], data: st.DataObject
) -> None:
    junk = st.sampled_from(["", "noise", '{"jsonrpc":"2.0","method":"tell"}', result(99), result("7"), '{"a":1}'])
    lines = [f"{data.draw(junk)}\n{result(number, str(number * 10))}" for number in order]
    stream = "\n".join([*lines, ""]).encode()

    async with echo() as worker:
        calls = [await worker.ask() for _ in order]
        start = 0
        for end in sorted({place % len(stream) for place in places} | {len(stream)}):
            worker.peer.process.write(stream[start:end])
            start = end
        replies = [await call for call in calls]

    assert [reply.result for reply in replies if isinstance(reply, Reply)] == [10, 20, 30, 40, 50, 60]


async def test_many_requests_at_once_arrive_in_order_and_each_has_its_answer() -> None:
    async with script_peer(ECHO_PARAMS) as peer:
        answers = [peer.request(CALL, number, seconds=20, limit="test") for number in range(3_000)]

        replies = await asyncio.gather(*answers)

        assert [reply.result for reply in replies] == list(range(3_000))
        assert [reply.received for reply in replies] == sorted(reply.received for reply in replies)
        assert peer.pending == ()


async def test_requests_of_a_worker_that_ends_fail_alike() -> None:
    async with script_peer("import sys; sys.stdin.readline(); sys.exit(7)") as peer:
        answers = [peer.request(CALL, number, seconds=20, limit="test") for number in range(3)]

        faults = await asyncio.gather(*answers, return_exceptions=True)

        assert [type(fault) for fault in faults] == [WorkerGone] * 3
        assert {fault.exit_code for fault in faults if isinstance(fault, WorkerGone)} == {7}


async def test_each_request_has_its_own_time_limit() -> None:
    async with echo() as worker:
        slow, quick = (
            worker.peer.request(CALL, {}, seconds=seconds, limit=f"{seconds}") for seconds in (PATIENCE_S, 0.01)
        )

        with pytest.raises(AnswerTimeout):
            await quick

        assert not slow.done()
        worker.say(result(1, '"late"'))
        assert (await slow).result == "late"


async def test_what_was_sent_before_the_end_of_stdin_reaches_the_worker() -> None:
    async with script_peer(ECHO_PARAMS) as peer:
        answers = [peer.request(CALL, number, seconds=20, limit="test") for number in range(10)]
        peer.process.end_stdin()

        assert [reply.result for reply in await asyncio.gather(*answers)] == list(range(10))


async def test_old_notifications_are_let_go_but_none_of_a_call_that_is_open() -> None:
    text = "x" * (1 << 20)
    told = json.dumps({"jsonrpc": "2.0", "method": "tell", "params": {"text": text}})
    most = NOTIFICATION_BYTES_KEPT // len(text)
    async with echo() as worker:
        worker.say(*[told] * 3)
        await worker.all_said()
        await worker.ask()
        worker.say(*[told] * (most + 2))
        await worker.all_said()

        forgotten = [received.forgotten for received in worker.peer.notifications]

    assert forgotten == [True] * 4 + [False] * (most + 3)
    assert "params" not in worker.peer.notifications[0].message
