"""The kernel's own notes about a directory: Linux tells at once that a file came, changed or got another mode."""

import contextlib
import ctypes
import os
import select
import struct
import sys
from collections.abc import Generator
from pathlib import Path

_ATTRIBUTES, _CREATED, _MOVED_TO, _OPENED, _MODIFIED = 0x4, 0x100, 0x80, 0x20, 0x2
_WATCHED = _ATTRIBUTES | _CREATED | _MOVED_TO | _OPENED | _MODIFIED
_HEAD = struct.Struct("iIII")
_READ_BYTES = 1 << 16


class Notes:
    """An open watch of one directory."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def names(self, seconds: float) -> set[str]:
        """The names in the directory that something happened to; waits so long for the first."""
        ready, _, _ = select.select((self.descriptor,), (), (), seconds)
        if not ready:
            return set()
        data, place, found = os.read(self.descriptor, _READ_BYTES), 0, set[str]()
        while place < len(data):
            *_, length = _HEAD.unpack_from(data, place)
            name = data[place + _HEAD.size : place + _HEAD.size + length].rstrip(b"\0")
            place += _HEAD.size + length
            if name:
                found.add(os.fsdecode(name))
        return found


@contextlib.contextmanager
def notes_about(folder: Path) -> Generator[Notes | None]:
    """Watch a directory; None where the system has no such thing, or has no watch to spare."""
    descriptor = _open(folder)
    try:
        yield None if descriptor is None else Notes(descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(folder: Path) -> int | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor: int = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if descriptor < 0:
            return None
        if libc.inotify_add_watch(descriptor, os.fsencode(folder), ctypes.c_uint32(_WATCHED)) < 0:
            os.close(descriptor)
            return None
    except (OSError, AttributeError):
        return None
    return descriptor
