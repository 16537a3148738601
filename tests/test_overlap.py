"""Steps for commands that overlap: what they wait for, and that nothing is left behind."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from conformance.overlap import GAVE_UP, a_while_for_file, kept_open, side_by_side, until_file


def ended(script: str) -> int:
    return subprocess.run(["/bin/sh", "-c", script], check=False).returncode


def test_a_script_goes_on_when_the_file_is_there(tmp_path: Path) -> None:
    path = tmp_path / "it's here"
    path.touch()

    assert ended(f"{until_file(str(path), 60)}; exit 3") == 3
    assert ended(f"{a_while_for_file(str(path), 60)}; exit 3") == 3


def test_a_script_gives_up_or_goes_on_when_the_file_never_comes(tmp_path: Path) -> None:
    path = str(tmp_path / "never")

    assert ended(f"{until_file(path, 0.1)}; exit 3") == GAVE_UP
    assert ended(f"{a_while_for_file(path, 0.1)}; exit 3") == 3


@pytest.mark.asyncio
async def test_a_call_is_sent_before_the_block_and_ended_after_it() -> None:
    told: list[str] = []
    go = asyncio.Event()

    async def call() -> str:
        told.append("sent")
        await go.wait()
        return "answer"

    async with kept_open(call()) as task:
        told.append("block")
        assert not task.done()
        go.set()

    assert told == ["sent", "block"]
    assert task.result() == "answer"


@pytest.mark.asyncio
async def test_the_end_of_a_call_is_awaited_when_the_block_fails() -> None:
    ends: list[str] = []

    async def call() -> None:
        await asyncio.sleep(0.01)
        ends.append("ended")

    with pytest.raises(LookupError):
        async with kept_open(call()):
            raise LookupError

    assert ends == ["ended"]


@pytest.mark.asyncio
async def test_one_failure_does_not_leave_the_others_alone() -> None:
    ends: list[int] = []

    async def call(number: int) -> int:
        await asyncio.sleep(0.01 * number)
        ends.append(number)
        if number == 1:
            raise LookupError
        return number

    assert await side_by_side(call(2), call(3)) == [2, 3]
    ends.clear()
    with pytest.raises(LookupError):
        await side_by_side(call(1), call(2))
    assert ends == [1, 2]
