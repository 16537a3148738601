"""The reaper of one run: ``python -m conformance.reaper LEDGER WORK [KEEP]``. It is started by the run alone.

Its stdin is a pipe whose other end the run holds. It carries the settings, secrets among them, so that they touch no
disk; its end means that the run is gone, in whatever way. Until then next to nothing of the kit is loaded.
"""

import fcntl
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.reaper import DONE

LIMIT_S = 900.0
"""How long the reaper may live after its run (our choice: what cannot be closed in a quarter of an hour stays open)."""

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
"""Whoever ends the run with these wants it cleaned up."""


def main(arguments: list[str]) -> int:
    """Wait for the end of the run, then clean up after it."""
    for number in IGNORED:
        # A handler, unlike an ignored signal, is not passed on to the workers that will be started.
        signal.signal(number, _take_no_notice)
    ledger, work, *kept = map(Path, arguments)
    for folder in kept:
        # What the main process has unpacked stays while this process may need it. Held until this process ends.
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
    job = sys.stdin.buffer.read()
    if job.endswith(DONE):
        return 0
    watchdog = threading.Timer(LIMIT_S, os._exit, [1])
    watchdog.daemon = True
    watchdog.start()
    after: Any = import_module("conformance.reaper.after")
    after.clean_up(ledger, work, job)
    return 0


def _take_no_notice(number: int, frame: object) -> None:
    del number, frame


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
