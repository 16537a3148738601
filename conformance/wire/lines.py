r"""Cutting a byte stream into lines the way the host does, with bounded memory.

Only the byte ``\n`` ends a line: `str.splitlines` would cut at nine other characters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_UNITS = 134_217_728
"""Longest line the host reads, in UTF-16 units (contract: protocol.md section 3). Longer ones are dropped."""

# One UTF-16 unit is at most three bytes of UTF-8, so a line with more bytes is too long in any case.
_MAX_LINE_BYTES = 3 * MAX_LINE_UNITS


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `dropped`: it was too long; `data` then holds only its first bytes."""

    data: bytes
    size: int
    dropped: bool = False
    ended: bool = True


def utf16_units(text: str) -> int:
    """Length of `text` as JavaScript counts it."""
    return len(text) + sum(1 for character in text if character > "\uffff") if not text.isascii() else len(text)


class LineCutter:
    """Feed it chunks, get whole lines. Keeps at most one line, and of an endless one only its start."""

    _KEPT_OF_A_DROPPED_LINE = 4_096

    def __init__(self, max_bytes: int = _MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._overflow = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield every line that `chunk` completes, in order."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            yield self._complete(chunk[start:end])
            start = end + 1
        rest = chunk[start:] if start else chunk
        if rest:
            self._hold(rest)

    def finish(self) -> Line | None:
        """The unfinished last line at end of stream, if there is one."""
        if not self._held and not self._overflow:
            return None
        line = self._complete(b"")
        return Line(line.data, line.size, line.dropped, ended=False)

    def _complete(self, tail: bytes) -> Line:
        if self._overflow or self._held + len(tail) > self._max_bytes:
            self._hold(tail)
            start = b"".join(self._parts)[: self._KEPT_OF_A_DROPPED_LINE]
            line = Line(start, self._held + self._overflow, dropped=True)
        elif self._parts:
            self._parts.append(tail)
            data = b"".join(self._parts)
            line = Line(data, len(data))
        else:
            line = Line(tail, len(tail))
        self._parts, self._held, self._overflow = [], 0, 0
        return line

    def _hold(self, part: bytes) -> None:
        if self._overflow or self._held + len(part) > self._max_bytes:
            self._overflow += len(part)
            self._parts = [
                b"".join(self._parts)[: self._KEPT_OF_A_DROPPED_LINE] or part[: self._KEPT_OF_A_DROPPED_LINE]
            ]
            return
        self._parts.append(part)
        self._held += len(part)
