"""The event stream: the one truth of a run, written line by line as it happens, refused when it was touched.

One JSON object a line, ASCII only, compact, `event` and `t` first. The footer is a pure function of the lines
before it, so the reader builds it again and compares bytes: no edit of the file goes unseen. That protects
against accidents and careless hands; who wrote the file is a matter for a signature.
"""

import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self, cast

from conformance.errors import EnvironmentFault, UsageFault
from conformance.model import Json

EVENTS_SCHEMA = "sandbox-provider-conformance/events/1"
"""Names the format. A reader refuses any other name instead of guessing."""

EARLIER_LEASES = "earlier-leases"
"""Kind of the fault event that tells of leases which earlier runs have left."""

RECORD_AGAIN = "Run the kit again to record a new stream."


class EventKind(StrEnum):
    """Every event this version of the kit writes."""

    HEADER = "header"
    DECLARED = "declared"
    ADVERTISED = "advertised"
    CHECK_START = "check-start"
    OBSERVATION = "observation"
    LEASE_OPEN = "lease-open"
    LEASE_CLOSE = "lease-close"
    PACE = "pace"
    FAULT = "fault"
    NOTE = "note"
    CHECK_END = "check-end"
    FOOTER = "footer"


class StreamError(UsageFault):
    """The event stream gives no verdict: it is truncated, damaged, edited or of another format."""

    def __init__(self, problem: str, advice: str = RECORD_AGAIN, *, path: Path | None = None, line: int = 0) -> None:
        where = "The event stream" if path is None else str(path)
        super().__init__(f"{where}{f', line {line}' if line else ''}: {problem}.", advice)
        self.path = path
        self.line = line


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the stream, without its `event` and `t`."""

    kind: str
    """A word of `EventKind`, or one that a newer kit writes: readers pass over those."""
    t: float
    """Seconds since the start of the run."""
    fields: Mapping[str, Json]
    line: int
    """Line number in the file, from 1."""


def _line(event: str, t: float, fields: Mapping[str, Json]) -> bytes:
    text = json.dumps({"event": event, "t": t, **fields}, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


class _Totals:
    """What the footer says about the lines before it; kept alike by the writer and the reader."""

    def __init__(self) -> None:
        self.events = 0
        self.t = 0.0
        self._states = Counter[str]()
        self._sha = sha256()

    def add(self, line: bytes, event: str, t: float, fields: Mapping[str, Json]) -> None:
        self.events += 1
        self.t = t
        self._sha.update(line)
        state = fields.get("state")
        if event == EventKind.CHECK_END and isinstance(state, str):
            self._states[state] += 1

    @property
    def digest(self) -> str:
        return f"sha256:{self._sha.hexdigest()}"

    def footer(self) -> bytes:
        """Build the footer line. It repeats the time of the last event, so that nothing in it is free to edit."""
        states = dict(sorted(self._states.items()))
        return _line(
            EventKind.FOOTER, self.t, {"events": self.events, "states": cast("Json", states), "digest": self.digest}
        )


class EventWriter:
    """Writes a stream; every line is on its way to the disk before `write` returns.

    Leaving the `with` block by an error closes the file without a footer: such a stream gives no verdict.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Start a new file at `path`, over an older one; `clock` gives seconds and never runs backwards."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._clock = clock
        self._start = clock()
        self._totals = _Totals()
        self._file = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()

    @property
    def events(self) -> int:
        """How many lines were written."""
        return self._totals.events

    @property
    def digest(self) -> str:
        """Digest over every byte written so far."""
        return self._totals.digest

    def since_start(self, moment: float) -> float:
        """A moment of the clock as seconds since the start of the run."""
        return round(moment - self._start, 3)

    def write(self, event: str, /, **fields: Json) -> None:
        """Write one event. The header gets its `schema` here; the footer is written by `close` alone.

        Raises `EnvironmentFault` when the file cannot be written; it is closed then, without a footer.
        """
        kind = EventKind(event)
        if kind is EventKind.FOOTER:
            raise ValueError("the footer is written by close()")
        if (kind is EventKind.HEADER) != (self.events == 0):
            raise ValueError(f"a stream starts with its one header: {kind} cannot be line {self.events + 1}")
        if kind is EventKind.HEADER:
            fields = {"schema": EVENTS_SCHEMA, **fields}
        t = round(self._clock() - self._start, 3)
        line = _line(kind, t, fields)
        self._put(line)
        self._totals.add(line, kind, t, fields)

    def close(self) -> None:
        """Write the footer and close the file; a second call does nothing. Raises `EnvironmentFault` as above."""
        if self._file.closed:
            return
        self._put(self._totals.footer())
        self._file.close()

    def _put(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise EnvironmentFault(
                f"{self.path} cannot be written: {error.strerror}.", "Make room, and run again: there is no verdict."
            ) from error


@dataclass(frozen=True, slots=True)
class EventStream:
    """A stream that was read to its end and found whole.

    Iterating reads the file again, line by line, and verifies it again: memory stays flat, and a file that
    changes behind our back is refused in the middle of the loop, before anyone has a verdict.
    """

    path: Path

    def __iter__(self) -> Iterator[Event]:
        try:
            yield from _verified(self.path)
        except OSError as error:
            problem = f"the file cannot be read ({error.strerror or type(error).__name__})"
            raise StreamError(problem, "Give the path of an events.jsonl that a run wrote.", path=self.path) from error


def read_events(path: Path) -> EventStream:
    """Verify the whole file and return it as a stream; raises `StreamError`, with what is wrong and what to do."""
    stream = EventStream(path)
    for _ in stream:
        pass
    return stream


def _verified(path: Path) -> Iterator[Event]:
    totals = _Totals()
    ended = False
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if ended:
                problem = "something follows the footer"
                raise StreamError(problem, "Give the file as the run wrote it.", path=path, line=number)
            event = _parsed(path, number, line)
            if (event.kind == EventKind.HEADER) != (number == 1):
                problem = "the stream does not start with its one header"
                raise StreamError(problem, "Give the file as the run wrote it.", path=path, line=number)
            if number == 1:
                _expect_known_schema(path, event)
            ended = event.kind == EventKind.FOOTER
            if ended:
                _expect_footer(path, event, line, totals)
            else:
                totals.add(line, event.kind, event.t, event.fields)
            yield event
    if not ended:
        problem = "the stream has no footer: the run was cut off, so there is no verdict"
        raise StreamError(problem, path=path, line=totals.events)


def _not_a_number(_: str) -> NoReturn:
    raise ValueError("JSON has no such number")


def _parsed(path: Path, number: int, line: bytes) -> Event:
    if not line.endswith(b"\n"):
        raise StreamError("the line breaks off: the run was cut off, so there is no verdict", path=path, line=number)
    try:
        value = cast("Json", json.loads(line, parse_constant=_not_a_number))
    except (ValueError, RecursionError) as error:
        raise StreamError("the line is not JSON", path=path, line=number) from error
    if not isinstance(value, dict):
        raise StreamError("the line is not a JSON object", path=path, line=number)
    kind, t = value.get("event"), value.get("t")
    if not isinstance(kind, str) or isinstance(t, bool) or not isinstance(t, int | float):
        raise StreamError("the line lacks its event name or its time", path=path, line=number)
    fields = {key: each for key, each in value.items() if key not in {"event", "t"}}
    return Event(kind, t, fields, number)


def _expect_known_schema(path: Path, header: Event) -> None:
    schema = header.fields.get("schema")
    if schema != EVENTS_SCHEMA:
        problem = f"the format is {json.dumps(schema)[:80]}, and this kit reads {EVENTS_SCHEMA}"
        raise StreamError(problem, "Read it with the version of the kit that wrote it.", path=path, line=1)


def _expect_footer(path: Path, footer: Event, line: bytes, totals: _Totals) -> None:
    if line == totals.footer():
        return
    advice = "The file was changed after the run: give it as the run wrote it, or run again."
    if footer.fields.get("events") != totals.events:
        problem = (
            f"the footer counts {json.dumps(footer.fields.get('events'))[:40]} events, the file has {totals.events}"
        )
    elif footer.fields.get("digest") != totals.digest:
        problem = "the digest in the footer does not fit the lines before it"
    else:
        problem = "the footer does not fit the lines before it"
    raise StreamError(problem, advice, path=path, line=footer.line)
