"""Messages as lines: JSON in ASCII, so that no line reader can find a line end inside it."""

import json
import math
import secrets
from collections.abc import Mapping
from typing import cast

import msgspec
import pybase64

from conformance.model import Json, JsonObject

LARGE_BYTES = 1 << 18
"""From this length on a text is looked at before it is encoded (our choice: a look pays off from here on)."""

_LOOKED_AT = 1 << 16
"""Bytes of a text that are looked at together; a multiple of four (our choice: they stay in the processor's cache)."""

_QUICK = msgspec.json.Encoder()
"""Writes what is in ASCII anyway in a tenth of the time."""

_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
"""Made once, because making one costs more than a short message."""


def encode(message: JsonObject) -> bytes:
    """One message. Large plain texts in its params go in as they are: encoding them would take longer than sending."""
    params = message.get("params")
    large = _large_texts(cast("JsonObject", params)) if isinstance(params, dict) else {}
    if not large:
        return _encoded(message)
    marks = {key: secrets.token_hex(16) for key in large}
    line = _encoded({**message, "params": {**cast("JsonObject", params), **marks}})
    for key, mark in marks.items():
        before, _, after = line.partition(mark.encode())
        line = b"".join((before, large[key], after))
    return line


def _encoded(message: JsonObject) -> bytes:
    try:
        line = _QUICK.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError):
        line = None
    if line is not None and line.isascii() and b"\x7f" not in line:
        return line
    try:
        return _ENCODER.encode(message).encode()
    except ValueError:
        return _ENCODER.encode(_as_the_host_writes(message)).encode()


def _as_the_host_writes(value: Json) -> Json:
    """Put null in place of numbers that JSON has no word for, such as one that a worker wrote as 1e400."""
    if isinstance(value, Mapping):
        return {key: _as_the_host_writes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_the_host_writes(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _large_texts(params: JsonObject) -> dict[str, bytes]:
    return {key: plain for key, value in params.items() if (plain := _plain(value)) is not None}


def _plain(value: Json) -> bytes | None:
    if not isinstance(value, str) or len(value) < LARGE_BYTES or not value.isascii():
        return None
    data = value.encode()
    return data if _is_base64(data) else None


def _is_base64(data: bytes) -> bool:
    """Whether JSON writes it as it is. Nothing but base64 is sent by the megabyte, and no other look is as quick."""
    view = memoryview(data)
    try:
        for start in range(0, len(data), _LOOKED_AT):
            pybase64.b64decode(view[start : start + _LOOKED_AT], validate=True)
    except ValueError:
        return False
    return True
