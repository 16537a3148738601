"""What a long run shows: on a terminal one live line, elsewhere a line now and then, and no thread is left."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

from conformance.budget import Budget, Rate
from conformance.model import Cost
from conformance.progress import Estimate, LiveFile, Progress, line
from conformance.purse import Running, Spent

from .counting import counting
from .running import environment_for, run_pytest

KEYWORD = "LEASE-001 or LEASE-020 or EXEC-003"


def test_the_line_says_what_runs_what_it_waits_for_what_is_spent_and_what_is_left() -> None:
    estimate = Estimate({"a": Cost.OWN, "b": Cost.OWN, "c": Cost.OWN, "d": Cost.OWN, "e": Cost.LONG}, started=0.0)
    for item in "abc":
        estimate.ended(item, 20.0)

    text = line(
        estimate,
        [Running("it_acquires", 0.0), Running("it_waits", 1.0)],
        {"it_acquires": "environmentAcquireLease"},
        Spent(opened=5, open=2, lost=0, seconds=1800.0),
        Budget(rate=Rate(0.5, "EUR")),
    )

    assert text.startswith("3 of 5 | it_acquires (environmentAcquireLease, ")
    assert "it_waits (" in text
    assert "2 leases open, 5 of 200 opened, 1800 lease-seconds (0.25 EUR)" in text
    # One more of those that took 20 s, and a long one of which nothing is known.
    assert text.endswith("| about 0:30 left")


def test_the_live_line_stands_below_whatever_is_written() -> None:
    file = io.StringIO()
    live = LiveFile(file, file, lambda: 3)

    live.write("...")
    live.show("now")
    live.write("F")
    live.show("")

    away = "\r\x1b[2K\x1b[1A\x1b[4G"
    assert file.getvalue() == f"...\nnow{away}F\nnow{away}"


def test_no_thread_is_left_behind() -> None:
    told = threading.Event()
    progress = Progress(told.set, every_s=0.01)

    progress.start()
    assert told.wait(10)
    progress.stop()
    progress.stop()

    assert "conformance-progress" not in {thread.name for thread in threading.enumerate()}


def test_a_run_without_a_terminal_says_now_and_then_what_it_is_doing(tmp_path: Path) -> None:
    slow = counting(tmp_path, call=0.3)

    for number, more in enumerate([("-q",), ("-n", "1")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = run_pytest(folder, *slow, "-k", KEYWORD, "--conformance-progress", "0.2", *more)

        lines = re.findall(r"^\d+ of \d+ \| .*$", run.output, re.MULTILINE)
        assert any(re.search(r"\w+ \(.*\d+ s\)", each) for each in lines), run.output
        assert all("leases open" in each and "left" in each for each in lines)


def test_on_a_terminal_there_is_one_live_line(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *counting(tmp_path, call=0.3), "-k", KEYWORD],
        cwd=tmp_path,
        env={**environment_for(tmp_path), "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    seen = b""
    while piece := _read(ours):
        seen += piece
    os.close(ours)

    assert process.wait(60) == 20
    text = seen.decode()
    shown = re.findall(r"\n(\d+ of \d+ \|[^\r\n\x1b]*)", text)
    assert shown
    assert max(map(len, shown)) < 100
    # Each is taken away before anything else is written.
    assert text.count("\x1b[2K\x1b[1A") == len(shown)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        # The other end is closed.
        return b""
