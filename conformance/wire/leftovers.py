"""Processes that outlived the kit: told from others that got their number later, and ended with their whole group."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

END_LIMIT_S = 10.0
"""How long the end of killed processes is awaited (our choice: only one stuck in the kernel takes longer)."""

_LOOK_AGAIN_S = 0.02
"""Pause between two looks at processes that are no children of ours, so that nothing tells of their end."""

_PROC = Path("/proc")
_STATE, _PARENT, _START = 0, 1, 19
"""Places in ``/proc/PID/stat`` behind the name: state, parent, start in ticks since the machine started."""


def start_of(process_id: int) -> str | None:
    """When a process started, in words that only this machine understands; None when there is none, or only a zombie.

    Two processes with one number never have one start.
    """
    if _PROC.joinpath("self", "stat").exists():
        found = _stat(process_id)
        return None if found is None or found[_STATE] == "Z" else found[_START]
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(process_id)], stdout=subprocess.PIPE, text=True, check=False
    )
    return done.stdout.strip() or None


def this_boot() -> str:
    """Names the machine since it last started: process numbers mean something only there."""
    try:
        return _PROC.joinpath("sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return os.uname().nodename


def end_workers(workers: Iterable[tuple[int, str]]) -> None:
    """Kill the process groups of workers, each given by number and start, and wait until the leaders are gone."""
    ours = [(number, start) for number, start in workers if start_of(number) == start]
    for number, _ in ours:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(number, signal.SIGKILL)
    deadline = time.monotonic() + END_LIMIT_S
    while any(start_of(number) == start for number, start in ours) and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_S)


def end_orphans(folder: Path) -> None:
    """Kill every process that works below `folder` and has lost its parent as this process has.

    Only those: somebody may have gone there to look around.
    """
    deadline = time.monotonic() + END_LIMIT_S
    while (found := list(_orphans_below(folder))) and time.monotonic() < deadline:
        for number in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)


def _orphans_below(folder: Path) -> Iterator[int]:
    # Whoever takes in the children of a dead process has taken in this one too.
    guardian = str(os.getppid())
    place = folder.resolve()
    for number in (int(entry.name) for entry in _PROC.glob("[0-9]*")):
        found = _stat(number)
        if number == os.getpid() or found is None or found[_STATE] == "Z" or found[_PARENT] != guardian:
            continue
        with contextlib.suppress(OSError):
            works_in = _PROC.joinpath(str(number), "cwd").readlink()
            if works_in.is_relative_to(place):
                yield number


def _stat(process_id: int) -> list[str] | None:
    try:
        text = _PROC.joinpath(str(process_id), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in brackets may itself hold brackets and spaces.
    return text.rpartition(")")[2].split()
