"""Login terminals in the hands of a check, as a host has them: one at a time, and closed whatever happens."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

from conformance.answer import Answer, answer_of, evidence_of
from conformance.canaries import is_local
from conformance.errors import ProviderFault, RpcError
from conformance.evidence import Blocked, Trace, Undecided
from conformance.host.lease import Lease
from conformance.host.params import LOGIN_COMMAND
from conformance.host.worker import Notice
from conformance.model import FrameNumber, RequirementId
from conformance.overlap import LOOK_AGAIN_S, a_while_for_file
from conformance.provider import Provider
from conformance.standin import BLOCKING, LOOK, READY, place, remove, tool
from conformance.steps import Outcome, run_script, run_to_success

OUTPUT, EXIT = "setupTokenPty.output", "setupTokenPty.exit"
"""The notifications of a terminal."""


@dataclass(frozen=True)
class Tool:
    """A stand-in that is in its place. `folder` is where it runs; `found` says whether commands find it."""

    folder: str
    found: bool


@dataclass(frozen=True)
class Login:
    """Opens terminals on a lease. `former` are the ids of sessions that are over, whose last words may come late."""

    provider: Provider
    lease: Lease
    former: set[str] = field(repr=False)

    @contextlib.asynccontextmanager
    async def tool(self, body: str) -> AsyncGenerator[Tool]:
        """A stand-in for the login tool with this body, taken away again at the end.

        Raises `Undecided` where the sandbox is the worker's own machine and somebody's own tool would be run.
        """
        folder = f"{self.lease.remote_cwd}/.kit-login-{self.provider.new_id()}"
        script = place(folder, may_replace=not is_local(self.lease))
        try:
            placed = await run_to_success(self.provider, self.lease, script, stdin=tool(folder, body))
            found, *places = placed.stdout.splitlines() or [""]
            if found and found not in places and is_local(self.lease):
                raise Undecided(f"{found} would be run on the worker's own machine, and the kit does not replace it.")
            if not found:
                await self._demand_home()
            yield Tool(folder, found in places)
        finally:
            with contextlib.suppress(ProviderFault, Blocked):
                await run_script(self.provider, self.lease, remove(folder))

    async def _demand_home(self) -> None:
        """Blocked where other rules are broken, without which nothing that is put into a sandbox can be found there."""
        seen = await run_script(self.provider, self.lease, LOOK)
        for line in seen.stdout.splitlines():
            if line in BLOCKING:
                raise Blocked(RequirementId(BLOCKING[line]), f"the stand-in is not found: {line}", seen.frames)

    @contextlib.asynccontextmanager
    async def opened(
        self, tool: Tool, *, command: str = LOGIN_COMMAND, lease: Lease | None = None
    ) -> AsyncGenerator["Terminal"]:
        """What became of an open, whatever it is. Its route is closed at the end, as the host does."""
        route, start = self.provider.new_id(), len(self.provider.worker.notices)
        terminal = None
        try:
            call = self.provider.open_terminal(self.lease if lease is None else lease, route, command)
            terminal = Terminal(self, tool, route, start, await answer_of(call))
            yield terminal
        finally:
            if terminal is None or not terminal.closed:
                with contextlib.suppress(ProviderFault):
                    await self.provider.close_terminal(route)
            if terminal is not None:
                self.former.add(terminal.id)

    @contextlib.asynccontextmanager
    async def terminal(self, body: str) -> AsyncGenerator["Terminal"]:
        """An open terminal on which a stand-in runs; closed at the end. Blocked by PTY-001 when it does not open."""
        async with self.tool(body) as tool, self.opened(tool) as terminal:
            terminal.demand_open()
            yield terminal


@dataclass
class Terminal:
    """One terminal from its open to its close. Evidence for a check."""

    login: Login
    tool: Tool
    route: str
    start: int
    answer: Answer
    closed: bool = False

    @property
    def trace(self) -> Trace:
        """The check that opened it."""
        return self.answer.trace

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """The open, and the last that was heard."""
        return (*self.answer.frames, *(notice.frame for notice in self.notices[-1:]))

    @property
    def sent(self) -> str:
        """The open in short."""
        return self.answer.sent

    @property
    def id(self) -> str:
        """The id of the session; empty when there is none."""
        number = self.answer.fields.get("workerSessionId")
        return number if isinstance(number, str) else ""

    @property
    def notices(self) -> list[Notice]:
        """What the worker said of terminals since the open, except of those that were over before."""
        said = self.login.provider.worker.notices[self.start :]
        of_terminals = (notice for notice in said if notice.method in {OUTPUT, EXIT})
        return [notice for notice in of_terminals if not self._is_late(notice)]

    @property
    def exits(self) -> list[Notice]:
        """How often its end was told."""
        return [notice for notice in self.notices if notice.method == EXIT]

    @property
    def text(self) -> str:
        """Its output, as far as it is text."""
        chunks = (notice.params.get("chunk") for notice in self.notices if notice.method == OUTPUT)
        return "".join(chunk for chunk in chunks if isinstance(chunk, str))

    async def shows(self, text: str) -> bool:
        """Wait for output; False when the end, or the limit ``terminal``, comes before it."""
        await self._until(lambda: text in self.text or bool(self.exits))
        return text in self.text

    async def ends(self) -> bool:
        """Wait until the end is told; False when it is not within the limit ``terminal``."""
        return await self._until(lambda: bool(self.exits))

    async def settled(self) -> None:
        """Wait for the end of what was opened; nothing was where the open failed."""
        if self.answer.fault is None:
            await self.ends()

    async def after(self, name: str, script: str) -> Outcome:
        """Run a script in the stand-in's directory as soon as a file is there, or when it has not come in time."""
        seconds = self.login.provider.launch.limits.seconds("bridge")
        wait = a_while_for_file(f"{self.tool.folder}/{name}", seconds)
        return await run_script(self.login.provider, self.login.lease, f"{wait}; {script}", cwd=self.tool.folder)

    async def begun(self, sign: str = READY) -> None:
        """Wait for a sign of the stand-in; raises `Undecided` when none comes."""
        seen = await self.after(sign, f"[ -e {sign} ] && echo here")
        if seen.stdout.strip() != "here":
            raise Undecided("The terminal did not run the stand-in: let it find `claude` on the PATH of commands.")

    async def type(self, keys: str) -> Answer:
        """Type into it."""
        return await self.login.provider.type_into_terminal(self.id, keys)

    async def stop(self) -> Answer:
        """Have its command ended."""
        return await self.login.provider.stop_terminal(self.id)

    async def close(self) -> Answer:
        """Close it; may be repeated."""
        answer = await self.login.provider.close_terminal(self.route)
        self.closed = True
        return answer

    async def enter(self, text: str = "") -> None:
        """Type a line for the stand-in to go on; blocked by PTY-008 when that is not taken."""
        await _standing_on("PTY-008", self.type(f"{text}\n"))

    async def end(self) -> None:
        """Close it to go on; blocked by PTY-006 when that is not answered."""
        await _standing_on("PTY-006", self.close())

    def demand_tool(self) -> None:
        """Raise `Undecided` when it was refused, and no command of the sandbox finds the tool either."""
        if isinstance(self.answer.fault, RpcError) and not self.tool.found:
            raise Undecided(f"The sandbox has no `claude` on the PATH of commands: {self.answer.came}")

    def demand_open(self) -> None:
        """Raise `Blocked`, by PTY-001, when there is no session; `Undecided` when there is no tool to run in one."""
        self.demand_tool()
        if not self.id:
            reason = f"no terminal was opened: {self.answer.came}"
            raise Blocked(RequirementId("PTY-001"), reason, self.answer.frames)

    def _is_late(self, notice: Notice) -> bool:
        number = notice.params.get("workerSessionId")
        return isinstance(number, str) and number != self.id and number in self.login.former

    async def _until(self, holds: Callable[[], bool]) -> bool:
        patience = time.monotonic() + self.login.provider.launch.limits.seconds("terminal")
        while not holds():
            if time.monotonic() >= patience:
                return False
            await asyncio.sleep(LOOK_AGAIN_S)
        return True


async def _standing_on(requirement: str, call: Awaitable[Answer]) -> None:
    try:
        await call
    except ProviderFault as fault:
        raise Blocked(RequirementId(requirement), fault.sentence(), evidence_of(fault).frames) from fault
