"""The run's side of its reaper: started before anything can be opened, let go at the end."""

import contextlib
import fcntl
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

from conformance.errors import EnvironmentFault
from conformance.reaper import DONE
from conformance.settings import Settings

END_LIMIT_S = 10.0
"""How long the end of a reaper that has nothing to do is awaited (our choice: it takes some hundredths)."""

_LOOK_AGAIN_S = 0.05
"""Pause between two tries to get a lock."""


class Guard:
    """The reaper of this process. Raises `EnvironmentFault` when it cannot be started.

    `kept` is a directory of another process that the reaper may need; it stays locked as long as the reaper lives.
    """

    def __init__(self, ledger: Path, work: Path, settings: Settings, kept: Path | None = None) -> None:
        places = [str(ledger), str(work), *([str(kept)] if kept is not None else [])]
        try:
            # Nothing of it may hold a pipe of ours open, so that whoever reads our output sees its end with ours.
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "conformance.reaper", *places],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
            self._write(pickle.dumps(settings))
        except OSError as error:
            raise EnvironmentFault(
                f"The process that cleans up after the run cannot be started: {error.strerror}.",
                "Without it a run that is killed would leave sandboxes behind, so nothing was started.",
            ) from error

    def let_go(self, *, done: bool) -> None:
        """Tell the reaper that the run is over. When all is `done`, it ends at once, and that is awaited."""
        if self._child.stdin is None or self._child.stdin.closed:
            return
        with contextlib.suppress(BrokenPipeError):
            if done:
                self._write(DONE)
            self._child.stdin.close()
        if done:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(END_LIMIT_S)
                return
        # It outlives us on purpose, and Popen would warn of a child that still runs.
        self._child.returncode = 0

    def _write(self, data: bytes) -> None:
        pipe = self._child.stdin
        left = memoryview(data)
        while pipe is not None and left:
            left = left[pipe.write(left) or 0 :]


@contextlib.contextmanager
def sole_user(folder: Path, *, wait_s: float) -> Generator[bool]:
    """Whether nobody else holds `folder`, asked for at most `wait_s`; held until the end of the block."""
    descriptor = os.open(folder, os.O_RDONLY)
    deadline = time.monotonic() + wait_s
    try:
        while not _locked(descriptor):
            if time.monotonic() >= deadline:
                yield False
                return
            time.sleep(_LOOK_AGAIN_S)
        yield True
    finally:
        os.close(descriptor)


def remove_work(work: Path, *, wait_s: float = 0.0) -> None:
    """Remove the directory of a run, unless the reaper of another process still needs it."""
    with contextlib.suppress(FileNotFoundError), sole_user(work, wait_s=wait_s) as alone:
        if alone:
            shutil.rmtree(work, ignore_errors=True)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
