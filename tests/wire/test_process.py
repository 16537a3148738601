"""A real child process: every pipe is drained, every end is noticed, nothing is left behind."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from conformance.errors import EnvironmentFault
from conformance.wire.process import STDERR_TAIL, Command, WorkerProcess

from .peers import CALL, PATIENCE_S, is_alive, script_peer, stderr_of, until

pytestmark = pytest.mark.asyncio

READY = "import os, signal, subprocess, sys, time\nsay = lambda text: (sys.stdout.write(text), sys.stdout.flush())\n"


class Told:
    """What a process wrote."""

    def __init__(self) -> None:
        self.output = b""
        self.stderr = b""
        self.ends = 0

    def take_output(self, chunk: bytes) -> None:
        self.output += chunk
        self.ends += not chunk

    def take_stderr(self, chunk: bytes) -> None:
        self.stderr += chunk
        self.ends += not chunk

    async def until(self, text: bytes) -> None:
        await until(lambda: text in self.output)


@asynccontextmanager
async def running(script: str, environment: dict[str, str] | None = None) -> AsyncGenerator[tuple[WorkerProcess, Told]]:
    told = Told()
    command = Command([sys.executable, "-I", "-S", "-c", READY + script], environment or {}, Path("/"))
    process = WorkerProcess(command, on_output=told.take_output, on_stderr=told.take_stderr)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield process, told
    finally:
        await process.kill()
    assert told.ends == 2, "the end of each pipe is told exactly once"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_it_starts_with_the_given_environment_and_directory_only() -> None:
    async with running("say(repr((dict(os.environ), os.getcwd(), os.getsid(0) == os.getpid())))", {"ONE": "1"}) as (
        process,
        told,
    ):
        await process.output_ended.wait()
        environment, directory, leads_a_session = eval(told.output)  # noqa: S307 - our own repr

    environment.pop("LC_CTYPE", None)  # set by Python itself where there is no locale
    assert (environment, directory, leads_a_session) == ({"ONE": "1"}, "/", True)


async def test_a_program_that_does_not_exist_is_the_environments_fault() -> None:
    def nothing(_chunk: bytes) -> None: ...

    with pytest.raises(EnvironmentFault, match="cannot be started"):
        WorkerProcess(Command(["/no/such/program"], {}, Path("/")), on_output=nothing, on_stderr=nothing)


async def test_a_flood_of_stderr_never_blocks_and_its_tail_is_kept() -> None:
    flood = "os.write(2, b'x' * 5_000_000 + 'größer\\n'.encode() * 2_000); say('done')"
    async with running(flood) as (process, told):
        await process.output_ended.wait()
        await process.drain()

    assert told.output == b"done"
    assert len(told.stderr) == 5_018_000
    assert process.stderr_tail == ("größer\n" * 2_000)[-STDERR_TAIL:]


async def test_stderr_reaches_the_transcript_line_by_line_up_to_a_limit() -> None:
    script = "import sys\nsys.stderr.write('line\\n' * 12_000 + 'y' * 100_000 + '\\nunfinished'); sys.stderr.flush()"
    async with script_peer(script) as peer:
        await peer.process.exited.wait()
        await peer.process.drain()

        assert stderr_of(peer) == [b"line"] * 10_000
        assert peer.transcript.frames[-1].data == b"more lines of stderr are not recorded"
        assert peer.process.stderr_tail.endswith("y\nunfinished")


async def test_the_last_line_of_stderr_needs_no_end() -> None:
    async with script_peer("import sys; sys.stderr.write('one\\ntwo')") as peer:
        await peer.process.exited.wait()
        await peer.process.drain()

        assert stderr_of(peer) == [b"one", b"two"]


async def test_more_than_a_pipe_holds_goes_in_without_waiting() -> None:
    async with running("say(str(len(sys.stdin.buffer.read(3_070_001))) + '.')") as (process, told):
        for size in (1, 3_000_000, 0, 70_000):
            process.write(b"x" * size)
        await told.until(b".")

    assert told.output == b"3070001."


async def test_writing_to_a_worker_that_closed_its_stdin_is_no_error() -> None:
    async with running("os.close(0); say('closed'); time.sleep(600)") as (process, told):
        await told.until(b"closed")

        process.write(b"x" * 100_000)
        process.write(b"more")
        process.end_stdin()
        process.end_stdin()

        assert process.exit_code is None


async def test_reading_can_be_paused_as_by_a_slow_host() -> None:
    async with running("say('a'); sys.stdin.readline(); say('b'); sys.stdin.readline()") as (process, told):
        await told.until(b"a")
        process.pause_reading()
        process.write(b"\n")
        await asyncio.sleep(0.05)
        paused = told.output
        process.resume_reading()
        await told.until(b"b")

    assert paused == b"a"


async def test_output_of_a_dead_worker_is_not_lost_while_paused() -> None:
    async with running("say('x' * 1000)") as (process, told):
        process.pause_reading()
        await process.exited.wait()

    assert len(told.output) == 1000


async def test_a_worker_that_ignores_sigterm_is_killed_with_its_whole_group() -> None:
    script = (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['/bin/sh', '-c', 'trap \"\" TERM; echo up; while :; do sleep 1; done'])\n"
        "time.sleep(0.1); say(f'{child.pid}.\\n'); time.sleep(600)"
    )
    async with running(script) as (process, told):
        await told.until(b".\n")
        child = int(told.output.replace(b"up\n", b"").strip(b".\n"))

        process.send_signal(signal.SIGTERM)
        gone = await process.wait_exit(0.2)
        assert not gone
        assert is_alive(child)

    await asyncio.wait_for(until(lambda: not is_alive(child)), PATIENCE_S)
    assert process.exit_code == -signal.SIGKILL


async def test_a_grandchild_that_holds_the_pipes_does_not_hold_up_the_end() -> None:
    script = (
        "import subprocess, sys; sys.stdin.readline();"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True);"
        "sys.stderr.write(str(child.pid) + '\\n'); sys.exit(3)"
    )
    async with script_peer(script) as peer:
        with pytest.raises(Exception, match="exited with code 3 during call"):
            await peer.call(CALL, {}, seconds=PATIENCE_S, limit="test")
        child = int(stderr_of(peer)[0])

        assert is_alive(child)
        os.kill(child, signal.SIGKILL)


async def test_killing_twice_or_after_the_end_is_fine() -> None:
    async with running("pass") as (process, _):
        await process.exited.wait()
        await process.kill()
        await process.kill()
        process.send_signal(signal.SIGTERM)
        process.resume_reading()
        process.write(b"nobody reads this")

    assert process.exit_code == 0


async def test_workers_leave_no_descriptor_behind() -> None:
    before = open_descriptors()
    for _ in range(5):
        async with running("say('up'); sys.stdin.read()") as (_, told):
            await told.until(b"up")

    assert open_descriptors() == before


async def test_it_knows_whether_the_kit_disturbed_it() -> None:
    async with running("pass") as (by_itself, _):
        await by_itself.exited.wait()
    async with running("sys.stdin.read()") as (by_stdin, _):
        by_stdin.end_stdin()
        await by_stdin.exited.wait()
    async with running("time.sleep(600)") as (by_signal, _):
        by_signal.send_signal(signal.SIGTERM)
        await by_signal.exited.wait()
    async with running("time.sleep(600)") as (killed, _):
        pass

    assert [process.disturbed for process in (by_itself, by_stdin, by_signal, killed)] == [False, True, True, True]
