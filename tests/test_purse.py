"""Several processes of one run share a budget: who has ended must not keep others waiting."""

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.budget import Budget
from conformance.purse import CLOSING_S, Grant, OverBudget, Purse


def purse(folder: Path, process: int, *, at_once: int = 2, seconds: float = 1000.0) -> Purse:
    return Purse(folder / "purse.sqlite", Budget(leases=10, at_once=at_once, seconds=seconds), process=process)


def id_of_an_ended_process() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def parent() -> int:
    """A process that lives as long as this test."""
    return 1


def test_what_one_process_set_aside_is_missing_to_the_other_until_it_gives_it_back(tmp_path: Path) -> None:
    one, other = purse(tmp_path, parent()), Purse(tmp_path / "purse.sqlite", purse(tmp_path, 0).budget)
    assert one.reserve({"check": (2, 2)})[0] is Grant.YES
    assert other.reserve({"other check": (1, 1)})[0] is Grant.LATER

    one.give_all_back()

    assert other.reserve({"other check": (1, 1)})[0] is Grant.YES


def test_what_a_process_that_ended_had_set_aside_is_free(tmp_path: Path) -> None:
    ended, living = purse(tmp_path, id_of_an_ended_process()), purse(tmp_path, parent())
    ended.reserve({"shared": (2, 2)})

    # The first look finds out that nobody lives who could use them.
    assert [living.reserve({"check": (1, 1)})[0] for _ in range(2)] == [Grant.LATER, Grant.YES]


def test_a_lease_of_a_process_that_ended_takes_up_room(tmp_path: Path) -> None:
    ended, living = purse(tmp_path, id_of_an_ended_process()), purse(tmp_path, parent())
    ended.claim("check", "L1")

    assert living.reserve({"check": (1, 1)})[0] is Grant.YES
    grant, sentence = living.reserve({"check": (2, 2)})
    assert grant is Grant.NEVER
    assert "1 were never confirmed closed" in sentence


def test_only_checks_that_run_count_as_inside(tmp_path: Path) -> None:
    one, other = purse(tmp_path, parent()), purse(tmp_path, id_of_an_ended_process())
    one.reserve({"shared": (1, 1)})
    other.reserve({"a check of an ended process": (1, 1)})
    assert not one.anyone_inside()

    one.reserve({"check": (0, 0)})

    assert one.anyone_inside()


def test_one_that_wants_quiet_waits_for_those_inside_and_lets_nobody_else_in(tmp_path: Path) -> None:
    one = purse(tmp_path, parent(), at_once=9)
    other = Purse(one.path, one.budget)
    other.reserve({"inside": (1, 1), "shared": (1, 1)})
    assert one.reserve({"looks": (1, 1), "shared": (1, 1)}, quiet=True)[0] is Grant.BUSY
    assert other.reserve({"comes late": (1, 1)})[0] is Grant.BUSY

    other.give_back("inside")

    assert one.reserve({"looks": (1, 1), "shared": (1, 1)}, quiet=True)[0] is Grant.YES
    assert other.reserve({"comes late": (1, 1)})[0] is Grant.BUSY
    one.give_back("looks")
    assert other.reserve({"comes late": (1, 1)})[0] is Grant.YES


def test_one_that_wanted_quiet_and_ended_keeps_nobody_out(tmp_path: Path) -> None:
    ended, living = purse(tmp_path, id_of_an_ended_process()), purse(tmp_path, parent())
    ended.reserve({"looks": (1, 1)}, quiet=True)

    assert living.reserve({"check": (1, 1)})[0] is Grant.YES


def test_no_lease_is_asked_for_when_only_the_time_to_close_is_left(tmp_path: Path) -> None:
    mine = purse(tmp_path, parent(), seconds=CLOSING_S)
    mine.claim("check", "L1")

    with pytest.raises(OverBudget, match="--max-lease-seconds"):
        mine.claim("check", "L2")
    assert mine.stopped is not None
    assert mine.spent().opened == 1
