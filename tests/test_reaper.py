"""A run that ends in any way leaves no sandbox that its ledger knows, no process and no directory behind."""

import json
import os
import random
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from .killing import Running, expect_clean, in_the_middle_of, lines_of_conversation, made_but_not_told, start

LEASES = ("-k", "LEASE")
"""Checks that make and end many leases."""

LASTING = "lasting_provider.py"
EARLY, LATE = 10, 1500
"""Lines of the conversation between which most leases are made and ended."""


def moments(seed: int, count: int, first: int, last: int) -> list[int]:
    """Numbers of lines, or of calls, that can be chosen again."""
    return [random.Random(f"{seed}/{each}").randint(first, last) for each in range(count)]  # noqa: S311


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A handful of moments, or as many as the issue of a killed run asks for."""
    many = bool(metafunc.config.getoption("end_runs_at_many_moments"))
    plans = {
        "killed_at": moments(1, 30, 1, LATE) if many else moments(1, 1, EARLY, 400),
        "killed_in_acquire": moments(2, 10, 1, 12) if many else [2],
        "killed_in_destroy": moments(3, 10, 1, 8) if many else [1],
        "interrupted_at": moments(4, 20, 1, LATE) if many else [60],
    }
    for name, values in plans.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, list(enumerate(values)), ids=[str(value) for value in values])


def call(number: int, method: str) -> tuple[Any, Any]:
    """Moments of the `number`-th call of a method: when so many were sent, and that it is not answered yet."""

    def sent(running: Running) -> bool:
        path = running.report / "transcript.jsonl"
        return path.exists() and path.read_bytes().count(f'"method":"{method}"'.encode()) >= number

    return sent, in_the_middle_of(method)


def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path, killed_at: tuple[int, int]) -> None:
    running = start(tmp_path)
    assert running.until(lambda run: lines_of_conversation(run) >= killed_at[1])

    running.end(signal.SIGKILL)

    assert running.accounts[0].workers != []
    assert expect_clean(running) <= running.calls_at_once


def test_parallel_processes_that_lose_the_main_one_leave_nothing(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES, "-n", "2")
    assert running.until(lambda run: sum(bool(account.entries) for account in run.accounts) == 2)

    running.end(signal.SIGKILL)

    assert sorted(str(account.header["shard"]) for account in running.accounts) == ["1", "2"]
    assert expect_clean(running) <= running.calls_at_once


def test_a_run_that_is_killed_in_the_middle_of_an_acquire_tells_of_it(
    tmp_path: Path, killed_in_acquire: tuple[int, int]
) -> None:
    running = start(tmp_path, *LEASES, provider=LASTING, delayMs=400)
    sent, _ = call(killed_in_acquire[1], "environmentAcquireLease")
    assert running.until(lambda run: sent(run) and made_but_not_told(run))

    running.end(signal.SIGKILL)

    assert 1 <= len(running.sandboxes) <= expect_clean(running)


def test_a_run_that_is_killed_in_the_middle_of_a_destroy_leaves_nothing(
    tmp_path: Path, killed_in_destroy: tuple[int, int]
) -> None:
    running = start(tmp_path, *LEASES, provider=LASTING, delayMs=400)
    sent, under_way = call(killed_in_destroy[1], "environmentDestroyLease")
    assert running.until(lambda run: sent(run) and under_way(run))

    running.end(signal.SIGKILL)

    assert expect_clean(running) <= running.calls_at_once


def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, interrupted_at: tuple[int, int]) -> None:
    running = start(tmp_path)
    assert running.until(lambda run: lines_of_conversation(run) >= interrupted_at[1])

    running.end(signal.SIGINT)

    assert running.process.returncode == 2
    assert expect_clean(running) <= running.calls_at_once


def test_a_run_that_is_told_to_end_leaves_nothing_although_its_worker_hears_nothing_any_more(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES)
    assert running.until(lambda run: lines_of_conversation(run) >= 20)
    for number, _ in running.accounts[0].workers:
        os.kill(number, signal.SIGSTOP)

    running.end(signal.SIGTERM)

    assert expect_clean(running) <= running.calls_at_once


def test_a_worker_that_dies_with_leases_open_leaves_nothing(tmp_path: Path) -> None:
    running = start(tmp_path, "-k", "LEASE-001 or LEASE-014", provider=LASTING, delayMs=300)
    assert running.until(made_but_not_told)
    os.kill(running.accounts[0].workers[0][0], signal.SIGKILL)

    running.process.wait()
    running.settle()

    unknown = expect_clean(running)
    assert unknown >= 1
    report: Any = json.loads((running.report / "certification.json").read_text(encoding="utf-8"))
    assert report["leases"]["unknown"] == unknown
    assert f"Leases never confirmed closed: {unknown}" in running.output


def test_the_next_run_tells_of_what_is_still_unknown(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES, provider=LASTING, delayMs=300)
    assert running.until(made_but_not_told)
    running.end(signal.SIGKILL)
    unknown = expect_clean(running)

    again = start(tmp_path, "-k", "MAN-001")
    again.process.wait()

    assert f"Earlier runs left {unknown} lease" in again.output
    assert "provider-conformance reap" in again.output
    report: Any = json.loads((again.report / "certification.json").read_text(encoding="utf-8"))
    assert [fault["kind"] for fault in report["faults"]] == ["earlier-leases"]


def test_a_disk_that_fills_up_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    running = start(tmp_path)
    assert running.until(lambda run: lines_of_conversation(run) >= 60)
    size = (running.report / "transcript.jsonl").stat().st_size
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (size, size))

    running.process.wait()
    running.settle()

    assert running.process.returncode == 23, running.output
    assert "cannot be written: File too large. Make room" in running.output
    assert "Traceback" not in running.output
    assert expect_clean(running) == 0
