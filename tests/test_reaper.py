"""A run that ends in any way leaves no sandbox that its ledger knows, no process and no directory behind."""

import os
import random
import signal
from pathlib import Path

import pytest

from .killing import expect_clean, in_the_middle_of, lines_of_conversation, made_but_not_told, start

LEASES = ("-k", "LEASE")
"""Checks that make and end many leases."""

MOMENTS = [random.Random(seed).randrange(10, 400) for seed in range(3)]  # noqa: S311 - moments that can be repeated
LONG_MOMENTS = [random.Random(seed).randrange(1, 3000) for seed in range(3, 53)]  # noqa: S311 - same


@pytest.mark.parametrize("lines", MOMENTS)
def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path, lines: int) -> None:
    running = start(tmp_path, *LEASES)
    assert running.until(lambda run: lines_of_conversation(run) >= lines)

    running.end(signal.SIGKILL)

    assert running.accounts[0].entries != {}
    assert expect_clean(running) <= 1


def test_a_run_that_is_killed_in_the_middle_of_an_acquire_tells_of_it(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES, provider="lasting_provider.py", delayMs=400)
    assert running.until(lambda run: lines_of_conversation(run) >= 40 and made_but_not_told(run))

    running.end(signal.SIGKILL)

    assert expect_clean(running) == 1
    assert len(running.sandboxes) == 1


def test_a_run_that_is_killed_in_the_middle_of_a_destroy_leaves_nothing(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES, provider="lasting_provider.py", delayMs=400)
    assert running.until(in_the_middle_of("environmentDestroyLease"))

    running.end(signal.SIGKILL)

    assert expect_clean(running) == 0
    assert running.sandboxes == set()


def test_a_worker_that_hears_nothing_any_more_is_killed_after_the_run(tmp_path: Path) -> None:
    running = start(tmp_path, *LEASES)
    assert running.until(lambda run: lines_of_conversation(run) >= 20)
    for number, _ in running.accounts[0].workers:
        os.kill(number, signal.SIGSTOP)

    running.end(signal.SIGKILL)

    assert expect_clean(running) <= 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    running = start(tmp_path, *LEASES)
    assert running.until(lambda run: lines_of_conversation(run) >= 30)

    running.end(number)

    assert expect_clean(running) <= 1
