"""Messages as lines: JSON in ASCII, so that no line reader can find a line end inside it."""

import json
import math
import secrets
from collections.abc import Mapping
from typing import cast

from conformance.model import Json, JsonObject

LARGE_CHARACTERS = 1 << 18
"""From this length on a text is looked at before it is encoded (our choice: a look pays off from here on)."""

_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
"""What the host's transfers send by the megabyte, and what JSON writes as it is."""

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
    if not isinstance(value, str) or len(value) < LARGE_CHARACTERS or not value.isascii():
        return None
    data = value.encode()
    return None if data.translate(None, _PLAIN) else data
