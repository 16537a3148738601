"""Excerpts of the transcript: the lines that checks point at, made fit to show, read in one pass with flat memory."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from conformance.model import Json, JsonObject, object_of
from conformance.reports.sanitize import clean

BODY_LIMIT: Final = 1_600
"""Characters kept of one line, our choice: a request with its params fits, a file that was synced does not."""

_NUMBER: Final = re.compile(rb'\{"frame":(\d{1,15}),')
"""How the writer starts a line; everything else about a line is only read when it is wanted."""


@dataclass(frozen=True, slots=True)
class FrameExcerpt:
    """One line of the conversation. Nothing protects a transcript: it helps to understand, and proves nothing."""

    number: int
    direction: str
    seconds: float
    size: int
    """Bytes of the whole line."""
    text: str


def read_frames(path: Path, wanted: Collection[int]) -> dict[int, FrameExcerpt]:
    """Read the wanted lines of a transcript; lines that make no sense are passed over. A missing file has none."""
    if not wanted or not path.is_file():
        return {}
    with path.open("rb") as file:
        return {each.number: each for each in _excerpts(file, frozenset(wanted))}


def _excerpts(lines: Iterator[bytes], wanted: frozenset[int]) -> Iterator[FrameExcerpt]:
    for line in lines:
        start = _NUMBER.match(line)
        if start is None or int(start[1]) not in wanted:
            continue
        try:
            excerpt = _excerpt(int(start[1]), object_of(cast("Json", json.loads(line))))
        except (ValueError, RecursionError):
            continue
        yield excerpt


def _excerpt(number: int, value: JsonObject) -> FrameExcerpt:
    seconds, size, direction = value.get("t"), value.get("bytes"), value.get("dir")
    return FrameExcerpt(
        number=number,
        direction=clean(direction, 40) if isinstance(direction, str) else "",
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        size=size if isinstance(size, int) else 0,
        text=clean(_body(value), BODY_LIMIT),
    )


def _body(value: JsonObject) -> str:
    message = value.get("msg")
    if isinstance(message, Mapping):
        return json.dumps(message, ensure_ascii=False, indent=2)
    for key in ("text", "cut"):
        text = value.get(key)
        if isinstance(text, str):
            return text
    return json.dumps(message, ensure_ascii=False)
