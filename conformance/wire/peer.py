"""JSON-RPC over lines, matched and classified in the host's order (protocol.md sections 3 and 4)."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.errors import AnswerTimeout, MalformedAnswer, RpcError, WorkerGone
from conformance.model import FrameNumber, Json, JsonObject, MethodName, RequirementId, object_of
from conformance.wire.lines import MAX_LINE_UNITS, Line, LineCutter, utf16_units
from conformance.wire.process import Command, WorkerProcess
from conformance.wire.transcript import Direction, Transcript


@dataclass(frozen=True, slots=True)
class Violation:
    """Something on the wire that breaks a rule, whatever was being checked at the time."""

    requirement: RequirementId
    observed: str
    frame: FrameNumber


@dataclass(frozen=True, slots=True)
class Received:
    """One message of the worker that is not an answer to a waiting call."""

    frame: FrameNumber
    message: JsonObject


@dataclass
class Reply:
    """The answer to one call, and where it stands in the transcript."""

    method: MethodName
    sent: FrameNumber
    received: FrameNumber
    result: Json


@dataclass
class _Pending:
    method: MethodName
    sent: FrameNumber
    future: "asyncio.Future[Reply]"


@dataclass
class Answered:
    """One id that the worker has answered: how often, and in which frames."""

    method: MethodName
    frames: list[FrameNumber] = field(default_factory=list[FrameNumber])


MessageHandler = Callable[[JsonObject, FrameNumber], None]
"""Given a request or notification of the worker; answers, if any, go out through `Peer.send_message`."""


class Peer:
    """The host's end of one worker's pipes. Start it inside a running event loop."""

    def __init__(
        self,
        command: Command,
        transcript: Transcript,
        *,
        number: int,
        on_request: MessageHandler,
        on_notification: MessageHandler,
        first_id: int = 1,
    ) -> None:
        self.transcript = transcript
        self.number = number
        self.violations: list[Violation] = []
        self.answered: dict[int | float, Answered] = {}
        self.unknown_answers: list[Received] = []
        self.requests: list[Received] = []
        self.notifications: list[Received] = []
        self._on_request = on_request
        self._on_notification = on_notification
        self._ids = itertools.count(first_id)
        self._pending: dict[int | float, _Pending] = {}
        self._cutter = LineCutter()
        self._stderr_cutter = LineCutter(max_bytes=1 << 16)
        self.process = WorkerProcess(
            command, on_output=self._feed, on_stderr=self._feed_stderr, on_closed=self._output_closed
        )

    @property
    def pending(self) -> tuple[MethodName, ...]:
        """Methods of the calls that still wait."""
        return tuple(call.method for call in self._pending.values())

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
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params, **(beside or {})}
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        line = json.dumps(message, separators=(",", ":")).encode()
        sent = self.send_line(line)
        if on_sent is not None:
            on_sent(sent)
        if self.process.output_ended.is_set():
            raise await self._gone(method)
        self._pending[number] = _Pending(method, sent, future)
        timer = asyncio.get_running_loop().call_later(
            seconds, self._time_out, number, AnswerTimeout(method, seconds, limit)
        )
        try:
            return await future
        finally:
            timer.cancel()
            self._pending.pop(number, None)

    def notify(self, method: str, params: Json) -> FrameNumber:
        """Send a notification."""
        return self.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    def send_message(self, message: JsonObject) -> FrameNumber:
        """Send any message."""
        return self.send_line(json.dumps(message, separators=(",", ":")).encode())

    def send_line(self, line: bytes) -> FrameNumber:
        """Send one line as it is, recorded like any other."""
        frame = self.transcript.add(self.number, Direction.TO_WORKER, line)
        self.process.write(line + b"\n")
        return frame

    def _time_out(self, number: float, error: AnswerTimeout) -> None:
        call = self._pending.pop(number, None)
        if call is not None and not call.future.done():
            call.future.set_exception(error)

    def _feed(self, chunk: bytes) -> None:
        for line in self._cutter.feed(chunk):
            self._take(line)

    def _feed_stderr(self, chunk: bytes) -> None:
        for line in self._stderr_cutter.feed(chunk):
            self.transcript.add(self.number, Direction.STDERR, line.data, line.size)

    def _output_closed(self) -> None:
        rest = self._cutter.finish()
        if rest is not None and not self.process.killed_by_kit:
            frame = self.transcript.add(self.number, Direction.TO_HOST, rest.data, rest.size)
            self._violates("RPC-001", "the last line has no newline at its end", frame)
        for call in list(self._pending.values()):
            task = asyncio.ensure_future(self._fail(call))
            task.add_done_callback(lambda done: done.exception())

    async def _fail(self, call: _Pending) -> None:
        error = await self._gone(call.method)
        if not call.future.done():
            call.future.set_exception(error)

    async def _gone(self, method: MethodName) -> WorkerGone:
        # The exit code and the last stderr lines arrive a moment after stdout has closed.
        await self.process.wait_exit(0.5)
        await self.process.drain()
        return WorkerGone(method, self.process.exit_code, self.process.stderr_tail)

    def _take(self, line: Line) -> None:
        if line.dropped:
            frame = self.transcript.add(self.number, Direction.TO_HOST, line.data, line.size)
            self._violates("RPC-020", f"a line of {line.size} bytes is longer than the host reads", frame)
            return
        data = line.data.strip(b" \t\r\x0b\x0c")
        if not data:
            return
        frame = self.transcript.add(self.number, Direction.TO_HOST, line.data)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            self._violates("RPC-001", f"a line is not UTF-8 at byte {error.start}", frame)
            text = data.decode("utf-8", "replace")
        if line.size > MAX_LINE_UNITS and utf16_units(text) > MAX_LINE_UNITS:
            self._violates("RPC-020", f"a line of {utf16_units(text)} units is longer than the host reads", frame)
            return
        try:
            message: Any = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            self._not_json(text, frame)
            return
        if isinstance(message, dict):
            self._classify(message, frame)  # type: ignore[arg-type]
        elif isinstance(message, list) and any(isinstance(item, dict) and "jsonrpc" in item for item in message):  # type: ignore[misc]
            self._violates("RPC-001", "a batch: several messages in one array on one line", frame)
        else:
            self._violates("RPC-003", f"text that is no message: {text[:120]}", frame)

    def _not_json(self, text: str, frame: FrameNumber) -> None:
        if '"jsonrpc"' not in text:
            self._violates("RPC-003", f"text that is no message: {text[:120]}", frame)
            return
        with contextlib.suppress(ValueError, RecursionError):
            start = text.index("{")
            message, end = json.JSONDecoder().raw_decode(text, start)
            if isinstance(message, dict) and (start > 0 or end < len(text)):
                around = (text[:start] or text[end:])[:120]
                self._violates("RPC-002", f"other text shares a line with a message: {around}", frame)
                return
        self._violates("RPC-001", f"a line that is not one whole JSON object: {text[:120]}", frame)

    def _classify(self, message: dict[str, Any], frame: FrameNumber) -> None:
        looks_like_a_message = "id" in message or "method" in message
        if message.get("jsonrpc") != "2.0":
            if looks_like_a_message and ("jsonrpc" in message or "result" in message or "method" in message):
                self._violates("RPC-004", f"jsonrpc is {message.get('jsonrpc')!r}", frame)
            else:
                self._violates("RPC-003", "a JSON object that is no message", frame)
            return
        if "id" in message and ("result" in message or "error" in message):
            self._answer(message, frame)
        elif "method" in message and message.get("id") is not None:
            self.requests.append(Received(frame, message))
            self._on_request(message, frame)
        elif "method" in message and "id" not in message:
            self.notifications.append(Received(frame, message))
            self._on_notification(message, frame)
        elif "id" in message and "method" not in message:
            self._neither_result_nor_error(message, frame)
        else:
            self._violates("RPC-001", "a message that is neither answer, request nor notification", frame)

    def _answer(self, message: dict[str, Any], frame: FrameNumber) -> None:
        number = message["id"]
        if number is None:
            return
        call = self._claim(number, message, frame)
        if call is None:
            return
        error = message.get("error")
        if "error" in message and error is None:
            problem = "it has a result key beside error null"
            self._violates("RPC-006", problem, frame)
            call.future.set_exception(MalformedAnswer(call.method, RequirementId("RPC-006"), problem))
        elif error is not None:
            call.future.set_exception(self._error(call.method, error, frame))
        else:
            call.future.set_result(Reply(call.method, call.sent, frame, message["result"]))

    def _claim(self, number: Any, message: dict[str, Any], frame: FrameNumber) -> _Pending | None:
        call = self._pending.get(number) if _is_number(number) else None
        if call is not None and not call.future.done():
            self.answered.setdefault(number, Answered(call.method)).frames.append(frame)
            return call
        if _is_number(number) and number in self.answered:
            self.answered[number].frames.append(frame)
            return None
        self.unknown_answers.append(Received(frame, message))
        waiting = {str(known): call for known, call in self._pending.items()}
        if isinstance(number, str) and number in waiting:
            problem = f"the id came back as the string {number!r}"
            self._violates("RPC-005", problem, frame)
            error = MalformedAnswer(waiting[number].method, RequirementId("RPC-005"), problem)
            if not waiting[number].future.done():
                waiting[number].future.set_exception(error)
        return None

    def _neither_result_nor_error(self, message: dict[str, Any], frame: FrameNumber) -> None:
        problem = "it has neither a result nor an error key"
        self._violates("RPC-006", problem, frame)
        number = message["id"]
        call = self._pending.get(number) if _is_number(number) else None
        if call is not None and not call.future.done():
            call.future.set_exception(MalformedAnswer(call.method, RequirementId("RPC-006"), problem))

    def _error(self, method: MethodName, error: Json, frame: FrameNumber) -> RpcError:
        fields = object_of(error) if isinstance(error, dict) else {"message": error}
        code, text = fields.get("code"), fields.get("message")
        if not _is_number(code):
            self._violates("RPC-007", f"the error to {method} has no numeric code: {json.dumps(error)[:200]}", frame)
            code = None
        if not isinstance(text, str):
            self._violates("RPC-007", f"the error to {method} has no message text: {json.dumps(error)[:200]}", frame)
        return RpcError(method, cast("int | float | None", code), text, fields.get("data"))

    def _violates(self, requirement: str, observed: str, frame: FrameNumber) -> None:
        self.violations.append(Violation(RequirementId(requirement), observed, frame))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse_constant(name: str) -> Json:
    raise ValueError(name)
