r"""Cutting a byte stream into lines the way the host does, with bounded memory.

Only the byte ``\n`` ends a line: `str.splitlines` would cut at nine other characters.
"""

from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE_UNITS = 134_217_728
"""Longest line the host reads, in UTF-16 units (contract: protocol.md section 3). Longer ones are dropped."""

KEPT_OF_A_DROPPED_LINE = 4_096
"""Bytes kept of the start of a line that is too long (our choice: enough to see whose answer it was)."""

_CONTINUATIONS = bytes(range(0x80, 0xC0))
_STARTS_OF_FOUR = bytes(range(0xF0, 0x100))


class Line(NamedTuple):  # made for every line: a tuple is made three times as fast as a frozen dataclass
    """One line without its end. `size` is in bytes. `dropped`: it was too long; `data` then holds only its start."""

    data: bytes
    size: int
    dropped: bool = False


def units_of(data: bytes) -> int:
    """UTF-16 units of a piece of UTF-8, cut anywhere: each first byte counts one, those of four-byte characters two."""
    if data.isascii():
        return len(data)
    starts = len(data.translate(None, _CONTINUATIONS))
    return starts + len(data) - len(data.translate(None, _STARTS_OF_FOUR))


class LineCutter:
    """Feed it chunks, get whole lines. Keeps at most one line, and of an endless one only its start."""

    def __init__(self, max_units: int = MAX_LINE_UNITS) -> None:
        self._max_units = max_units
        self._parts: list[bytes] = []
        self._size = 0
        self._units: int | None = None
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield every line that `chunk` completes, in order."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield self._complete(chunk[start:end])
            start = end + 1
        self._hold(chunk[start:] if start else chunk)

    def finish(self) -> Line | None:
        """The unfinished last line at the end of the stream, if there is one."""
        return self._complete(b"") if self._size else None

    def _complete(self, tail: bytes) -> Line:
        if not self._size and len(tail) <= self._max_units:
            return Line(tail, len(tail))
        self._hold(tail)
        line = Line(b"".join(self._parts), self._size, self._dropping)
        self._parts, self._size, self._units, self._dropping = [], 0, None, False
        return line

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._dropping:
            return
        self._parts.append(part)
        if self._size > self._max_units and self._count(part) > self._max_units:
            self._dropping = True
            self._parts = [b"".join(self._start())[:KEPT_OF_A_DROPPED_LINE]]

    def _count(self, newest: bytes) -> int:
        # Counting costs a copy, so it begins only where the number of bytes leaves room for doubt.
        counted = sum(map(units_of, self._parts)) if self._units is None else self._units + units_of(newest)
        self._units = counted
        return counted

    def _start(self) -> Iterator[bytes]:
        size = 0
        for part in self._parts:
            yield part
            size += len(part)
            if size >= KEPT_OF_A_DROPPED_LINE:
                return
