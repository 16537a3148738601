"""Real pytest runs in a directory of their own, the way a user starts them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN_LIMIT_S = 300
"""Backstop for one run; it is reached only when something hangs."""

END_LIMIT_S = 30
"""How long a killed process, or one that closes what a run left, may still be there on a busy machine."""


@dataclass(frozen=True)
class Finished:
    """A run that ended: exit code and everything it printed."""

    code: int
    output: str
    folder: Path

    @property
    def report(self) -> Path:
        """The folder of the report."""
        return self.folder / "conformance-report"

    @property
    def leftovers(self) -> list[str]:
        """What the run left in its private temporary directory, apart from the folder that pytest keeps for itself."""
        names = (path.name for path in (self.folder / "tmp").iterdir())
        return sorted(name for name in names if not name.startswith("pytest-of-"))


def environment_for(folder: Path) -> dict[str, str]:
    """The environment of a run: its own empty HOME and temporary directory."""
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    return {
        **inherited,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONSAFEPATH": "1",
        "COLUMNS": "100",
    }


def hear_interrupts() -> None:
    """For a new process: what a shell starts in the background is deaf to SIGINT, and so is all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def processes_of(folder: Path, *, limit_s: float = END_LIMIT_S) -> list[str]:
    """Command lines of processes that were started for something in `folder`, or work there, and do not end.

    One that was just killed is still in the process table for a moment; others may need up to `limit_s`.
    """
    deadline = time.monotonic() + limit_s
    while (found := _living(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _living(folder: Path) -> list[str]:
    marker, found = str(folder).encode(), list[str]()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            place = os.fsencode((entry / "cwd").readlink())
            around = (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker in command + b"\0" + place + b"\0" + around:
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def run_pytest(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
    """Run pytest in `folder` with the kit installed; `environment` is added to that of the run."""
    return run_module(folder, "pytest", *arguments, environment=environment)


def run_module(folder: Path, module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
    """Run a module of this Python in `folder`."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**environment_for(folder), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    return Finished(done.returncode, done.stdout, folder)
