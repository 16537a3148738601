"""Looking at a directory of the host all the time while somebody else works in it."""

import contextlib
import os
import stat
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

PAUSE_S = 0.0002
"""Between two looks (our choice: a file of some MiB takes longer to be written)."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""Permission bits of everybody but the owner."""


@dataclass
class ModeWatch:
    """Files that others could have read at some moment, with the mode they had then. `looks` counts the looks."""

    folder: Path
    looks: int = 0
    wide: dict[str, int] = field(default_factory=dict[str, int])

    def look(self) -> None:
        """Note every file that is open to others now."""
        self.looks += 1
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISREG(mode) and mode & OTHERS:
                        self.wide[entry.name] = stat.S_IMODE(mode)


@contextlib.contextmanager
def watching_modes(folder: Path) -> Generator[ModeWatch]:
    """Watch the files of a directory, drafts among them, until the block ends."""
    watch, end = ModeWatch(folder), threading.Event()

    def run() -> None:
        while not end.wait(PAUSE_S):
            watch.look()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        end.set()
        thread.join()
