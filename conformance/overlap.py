"""Steps for commands that run at the same time, are cut off, or say something while they run.

None of them counts seconds as proof: a command waits for a file, and the kit for an answer or a chunk.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Coroutine, Sequence
from typing import Any, TypeVar

from conformance.evidence import Undecided
from conformance.host.lease import Lease
from conformance.host.worker import Notice
from conformance.model import Json
from conformance.provider import Provider
from conformance.steps import Outcome, quote, run_script, run_to_success

T = TypeVar("T")

PAUSE_S = 0.05
"""Between two looks inside the sandbox (contract: the shortest sleep that an image must know)."""

LOOK_AGAIN_S = 0.01
"""Between two looks at what has arrived (our choice)."""

BUDGETS_MS = (1_000, 5_000, 25_000)
"""Time limits for a command that is to be cut off: the next one is tried when it did not get far enough before.

Our choice. A whole second at least: a provider whose backend counts in seconds must not be given half of one.
"""

GAVE_UP = 9
"""Exit code of a script that waited in vain."""


async def fresh_directory(provider: Provider, lease: Lease, name: str = "") -> str:
    """An empty directory below the lease's own that nobody else uses; its last part is `name`, if given."""
    path = f"{lease.remote_cwd}/{provider.new_id()}"
    path = f"{path}/{name}" if name else path
    await run_to_success(provider, lease, f"mkdir -p {quote(path)}")
    return path


def until_file(path: str, seconds: float) -> str:
    """A piece of script that goes on when a file is there, and ends the script with `GAVE_UP` when it never comes."""
    return f"{a_while_for_file(path, seconds)}; [ -e {quote(path)} ] || exit {GAVE_UP}"


def a_while_for_file(path: str, seconds: float) -> str:
    """A piece of script that goes on when a file is there, or when it does not come in time."""
    rounds = max(1, round(seconds / PAUSE_S))
    return f"n=0; until [ -e {quote(path)} ] || [ $n -ge {rounds} ]; do n=$((n+1)); sleep {PAUSE_S}; done"


@contextlib.asynccontextmanager
async def kept_open(call: Coroutine[Any, Any, T]) -> AsyncGenerator["asyncio.Task[T]"]:
    """A call that is sent before the block runs and may still be open in it.

    Its end is awaited after the block, also when the block failed: a cancelled call would leave a command behind.
    """
    task = asyncio.create_task(call)
    await asyncio.sleep(0)
    try:
        yield task
    finally:
        await asyncio.gather(task, return_exceptions=True)


async def side_by_side(*calls: Awaitable[T]) -> list[T]:
    """All at once; a failure is raised after all have ended."""
    ended = await asyncio.gather(*calls, return_exceptions=True)
    return [_value(end) for end in ended]


async def cut_off(provider: Provider, lease: Lease, script: str, *, once: str, **options: Any) -> Outcome:
    """Run a script that never ends into its time limit, a longer one until it got as far as making the file `once`.

    Raises `Undecided` when even the longest limit was over before that.
    """
    for budget in BUDGETS_MS:
        outcome = await run_script(provider, lease, script, timeout_ms=budget, **options)
        look = await run_to_success(provider, lease, f"if [ -e {quote(once)} ]; then echo there; fi")
        if look.stdout.strip():
            return outcome
    raise Undecided(f"No command got to its first line within {BUDGETS_MS[-1]} ms.")


class LiveOutput:
    """What arrives as `execute.log` from now on, joined for each call and stream."""

    def __init__(self, notices: Sequence[Notice]) -> None:
        self._notices = notices
        self._next = len(notices)
        self._texts: dict[tuple[Json, Json], str] = {}

    async def moment_of(self, text: str, seconds: float) -> float | None:
        """When a text was complete, by the monotonic clock; None when it is not within `seconds` from now."""
        deadline = time.monotonic() + seconds
        while True:
            moment = self._take_until(text)
            if moment is not None or time.monotonic() >= deadline:
                return moment
            await asyncio.sleep(LOOK_AGAIN_S)

    def _take_until(self, text: str) -> float | None:
        while self._next < len(self._notices):
            notice = self._notices[self._next]
            self._next += 1
            if notice.method == "execute.log":
                key = (notice.invocation, notice.params.get("stream"))
                self._texts[key] = self._texts.get(key, "") + str(notice.params.get("chunk"))
                if text in self._texts[key]:
                    return notice.seconds
        return time.monotonic() if any(text in joined for joined in self._texts.values()) else None


def _value(end: T | BaseException) -> T:
    if isinstance(end, BaseException):
        raise end
    return end
