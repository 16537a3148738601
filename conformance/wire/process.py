"""One worker process: three pipes that are always drained, and a stop that always ends."""

import asyncio
import codecs
import contextlib
import fcntl
import itertools
import os
import select
import signal
import subprocess
import sys
import termios
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import EnvironmentFault

READ_SIZE = 1 << 16
"""Bytes asked of a pipe at once (our choice: what a default pipe holds; room for more is made anew at every read)."""

WIDE_PIPE = 1 << 20
"""Bytes that a pipe holds, and that are asked of it, once it was seen full (our choice: as much as Linux lends anyone).

Megabytes then pass in a sixteenth of the turns; a worker of short messages keeps the pipe that it was given.
"""

MOST_PIECES = 512
"""Queued messages written at once (our choice; the system takes 1,024)."""

STDERR_TAIL = 8_000
"""Characters of stderr kept for messages (contract: protocol.md section 3)."""

DRAIN_AFTER_EXIT_S = 1.0
"""How long output of a dead worker is still awaited when a grandchild holds its pipe (our choice)."""

KILL_LIMIT_S = 10.0
"""How long the end of a killed process is awaited (our choice: only one that is stuck in the kernel takes longer)."""


@dataclass(frozen=True)
class Command:
    """How to start a worker. The environment is complete: nothing is inherited."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path


class WorkerProcess:
    """A started worker in a process group of its own.

    Bytes of stdout go to `on_output`, bytes of stderr to `on_stderr`; each pipe's end is told once, by no bytes at all.
    All callbacks run on the event loop. Raises `EnvironmentFault` when the program cannot be started.
    """

    def __init__(
        self,
        command: Command,
        *,
        on_output: Callable[[bytes], None],
        on_stderr: Callable[[bytes], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_output = on_output
        self._on_stderr = on_stderr
        self._stderr = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        try:
            self._child = subprocess.Popen(
                list(command.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(command.environment),
                cwd=command.directory,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise EnvironmentFault(
                f"The worker cannot be started: {command.argv[0]}: {error.strerror}.",
                "Check that the program exists and may be executed.",
            ) from error
        self.pid = self._child.pid
        self.disturbed = False
        """Whether the kit killed or signalled it or closed its stdin: what it was writing then may end anywhere."""
        self.exited = asyncio.Event()
        self.output_ended = asyncio.Event()
        self._stderr_ended = asyncio.Event()
        self._reading = True
        self._outbox: deque[bytes | memoryview] = deque()
        self._write_is_due = False
        self._pipe_is_full = False
        self._stdin_is_wide = False
        self._stdout_is_wide = False
        self._read_size = READ_SIZE
        self._poll: select.poll | None = None
        self._stdin: int | None = self._take_over(self._child.stdin)
        self._stdout: int | None = self._take_over(self._child.stdout)
        self._stderr_fd: int | None = self._take_over(self._child.stderr)
        self._loop.add_reader(self._stdout, self._read_output)
        self._loop.add_reader(self._stderr_fd, self._read_stderr)
        threading.Thread(target=self._wait, name=f"worker-{self.pid}", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._child.returncode if self.exited.is_set() else None

    @property
    def stderr_tail(self) -> str:
        """The last characters it wrote to stderr."""
        return self._stderr

    def write(self, *pieces: bytes, at_once: bool = True) -> None:
        """Queue bytes for stdin. Bytes for a closed stdin are dropped: the end of the process tells more.

        With `at_once` they are written now, as far as the pipe takes them; otherwise together with others that come
        before the event loop looks at its pipes again.
        """
        if self._stdin is None:
            return
        self._outbox.extend(filter(None, pieces))
        if self._write_is_due or self._pipe_is_full:
            return
        if at_once:
            self._write_out()
        else:
            self._write_is_due = True
            self._loop.call_soon(self._write_what_is_due)

    def read_for(self, milliseconds: int, done: Callable[[], bool]) -> None:
        """Wait for output without the event loop, which is held up meanwhile: until `done`, or the time is over.

        Nothing happens where the loop has work to do with the pipes: the worker's input is full, or reading is paused.
        """
        end = self._loop.time() + milliseconds / 1_000
        while self._stdout is not None and self._reading and not self._outbox:
            ready = dict(self._watched(self._stdout).poll(milliseconds))
            # What was on stderr before an answer is recorded before it: nobody looks for it afterwards.
            if self._stderr_fd in ready:
                self._read_stderr()
            if self._stdout in ready:
                self._read_output()
            if done() or self._loop.time() >= end:
                return

    def _watched(self, stdout: int) -> select.poll:
        if self._poll is None:
            self._poll = select.poll()
            # Looked at in this order: so what the worker wrote to stderr first is seen together with its answer.
            self._poll.register(stdout, select.POLLIN)
            if self._stderr_fd is not None:
                self._poll.register(self._stderr_fd, select.POLLIN)
        return self._poll

    @property
    def unread(self) -> int:
        """Bytes in the pipe that the worker has not read yet; 0 once its stdin is closed."""
        return 0 if self._stdin is None else _bytes_in(self._stdin)

    @property
    def is_held_up(self) -> bool:
        """Whether its stdout is full until somebody reads; never where that cannot be known."""
        if self._stdout is None or not hasattr(fcntl, "F_GETPIPE_SZ"):
            return False
        return _bytes_in(self._stdout) >= fcntl.fcntl(self._stdout, fcntl.F_GETPIPE_SZ) - select.PIPE_BUF

    def end_stdin(self) -> None:
        """Give the worker end of file, as a host that dies does. What its full pipe did not take is lost."""
        self.disturbed = True
        self._write_what_is_due()
        self._close_stdin()

    def pause_reading(self) -> None:
        """Stop reading stdout, as a slow host does; stderr is still drained."""
        self._reading = False
        if self._stdout is not None:
            self._loop.remove_reader(self._stdout)

    def resume_reading(self) -> None:
        """Read stdout again."""
        self._reading = True
        if self._stdout is not None:
            self._loop.add_reader(self._stdout, self._read_output)

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the worker itself, not what it started. Nothing happens when it has ended."""
        self.disturbed = True
        self._write_what_is_due()
        self._child.send_signal(number)

    async def wait_exit(self, seconds: float) -> bool:
        """Whether the process ended within the time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    async def kill(self) -> None:
        """End the worker and whatever is left of its process group, then close every pipe. Safe to repeat."""
        if not self.exited.is_set():
            self.disturbed = True
        self._write_what_is_due()
        self._kill_group()
        await self.wait_exit(KILL_LIMIT_S)
        self._kill_group()
        self.resume_reading()
        await self.drain()
        self._close_stdin()
        self._end_output()
        self._end_stderr()

    def kill_now(self) -> None:
        """Last resort without an event loop: end the process group and do not wait."""
        self.disturbed = True
        self._kill_group()

    async def drain(self) -> None:
        """After the exit: wait, within a bound, until its last output is read."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_AFTER_EXIT_S):
                await self.output_ended.wait()
                await self._stderr_ended.wait()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _take_over(self, pipe: object) -> int:
        descriptor = os.dup(pipe.fileno())  # type: ignore[attr-defined]
        pipe.close()  # type: ignore[attr-defined]
        os.set_blocking(descriptor, False)
        return descriptor

    def _close_stdin(self) -> None:
        if self._stdin is not None:
            if self._pipe_is_full:
                self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = None
            self._outbox.clear()

    def _write_what_is_due(self) -> None:
        if self._write_is_due:
            self._write_is_due = False
            self._write_out()

    def _write_out(self) -> None:
        if self._stdin is None:
            return
        try:
            while self._outbox:
                pieces = list(itertools.islice(self._outbox, MOST_PIECES))
                written = os.writev(self._stdin, pieces)
                self._written(written)
                # Trying again at once would send what is left in as many little pieces as the worker reads.
                if written < sum(map(len, pieces)):
                    self._wait_for_room(self._stdin)
                    return
        except BlockingIOError:
            self._wait_for_room(self._stdin)
            return
        except OSError:
            self._close_stdin()
            return
        if self._pipe_is_full:
            self._pipe_is_full = False
            self._loop.remove_writer(self._stdin)

    def _wait_for_room(self, stdin: int) -> None:
        if not self._pipe_is_full:
            self._pipe_is_full = True
            self._loop.add_writer(stdin, self._write_out)
        if not self._stdin_is_wide:
            self._stdin_is_wide = True
            _widen(stdin)

    def _written(self, size: int) -> None:
        while size:
            head = self._outbox.popleft()
            if len(head) > size:
                self._outbox.appendleft(memoryview(head)[size:])
                return
            size -= len(head)

    def _read_output(self) -> None:
        if self._stdout is None:
            return
        try:
            chunk = os.read(self._stdout, self._read_size)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._expect_as_much(self._stdout, len(chunk))
            self._on_output(chunk)
        else:
            self._end_output()

    def _expect_as_much(self, stdout: int, size: int) -> None:
        if size < READ_SIZE:
            self._read_size = READ_SIZE
            return
        self._read_size = WIDE_PIPE
        if not self._stdout_is_wide:
            self._stdout_is_wide = True
            _widen(stdout)

    def _read_stderr(self) -> None:
        if self._stderr_fd is None:
            return
        try:
            chunk = os.read(self._stderr_fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._stderr = (self._stderr + self._decoder.decode(chunk))[-STDERR_TAIL:]
            self._on_stderr(chunk)
        else:
            self._end_stderr()

    def _end_output(self) -> None:
        if self._stdout is not None:
            self._loop.remove_reader(self._stdout)
            os.close(self._stdout)
            self._stdout = self._poll = None
            self.output_ended.set()
            self._on_output(b"")

    def _end_stderr(self) -> None:
        if self._stderr_fd is not None:
            self._loop.remove_reader(self._stderr_fd)
            os.close(self._stderr_fd)
            self._stderr_fd = self._poll = None
            self._stderr_ended.set()
            self._on_stderr(b"")

    def _wait(self) -> None:
        self._child.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._note_exit)

    def _note_exit(self) -> None:
        self.exited.set()
        # A grandchild may hold the pipes for ever. The host gives up its calls when the worker ends, not its children.
        self._loop.call_later(DRAIN_AFTER_EXIT_S, self._stop_reading)

    def _stop_reading(self) -> None:
        if self._reading:
            self._end_output()
        self._end_stderr()


def _bytes_in(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        # Refused where this user's pipes already hold all that the system lends them.
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, WIDE_PIPE)
