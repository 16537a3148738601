"""What the host does beside an open agent: it looks for the agent's questions, and reads the run's logs."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.errors import ProviderFault
from conformance.evidence import Blocked, CheckEnded
from conformance.model import RequirementId
from conformance.overlap import LOOK_AGAIN_S
from conformance.rehearsal.run import ANSWERS, SHORT_MS, Run
from conformance.rehearsal.scripts import AT_END, AT_STDERR, AT_STDOUT, read_logs
from conformance.steps import Outcome
from conformance.transfer.bridge import read_from_queue, write_response
from conformance.transfer.steps import list_files, remove, size_of

BRIDGE_PAUSE_S = 0.1
"""Between two looks for questions, or for events (contract)."""

LOG_PAUSE_S = 0.25
"""Between two reads of the logs (contract)."""


class Repeated:
    """A poll that is sent again and again, with a pause after each answer, until it is stopped or goes wrong."""

    def __init__(self, poll: Callable[[], Awaitable[None]], pause: float) -> None:
        self._poll = poll
        self._pause = pause
        self._stopped = asyncio.Event()
        self.problem: ProviderFault | CheckEnded | None = None
        self._task = asyncio.create_task(self._repeat())

    async def until(self, event: asyncio.Event, seconds: float, *ends: "asyncio.Task[Any]") -> bool:
        """Whether an event comes within the time, before the poll goes wrong and before one of `ends` is done."""
        coming = asyncio.create_task(event.wait())
        await asyncio.wait({coming, self._task, *ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        coming.cancel()
        return event.is_set()

    def must_be_well(self) -> None:
        """Raise what went wrong, if anything did."""
        if self.problem is not None:
            raise self.problem

    async def stop(self) -> None:
        """Send no more. A poll that is under way is waited for: its answer must find somebody."""
        self._stopped.set()
        await self._task

    async def _repeat(self) -> None:
        while not self._stopped.is_set():
            try:
                await self._poll()
            except (ProviderFault, CheckEnded) as problem:
                self.problem = problem
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._stopped.wait()


@contextlib.asynccontextmanager
async def repeated(
    poll: Callable[[], Awaitable[None]], pause: float, *, forgiving: bool = False
) -> AsyncGenerator[Repeated]:
    """A poll that goes on beside the block. What went wrong with it is raised after the block, unless `forgiving`."""
    polls = Repeated(poll, pause)
    # Once round, so that the first is on the wire before anything of the block.
    await asyncio.sleep(0)
    try:
        yield polls
    finally:
        await polls.stop()
    if not forgiving:
        polls.must_be_well()


@dataclass
class Polls:
    """What the polls of one run have seen so far. The question `held` is not answered before `may_answer` is set."""

    run: Run
    held: str = ""
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list[str])
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    looks: int = 0
    reads: int = 0
    output: bytes = b""
    saw_output: asyncio.Event = field(default_factory=asyncio.Event)
    errors: bytes = b""

    async def look(self) -> None:
        """One round of the bridge: list the questions, read each and answer it."""
        listed = await self._command(list_files(self.run.bridge.requests))
        self.looks += 1
        for name in listed.stdout.split():
            question = name.removesuffix(".json")
            if question not in self.asked:
                await self._take(question)
            if question != self.held or self.may_answer.is_set():
                await self._answer(question)

    async def more(self, rounds: int, looking: Repeated) -> None:
        """Wait for so many more rounds. Raises what goes wrong with them."""
        enough = self.looks + rounds
        while self.looks < enough:
            looking.must_be_well()
            await asyncio.sleep(LOOK_AGAIN_S)

    async def read(self) -> None:
        """One read of the logs, from where the one before had ended."""
        step = read_logs(self.run.logs, len(self.output), len(self.errors))
        outcome = await self._command(step, time_ms=SHORT_MS)
        out, found, rest = outcome.stdout.removeprefix(f"{AT_STDOUT}\n").partition(f"{AT_STDERR}\n")
        err, ended, _ = rest.partition(AT_END)
        self._demand(outcome, bool(found and ended), "EXEC-019", "the output of the poll has its marks")
        self.reads += 1
        self.output += decoded(outcome, out)
        self.errors += decoded(outcome, err)
        if self.output:
            self.saw_output.set()

    async def _take(self, question: str) -> None:
        path = f"{self.run.bridge.requests}/{question}.json"
        size = (await self._command(size_of(path))).stdout.strip()
        outcome = await self._command(read_from_queue(path, int(size) + 1 if size.isdecimal() else 1))
        seen, wanted = decoded(outcome, outcome.stdout), f'{{"ask":"{question}"}}'
        self._demand(outcome, seen == wanted.encode(), "EXEC-015", f"the question is {wanted}")
        self.asked.append(question)
        self.was_asked.set()

    async def _answer(self, question: str) -> None:
        run = self.run
        path = f"{run.bridge.responses}/{question}.json"
        wrote = await self._command(write_response(path, ANSWERS.get(question, "what?"), run.provider.new_id()))
        self._demand(wrote, wrote.stdout == '{"wrote":true}\n', "FALL-008", "the response is said to be written")
        await self._command(remove(f"{run.bridge.requests}/{question}.json"))

    async def _command(self, *args: Any, **options: Any) -> Outcome:
        return await self.run.control(*args, rule="FALL-006", **options)

    def _demand(self, outcome: Outcome, holds: bool, rule: str, that: str) -> None:  # noqa: FBT001
        self.run.flow.demand(outcome, holds=holds, that=that, observed=outcome.came, rule=rule)


def decoded(outcome: Outcome, text: str) -> bytes:
    """Base64 of a part of what a poll printed; blocked by EXEC-015 when it is none."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError as error:
        raise Blocked(RequirementId("EXEC-015"), f"a poll printed no base64: {error}", outcome.frames) from error
