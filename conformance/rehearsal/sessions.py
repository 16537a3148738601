"""The ACP lane: an agent that talks in numbered messages, its events in files or, live, in lines on its stdout."""

import asyncio
import base64
import contextlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from conformance.answer import Answer, answer_of, evidence_of
from conformance.errors import ProviderFault, RpcError
from conformance.evidence import Blocked, CheckEnded, Evidence
from conformance.model import Json, RequirementId, object_of
from conformance.overlap import GAVE_UP, LOOK_AGAIN_S, until_file
from conformance.rehearsal.agent import ended
from conformance.rehearsal.before import put_script
from conformance.rehearsal.polls import BRIDGE_PAUSE_S, Repeated, decoded, repeated
from conformance.rehearsal.run import ANSWERS, Run
from conformance.rehearsal.scripts import list_events, start_session
from conformance.rehearsal.stages import AGENT_STARTED, AGENT_STREAMED, FAREWELL, REPAIRED, SESSION, TALK
from conformance.rehearsal.stubs import session
from conformance.states import FAREWELL_S
from conformance.steps import Outcome, outcome_of, quote
from conformance.transfer.bridge import CHANNEL, Bridge, read_from_queue, write_to_queue
from conformance.transfer.steps import Step, remove, size_of

MESSAGE_BYTES = (60, 1_800, 19_500)
"""Raw sizes of what the host says (recorded: the third, with the prompt, is 26 KB of base64)."""

LEAVE_ALONE = "Wait for the command's own process, and leave alone what it started with nohup."

THE_END = b'{"type":"stdinEnd"}\n'
SHUTDOWN = b'{"type":"shutdown"}\n'


@dataclass(frozen=True)
class Frame:
    """One event of the agent."""

    number: int
    kind: str
    text: str


def frame_of(line: str) -> Frame | None:
    """The event in a line of JSON; None for any other line."""
    try:
        value: Any = json.loads(line)
    except ValueError:
        return None
    fields = object_of(value)
    number, kind, data = fields.get("seq"), fields.get("type"), fields.get("data", "")
    if not isinstance(number, int) or not isinstance(kind, str) or not isinstance(data, str):
        return None
    try:
        return Frame(number, kind, base64.b64decode(data, validate=True).decode())
    except ValueError:
        return None


@dataclass
class Session:
    """One agent of the ACP lane: its folder, what it was told and what it said.

    `ended`: its process has gone. `astray`: frames came live, but under no call or stream that they could be read from.
    """

    run: Run
    name: str
    frames: list[Frame] = field(default_factory=list[Frame])
    written: list[bytes] = field(default_factory=list[bytes])
    ended: bool = False
    astray: bool = False
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    _next_notice: int = 0
    _texts: defaultdict[Json, str] = field(default_factory=lambda: defaultdict[Json, str](str))

    @property
    def folder(self) -> str:
        """Where its messages and events are."""
        return f"{self.run.runtime}/process-sessions/{self.name}"

    @property
    def program(self) -> Bridge:
        """Where its program goes."""
        return Bridge(f"{self.run.runtime}/process-sessions")

    async def put_program(self) -> None:
        """The program goes up before the bridge is started."""
        self._next_notice = len(self.run.provider.worker.notices)
        with self.run.flow.step(SESSION):
            await put_script(self.run, self.program, session(self.run.patience))

    async def say(self, content: bytes) -> None:
        """One message, in three commands."""
        path = f"{self.folder}/stdin/{len(self.written) + 1:012}.json"
        for step in write_to_queue(path, content, self.run.provider.new_id()):
            try:
                await self.run.control(step, rule="FALL-006")
            except RpcError as fault:
                raise Blocked(RequirementId("FALL-006"), fault.sentence(), evidence_of(fault).frames) from fault
        self.written.append(content)

    async def take_files(self) -> None:
        """One poll of the event files: each is read and removed."""
        listed = await self.run.control(list_events(self.folder), rule="FALL-006")
        names = listed.stdout.split()
        for name in sorted(set(names) - {"ended"}):
            outcome = await self.run.control(read_from_queue(f"{self.folder}/events/{name}"), rule="FALL-006")
            self._take(decoded(outcome, outcome.stdout).decode("utf-8", "replace"))
            await self.run.control(remove(f"{self.folder}/events/{name}"), rule="FALL-006")
        self.ended = "ended" in names
        self.heard.set()

    async def take_chunks(self) -> None:
        """What has arrived as `execute.log` since the last look, line by line for each call."""
        notices, company = self.run.provider.worker.notices, self.run.lease.tenant.company
        for notice in notices[self._next_notice :]:
            if notice.method != "execute.log":
                continue
            chunk = str(notice.params.get("chunk"))
            ours = notice.open_call is not None and notice.open_call.company == company
            if ours and notice.params.get("stream") == "stdout":
                *lines, rest = (self._texts[notice.invocation] + chunk).split("\n")
                self._texts[notice.invocation] = rest
                for line in lines:
                    self._take(line)
            elif '"type":"data"' in chunk:
                self.astray = True
        self._next_notice = len(notices)
        self.heard.set()

    async def hear(self, events: Repeated, count: int, seconds: float) -> bool:
        """Whether the agent has said so many things within the time, before it ended and before the poll went wrong."""
        deadline = asyncio.get_running_loop().time() + seconds
        while len(self.frames) < count and not self.ended:
            self.heard.clear()
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or not await events.until(self.heard, left):
                break
        return len(self.frames) >= count

    async def start(self) -> None:
        """Start it in the background, by a call that returns at once."""
        run = self.run
        script = start_session(self.program.entry, self.folder, run.queue)
        with run.flow.step(AGENT_STARTED):
            call = asyncio.create_task(answer_of(run.ask(script, env=CHANNEL)))
            await asyncio.wait({call}, timeout=run.seconds("bridge"))
            prompt = call.done()
            if prompt:
                outcome_of(call.result())
                await self.take_files()
            else:
                await self._end_background(call)
            run.flow.demand(
                call.result() if prompt else run.provider,
                holds=prompt and not self.ended,
                that="the call that starts the agent returns at once, and the agent lives on",
                observed=f"it returned at once: {prompt}; the agent had ended: {self.ended}",
                advice=LEAVE_ALONE,
            )

    async def _end_background(self, call: "asyncio.Task[Answer]") -> None:
        with contextlib.suppress(ProviderFault, CheckEnded):
            await self.run.control(Step(f'kill -9 "$(cat {quote(f"{self.folder}/pid")})"'))
        await asyncio.wait({call}, timeout=FAREWELL_S)
        call.cancel()

    async def talk(self) -> None:
        """Say all messages, each when the one before was answered, over files in both directions."""
        with self.run.flow.step(TALK):
            async with repeated(self.take_files, BRIDGE_PAUSE_S) as events:
                for content in (*map(self.message, range(1, len(MESSAGE_BYTES) + 1)), THE_END):
                    await self.say(content)
                    if not await self.hear(events, len(self.wanted()), self.run.seconds("bridge")):
                        break
            if not self.frames:
                await self._demand_first_frame()
            self.demand_frames(self.run.provider, self.frames)

    async def _demand_first_frame(self) -> None:
        """The first message is in its place, so whoever does not answer it is not there any more."""
        size = await self.run.control(size_of(f"{self.folder}/stdin/{1:012}.json"), rule="FALL-006")
        arrived = size.stdout.strip() == str(len(self.written[0]))
        self.run.flow.demand(size, holds=arrived, that="the message is there", observed=size.came, rule="FALL-006")
        self.run.flow.demand(
            size,
            holds=False,
            that="the agent, which was started in the background, lives on and answers",
            observed="its first message lies there unanswered",
            advice=LEAVE_ALONE,
            rule="EXEC-025",
        )

    async def talk_live(self) -> Outcome:
        """The same with one long command, whose output is read while it is open."""
        run = self.run
        script = Step(f"sh {quote(self.program.entry)} stream {quote(run.queue)}")
        env = {**CHANNEL, "PAPERCLIP_PROCESS_SESSION_DIR": self.folder, "PAPERCLIP_PROCESS_SESSION_COMMAND_B64": "c2g="}
        with run.flow.step(AGENT_STREAMED):
            call = asyncio.create_task(answer_of(run.ask(script, env=env, bypass=False)))
            # Once round, so that the command is on the wire before the first message.
            await asyncio.sleep(0)
            try:
                async with repeated(self.take_chunks, LOOK_AGAIN_S) as events:
                    live = await self._say_all(events, call)
            finally:
                if not call.done():
                    with contextlib.suppress(ProviderFault, CheckEnded):
                        await self.say(THE_END)
                await call
            outcome = ended(call.result())
            run.flow.demand(
                outcome,
                holds=outcome.exit_code != GAVE_UP,
                that="the host's messages reach the session while it is open",
                observed=outcome.came,
                rule="SESS-001",
            )
            run.flow.demand(
                outcome,
                holds=live,
                that="each frame arrives as execute.log while the session is open",
                observed=f"{len(self.frames)} of {len(self.wanted())} frames arrived in time",
                advice="Send what a command writes when it writes it, in a session as outside of one.",
                rule="STREAM-003" if self.astray else None,
            )
            return outcome

    async def _say_all(self, events: Repeated, call: "asyncio.Task[Answer]") -> bool:
        live = True
        for number in range(1, len(MESSAGE_BYTES) + 1):
            await self.say(self.message(number))
            live = live and await self._hear_live(events) and not call.done()
        await self.say(THE_END)
        await call
        return live and await self.hear(events, len(self.wanted()), self.run.seconds("live_output"))

    async def _hear_live(self, events: Repeated) -> bool:
        limit, count = self.run.seconds("live_output"), len(self.wanted())
        if await self.hear(events, count, limit):
            return True
        # It may not have been written yet: the time counts from then.
        written = until_file(f"{self.folder}/said-{count}", self.run.seconds("bridge"))
        await self.run.control(Step(written), rule="SESS-001")
        return await self.hear(events, count, limit)

    def read_again(self, outcome: Outcome) -> None:
        """The complete output at the end repairs what was missed: it holds all frames."""
        with self.run.flow.step(REPAIRED):
            lines = map(frame_of, outcome.stdout.splitlines())
            self.demand_frames(outcome, [frame for frame in lines if frame is not None])

    def message(self, number: int) -> bytes:
        """What the host says as its message `number`, from 1 on."""
        data = base64.b64encode(self.run.provider.random.randbytes(MESSAGE_BYTES[number - 1])).decode()
        return f'{{"type":"stdin","data":"{data}"}}\n'.encode()

    def wanted(self) -> list[Frame]:
        """What the agent says to everything that it was told so far."""
        told = [content for content in self.written if content not in {THE_END, SHUTDOWN}]
        texts = [f"message {number} of {len(content)} bytes" for number, content in enumerate(told, 1)]
        if len(told) == len(MESSAGE_BYTES):
            texts.append(f"answer {ANSWERS['first']}")
        frames = [Frame(number, "data", text) for number, text in enumerate(texts, 1)]
        if THE_END in self.written:
            frames += [Frame(len(frames) + 1, "exit", ""), Frame(len(frames) + 2, "shutdownAck", "")]
        return frames

    def demand_frames(self, evidence: Evidence, frames: list[Frame], *, rule: str | None = None) -> None:
        """Demand that exactly the right events came, in their order."""
        wanted = self.wanted()
        self.run.flow.demand(
            evidence,
            holds=frames == wanted,
            that=f"the agent says {[(frame.number, frame.kind, frame.text) for frame in wanted]}",
            observed=str([(frame.number, frame.kind, frame.text) for frame in frames]),
            rule=rule,
        )

    async def remove(self) -> Outcome:
        """The host says once more that this is the end, and removes the folder."""
        with self.run.flow.step(FAREWELL):
            for content in (THE_END, SHUTDOWN):
                await self.say(content)
            return await self.run.control(remove(self.folder))

    def _take(self, line: str) -> None:
        frame = frame_of(line)
        if frame is not None and frame.number not in {known.number for known in self.frames}:
            self.frames.append(frame)
