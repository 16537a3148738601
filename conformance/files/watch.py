"""Looking at a directory of the host all the time while somebody else works in it."""

import contextlib
import os
import stat
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from conformance.files.inotify import notes_about

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
        with contextlib.suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                self.look_at(path.name)

    def look_at(self, name: str) -> None:
        """Note one file if it is open to others now."""
        with contextlib.suppress(FileNotFoundError):
            mode = os.lstat(self.folder / name).st_mode
            if stat.S_ISREG(mode) and mode & OTHERS:
                self.wide[name] = stat.S_IMODE(mode)


@contextlib.contextmanager
def watching_modes(folder: Path) -> Generator[ModeWatch]:
    """Watch the files of a directory, drafts among them, until the block ends.

    Where the kernel tells what happens in it, each file is looked at the moment it is touched; elsewhere, and beside
    that, all of them are looked at again and again.
    """
    watch, end = ModeWatch(folder), threading.Event()
    with notes_about(folder) as notes:

        def run() -> None:
            while not end.is_set():
                if notes is None:
                    time.sleep(PAUSE_S)
                else:
                    for name in notes.names(PAUSE_S):
                        watch.look_at(name)
                watch.look()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield watch
        finally:
            end.set()
            thread.join()
