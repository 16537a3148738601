"""JSON-RPC over a worker's pipes: calls matched with their answers as the host matches them, violations noted."""

import asyncio
import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeGuard

from conformance.errors import AnswerTimeout, MalformedAnswer, RpcError, WorkerGone
from conformance.model import FrameNumber, Json, JsonObject, MethodName, RequirementId, object_of
from conformance.wire.encode import encode
from conformance.wire.lines import Line, LineCutter
from conformance.wire.message import Flaw, Shape, read_message
from conformance.wire.process import Command, WorkerProcess
from conformance.wire.transcript import Direction, Transcript

EXIT_NOTICE_S = 0.5
"""How long the exit code is awaited once stdout has closed (our choice: it arrives a moment later)."""

SWIFT_MS = 1
"""How long an answer is awaited without the event loop, where the last one to its method took no longer (our choice:
a worker that is slow, or that was quick and is not any more, holds up the others by no more than this, once)."""

TURN_S = 0.002
"""How long one task may go on with such calls before the event loop gets its turn (our choice, for the same reason)."""

VIOLATIONS_KEPT = 100
"""Violations kept of each rule and worker (our choice: the first ones tell it all, and a worker may write for ever)."""

NOTIFICATION_BYTES_KEPT = 32 << 20
"""Bytes of notifications kept of one worker, beside those of calls that are open (our choice: a command's whole output
comes in them)."""

STDERR_LINE_UNITS = 65_536
"""Longest line of stderr that goes into the transcript (our choice)."""

STDERR_LINES_KEPT = 10_000
"""Lines of stderr that go into the transcript (our choice: a worker may write for ever)."""

_ANSWER_START = re.compile(rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,\s*"(?:result|error)"')
"""How most workers begin an answer: enough to tell whose answer a dropped line was."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something on the wire that breaks a rule, whatever was being checked at the time."""

    requirement: RequirementId
    observed: str
    frame: FrameNumber


@dataclass(slots=True)
class Received:
    """One message of the worker that is not an answer to a waiting call.

    `forgotten`: it was old and there were too many, so its params are gone; the transcript has its start.
    """

    frame: FrameNumber
    message: JsonObject
    size: int = 0
    forgotten: bool = False

    def forget(self) -> None:
        """Let go of what may be large."""
        self.message = {key: value for key, value in self.message.items() if key != "params"}
        self.forgotten = True


class Reply(NamedTuple):  # made for every call: a tuple is made three times as fast as a frozen dataclass
    """The answer to one call, and where it stands in the transcript."""

    method: MethodName
    sent: FrameNumber
    received: FrameNumber
    result: Json


class Answered(NamedTuple):  # as Reply
    """One id that the worker has answered: in which frames, more than one if it answered again."""

    method: MethodName
    frames: list[FrameNumber]


class _Pending(NamedTuple):  # as Reply
    method: MethodName
    sent: FrameNumber
    answer: "asyncio.Future[Reply]"
    end: float
    seconds: float
    limit: str


RequestHandler = Callable[[JsonObject, FrameNumber], None]
"""Given a request of the worker; answers go out through `Peer.send_message`."""

NotificationHandler = Callable[[Received], None]
"""Given a notification of the worker."""


class Peer:
    """The host's end of one worker's pipes. Start it inside a running event loop."""

    def __init__(
        self,
        command: Command,
        transcript: Transcript,
        *,
        number: int,
        on_request: RequestHandler,
        on_notification: NotificationHandler,
        first_id: int = 1,
    ) -> None:
        self.transcript = transcript
        self.number = number
        self.violations: list[Violation] = []
        self.answered: dict[int | float, Answered] = {}
        self.unknown_answers: list[Received] = []
        self.requests: list[Received] = []
        self.notifications: list[Received] = []
        self._kept_bytes = 0
        self._forgotten = 0
        self._on_request = on_request
        self._on_notification = on_notification
        self._loop = asyncio.get_running_loop()
        self._watch: asyncio.TimerHandle | None = None
        self._giving_up: asyncio.Task[None] | None = None
        self._ids = itertools.count(first_id)
        self._pending: dict[int | float, _Pending] = {}
        self._counts: Counter[str] = Counter()
        self._swift: set[MethodName] = set()
        self._turn_of: asyncio.Task[object] | None = None
        self._turn_end = 0.0
        self._cutter = LineCutter()
        self._kept_back: bytearray | None = None
        self._stderr_cutter = LineCutter(STDERR_LINE_UNITS)
        self._stderr_lines = 0
        self.process = WorkerProcess(command, on_output=self._feed, on_stderr=self._feed_stderr)

    @property
    def pending(self) -> tuple[MethodName, ...]:
        """Methods of the calls that still wait."""
        return tuple(call.method for call in self._pending.values())

    @property
    def pending_ids(self) -> tuple[int | float, ...]:
        """Ids of the calls that still wait."""
        return tuple(self._pending)

    async def call(
        self,
        method: MethodName,
        params: Json,
        *,
        seconds: float,
        limit: str,
        beside: Mapping[str, Json] | None = None,
        on_sent: Callable[[FrameNumber], None] | None = None,
    ) -> Reply:
        """Send a request and wait for its answer.

        `beside` are keys next to `params`. Raises `AnswerTimeout`, `WorkerGone`, `RpcError` or `MalformedAnswer`.
        """
        number = next(self._ids)
        answer = self._request(number, method, params, seconds, limit, beside)
        call = self._pending[number]
        if on_sent is not None:
            on_sent(call.sent)
        try:
            if method in self._swift:
                await self._look_for(answer)
            reply = await answer
        except BaseException:
            self._swift.discard(method)
            raise
        finally:
            self._pending.pop(number, None)
        if self._loop.time() - (call.end - seconds) <= SWIFT_MS / 1_000:
            self._swift.add(method)
        else:
            self._swift.discard(method)
        return reply

    async def _look_for(self, answer: "asyncio.Future[Reply]") -> None:
        """Look for the answer at once. The way through the event loop takes longer than a quick worker does."""
        task = asyncio.current_task()
        if self._turn_of is not task or self._loop.time() >= self._turn_end:
            # Whoever else has something to send sends it now: calls that are made at once are open at once.
            await asyncio.sleep(0)
        if len(self._pending) != 1 or answer.done():
            return
        if self._turn_of is None:
            self._turn_of, self._turn_end = task, self._loop.time() + TURN_S
            self._loop.call_soon(self._end_turn)
        self.process.read_for(SWIFT_MS, answer.done)

    def _end_turn(self) -> None:
        self._turn_of = None

    def request(self, method: MethodName, params: Json, *, seconds: float, limit: str) -> "asyncio.Future[Reply]":
        """Send a request; the future has what `call` returns and raises. Cheaper where many calls are open at once."""
        return self._request(next(self._ids), method, params, seconds, limit, None)

    def _request(
        self,
        number: int,
        method: MethodName,
        params: Json,
        seconds: float,
        limit: str,
        beside: Mapping[str, Json] | None,
    ) -> "asyncio.Future[Reply]":
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        if beside:
            message.update(beside)
        # One call alone goes out now. Of many, all but the first go out together.
        sent = self._send(encode(message), at_once=not self._pending)
        answer: asyncio.Future[Reply] = self._loop.create_future()
        end = self._loop.time() + seconds
        self._pending[number] = _Pending(method, sent, answer, end, seconds, limit)
        if self.process.output_ended.is_set():
            self._give_up_on_the_worker()
        if self._watch is None or end < self._watch.when():
            self._watch_from(end)
        return answer

    def count_from(self, number: int) -> None:
        """Give ids from this one on, as a host does whose counter begins anew."""
        self._ids = itertools.count(number)

    def notify(self, method: str, params: Json) -> FrameNumber:
        """Send a notification."""
        return self.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    def send_message(self, message: JsonObject) -> FrameNumber:
        """Send any message."""
        return self.send_line(encode(message))

    def send_line(self, line: bytes) -> FrameNumber:
        """Send one line as it is, recorded like any other."""
        return self._send(line, at_once=True)

    def _send(self, line: bytes, *, at_once: bool) -> FrameNumber:
        frame = self.transcript.add(self.number, Direction.TO_WORKER, line)
        if self._kept_back is None:
            self.process.write(line, b"\n", at_once=at_once)
        else:
            self._kept_back += line + b"\n"
        return frame

    @contextlib.contextmanager
    def kept_back(self) -> Generator[bytearray]:
        """What is sent in the block is recorded, and not written: whoever gets it here writes it as it likes."""
        self._kept_back = bytearray()
        try:
            yield self._kept_back
        finally:
            self._kept_back = None

    def violates(self, requirement: str, problem: str, frame: FrameNumber) -> None:
        """Note that a line breaks a rule which the wire itself does not know."""
        self._note(Flaw(RequirementId(requirement), problem), frame)

    # -- lines

    def _feed(self, chunk: bytes) -> None:
        if not chunk:
            self._output_closed()
        for line in self._cutter.feed(chunk):
            self._take(line)

    def _feed_stderr(self, chunk: bytes) -> None:
        lines: Iterable[Line] = self._stderr_cutter.feed(chunk)
        if not chunk and (rest := self._stderr_cutter.finish()) is not None:
            lines = [rest]
        for line in lines:
            self._stderr_lines += 1
            if self._stderr_lines <= STDERR_LINES_KEPT:
                self.transcript.add(self.number, Direction.STDERR, line.data, line.size)
            elif self._stderr_lines == STDERR_LINES_KEPT + 1:
                self.transcript.add(self.number, Direction.NOTE, b"more lines of stderr are not recorded")

    def _output_closed(self) -> None:
        rest = self._cutter.finish()
        if rest is not None:
            frame = self.transcript.add(self.number, Direction.TO_HOST, rest.data, rest.size)
            if not self.process.disturbed:
                self._note(Flaw(RequirementId("RPC-001"), "the last line has no newline at its end"), frame)
        self._give_up_on_the_worker()

    def _give_up_on_the_worker(self) -> None:
        if self._pending and (self._giving_up is None or self._giving_up.done()):
            self._giving_up = self._loop.create_task(self._tell_that_it_is_gone())

    async def _tell_that_it_is_gone(self) -> None:
        # The exit code and the last stderr lines arrive a moment after stdout has closed.
        await self.process.wait_exit(EXIT_NOTICE_S)
        await self.process.drain()
        for number, call in list(self._pending.items()):
            self._fail(number, WorkerGone(call.method, self.process.exit_code, self.process.stderr_tail))

    def _take(self, line: Line) -> None:
        if line.dropped:
            frame = self.transcript.add(self.number, Direction.TO_HOST, line.data, line.size)
            self._note(_too_long(line), frame)
            return
        message, flaw = read_message(line.data)
        if message is None and flaw is None:
            return
        frame = self.transcript.add(self.number, Direction.TO_HOST, line.data)
        if flaw is not None:
            self._note(flaw if message is not None else _with_answer(flaw, line), frame)
        if message is None:
            return
        match message.shape:
            case Shape.ANSWER:
                self._answer(message.body, frame)
            case Shape.REQUEST:
                self.requests.append(Received(frame, message.body))
                self._on_request(message.body, frame)
            case Shape.NOTIFICATION:
                self._keep(Received(frame, message.body, line.size))
                self._on_notification(self.notifications[-1])

    def _keep(self, notification: Received) -> None:
        """Keep it, and forget the oldest ones where there are too many, but none of a call that is open."""
        self.notifications.append(notification)
        self._kept_bytes += notification.size
        open_since = next((call.sent for call in self._pending.values()), notification.frame)
        while self._kept_bytes > NOTIFICATION_BYTES_KEPT:
            oldest = self.notifications[self._forgotten]
            if oldest.frame >= open_since:
                return
            oldest.forget()
            self._kept_bytes -= oldest.size
            self._forgotten += 1

    # -- answers

    def _answer(self, message: JsonObject, frame: FrameNumber) -> None:
        number = message["id"]
        call = self._pending.get(number) if _is_number(number) else None
        if not _is_number(number) or call is None or call.answer.done():
            self._answer_nobody(message, frame)
            return
        self.answered[number] = Answered(call.method, [frame])
        error = message.get("error")
        if "error" in message and error is None:
            self._note(
                Flaw(RequirementId("RPC-006"), "an answer has a null error beside its result", (message,)), frame
            )
        elif error is not None:
            self._fail(number, self._error(call.method, error, frame))
        else:
            del self._pending[number]
            call.answer.set_result(Reply(call.method, call.sent, frame, message["result"]))

    def _answer_nobody(self, message: JsonObject, frame: FrameNumber) -> None:
        number = message["id"]
        if number is None:
            return
        if _is_number(number) and number in self.answered:
            self.answered[number].frames.append(frame)
            return
        self.unknown_answers.append(Received(frame, message))
        meant = next((known for known in self._pending if isinstance(number, str) and number == str(known)), None)
        if meant is not None:
            # The host would wait until its time is up. We know better, and need not.
            problem = f"the id of an answer came back as the string {json.dumps(number)}"
            self._note(Flaw(RequirementId("RPC-005"), problem, ({**message, "id": meant},)), frame)

    def _error(self, method: MethodName, error: Json, frame: FrameNumber) -> RpcError:
        fields = object_of(error) if isinstance(error, dict) else {"message": error}
        code, text = fields.get("code"), fields.get("message")
        if not _is_number(code):
            problem = f"the error to {method} has no numeric code: {json.dumps(error)[:200]}"
            self._note(Flaw(RequirementId("RPC-007"), problem), frame)
        if not isinstance(text, str):
            problem = f"the error to {method} has no message text: {json.dumps(error)[:200]}"
            self._note(Flaw(RequirementId("RPC-007"), problem), frame)
        return RpcError(method, code if _is_number(code) else None, text, fields.get("data"))

    def _note(self, flaw: Flaw, frame: FrameNumber) -> None:
        """Keep the violation, and fail the calls whose answers were lost by it."""
        self._counts[flaw.requirement] += 1
        if self._counts[flaw.requirement] <= VIOLATIONS_KEPT:
            self.violations.append(Violation(flaw.requirement, flaw.problem, frame))
        for message in flaw.lost:
            number = message.get("id")
            if _is_number(number) and "method" not in message and number in self._pending:
                error = MalformedAnswer(self._pending[number].method, flaw.requirement, flaw.problem)
                self._fail(number, error)

    def _fail(self, number: float, error: Exception) -> None:
        call = self._pending.pop(number, None)
        if call is not None and not call.answer.done():
            call.answer.set_exception(error)

    # -- time limits: one timer for all calls, because most are answered long before

    def _watch_from(self, end: float) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._loop.call_at(end, self._look_at_the_time)

    def _look_at_the_time(self) -> None:
        self._watch = None
        now = self._loop.time()
        for number, call in list(self._pending.items()):
            if call.end <= now:
                self._fail(number, AnswerTimeout(call.method, call.seconds, call.limit))
        if self._pending:
            self._watch_from(min(call.end for call in self._pending.values()))


def _too_long(line: Line) -> Flaw:
    problem = f"a line of {line.size} bytes is longer than the host reads"
    return _with_answer(Flaw(RequirementId("RPC-020"), problem), line)


def _with_answer(flaw: Flaw, line: Line) -> Flaw:
    """The flaw of a line that nobody reads, and whose answer was lost by it: nobody need wait for that any more."""
    start = None if flaw.lost else _ANSWER_START.match(line.data)
    return flaw if start is None else replace(flaw, lost=({"id": int(start[1])},))


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) is int or isinstance(value, float)
