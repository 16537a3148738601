"""Large texts in a line of JSON, read apart from it.

The parser of the standard library is the judge of every line, but it takes long over megabytes of text, which is what
the host's transfers bring. So these are cut out and read by a quicker one, and the rest is judged as a short line. If
the two could differ (half a surrogate pair, bytes that are no UTF-8, a mark in a strange place) the line is read whole.
"""

import secrets
from collections.abc import Mapping
from itertools import pairwise
from typing import cast

import msgspec

from conformance.model import Json, JsonObject

LARGE_BYTES = 1 << 18
"""From this length on a text is treated apart from its message (our choice: that pays off from here on)."""

_BYTES_FOR_A_QUOTE = 1 << 10
"""A line with more quotation marks than one in so many bytes is not cut (our choice: it has small texts)."""

_DECODER = msgspec.json.Decoder(str)
"""Refuses whatever the standard library refuses in a text, and half surrogate pairs too."""


def without_large_texts(line: bytes) -> tuple[bytes, Mapping[str, str]]:
    """A line of JSON with marks in place of its large texts, and what each mark stands for.

    Quotation marks are taken as they come; a text that began or ended at one inside another text shows in `put_back`.
    """
    texts: dict[str, str] = {}
    pieces: list[bytes] = []
    done = 0
    for before, after in pairwise(_quotation_marks(line)):
        if after - before > LARGE_BYTES and (text := _text(line[before : after + 1])) is not None:
            mark = secrets.token_hex(16)
            texts[mark] = text
            pieces += (line[done : before + 1], mark.encode())
            done = after
    return (b"".join((*pieces, line[done:])) if texts else line), texts


def put_back(value: JsonObject, texts: Mapping[str, str]) -> JsonObject | None:
    """The value with its texts. None when one of the marks is not a value of its own, just once."""
    found: list[str] = []
    whole = _filled(value, texts, found)
    return cast("JsonObject", whole) if sorted(found) == sorted(texts) else None


def _quotation_marks(line: bytes) -> list[int]:
    places: list[int] = []
    place = line.find(b'"')
    while place >= 0:
        places.append(place)
        if len(places) > len(line) // _BYTES_FOR_A_QUOTE:
            return []
        place = line.find(b'"', place + 1)
    return places


def _text(quoted: bytes) -> str | None:
    try:
        return _DECODER.decode(quoted)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _filled(value: Json, texts: Mapping[str, str], found: list[str]) -> Json:
    if isinstance(value, str):
        if value in texts:
            found.append(value)
        return texts.get(value, value)
    if isinstance(value, Mapping):
        return {key: _filled(item, texts, found) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, texts, found) for item in value]
    return value
