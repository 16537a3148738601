"""Every line in both directions, numbered, timed and written to disk as it happens."""

import contextlib
import json
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from conformance.model import FrameNumber, Json
from conformance.redact import Leak, Redactor

KEPT_BYTES = 65_536
"""Longest line that is kept whole, in bytes (our choice: a transcript must stay readable)."""

KEPT_OF_A_LONG_LINE = 2_048
"""What is kept of a longer line, in bytes (our choice)."""


class Direction(StrEnum):
    """Who wrote a line, and on which pipe."""

    TO_WORKER = "host->worker"
    TO_HOST = "worker->host"
    STDERR = "stderr"
    NOTE = "note"


class Frame(NamedTuple):  # made for every line: a tuple is made three times as fast as a frozen dataclass
    """One recorded line. `data` is its start when `size` (bytes, newline not counted) is over the kept length."""

    number: FrameNumber
    worker: int
    direction: Direction
    seconds: float
    size: int
    data: bytes

    @property
    def whole(self) -> bool:
        """Whether `data` is the complete line."""
        return len(self.data) == self.size


class FrameLeak(NamedTuple):
    """A secret in one line of a worker. `place` in it is a JSON pointer into the message; empty in text."""

    frame: Frame
    leak: Leak


class Transcript:
    """The record of one kit process. Numbers start after `first`, so that parallel kit processes never collide.

    `redactor` keeps secrets out of the file; `frames` are as they came, so that checks can find them there.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        first: int = 0,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.frames: list[Frame] = []
        self.redactor = Redactor() if redactor is None else redactor
        self._next = first
        self._clock = clock
        self._start = clock()
        self.failure: OSError | None = None
        """Why the file could not be written any more; frames are still kept."""
        self._file: IO[str] | None = path.open("w", encoding="utf-8") if path is not None else None

    def add(self, worker: int, direction: Direction, data: bytes, size: int | None = None) -> FrameNumber:
        """Record one line; `size` is given when `data` is already only its start."""
        self._next += 1
        number = FrameNumber(self._next)
        length = len(data) if size is None else size
        kept = data if length <= KEPT_BYTES else data[:KEPT_OF_A_LONG_LINE]
        frame = Frame(number, worker, direction, self._clock() - self._start, length, kept)
        self.frames.append(frame)
        if self._file is not None:
            try:
                self._file.write(_as_json(frame, self.redactor) + "\n")
                self._file.flush()
            except OSError as error:
                # The conversation goes on: what is open must still be closed.
                self.failure = error
                self.close()
        return number

    def since(self, number: FrameNumber | int) -> list[Frame]:
        """Frames recorded after `number`."""
        for index in range(len(self.frames), 0, -1):
            if self.frames[index - 1].number <= number:
                return self.frames[index:]
        return list(self.frames)

    def leaks(self, number: FrameNumber | int = 0) -> list[FrameLeak]:
        """Every secret of the redactor that a worker let out after frame `number`, on stdout or stderr."""
        said = (frame for frame in self.since(number) if frame.direction in {Direction.TO_HOST, Direction.STDERR})
        return [
            FrameLeak(frame, leak)
            for frame in said
            for key, value in _readable(frame)[0].items()
            if key in _SAID
            for leak in self.redactor.leaks(value)
        ]

    @property
    def last(self) -> FrameNumber:
        """Number of the newest frame."""
        return FrameNumber(self._next)

    def close(self) -> None:
        """Close the file; frames stay readable."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self.failure = error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _as_json(frame: Frame, redactor: Redactor) -> str:
    line, text = _readable(frame)
    if not redactor.sees(text):
        return text
    # In the values and not in the text: a backslash in front of a secret belongs to JSON.
    hidden = {key: redactor.json(value) if key in _SAID else value for key, value in line.items()}
    return _ENCODER.encode(hidden)


def _readable(frame: Frame) -> tuple[dict[str, Json], str]:
    """Give the line of the file as a value and as text."""
    # What is no JSON, such as NaN, must not make the transcript none either.
    with contextlib.suppress(ValueError, RecursionError):
        line = _line(frame, parsed=frame.whole and frame.direction in {Direction.TO_HOST, Direction.TO_WORKER})
        return line, _ENCODER.encode(line)
    line = _line(frame, parsed=False)
    return line, _ENCODER.encode(line)


def _line(frame: Frame, *, parsed: bool) -> dict[str, Json]:
    line: dict[str, Json] = {
        "frame": frame.number,
        "t": round(frame.seconds, 6),
        "worker": frame.worker,
        "dir": frame.direction,
        "bytes": frame.size,
    }
    text = frame.data.decode("utf-8", "backslashreplace")
    if not frame.whole:
        return {**line, "cut": text}
    return {**line, "msg": json.loads(text)} if parsed else {**line, "text": text}


_SAID = frozenset({"cut", "msg", "text"})

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
