"""What one line of a worker is, told by its shape alone, in the host's order (protocol.md sections 3 and 4)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias, cast

import msgspec

from conformance.model import Json, JsonObject, RequirementId, items_of, object_of

SHOWN = 120
"""Characters of a bad line that a person gets to see (our choice; the transcript has the rest)."""

SEARCHED = 1 << 20
"""Longest line, in characters, that is searched for a message inside other text (our choice: the search is slow)."""

MOST_STARTS = 64
"""Places in such a line at which a message may begin (our choice)."""

DEEPEST = 400
"""Levels of nesting that are read (our choice: JSON leaves the limit to its readers, and Python's is near 1,000)."""

COUNTED = 1 << 16
"""Longest line, in bytes, whose brackets are counted (our choice: few values take less time than more text)."""

MOST_VALUES = 1_000
"""Values of a longer one that are looked at (our choice: more of them take longer than reading the line twice)."""

_WHITE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
"""What the host trims off a line: the white space of JavaScript, a byte order mark included."""


class Shape(StrEnum):
    """What a message is to the host."""

    ANSWER = "answer"
    REQUEST = "request"
    NOTIFICATION = "notification"


class Message(NamedTuple):  # made for every line: a tuple is made three times as fast as a frozen dataclass
    """One message that the host would act on."""

    shape: Shape
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a line. `lost` are messages in it that the host never sees."""

    requirement: RequirementId
    problem: str
    lost: tuple[JsonObject, ...] = ()


Reading: TypeAlias = "tuple[Message | None, Flaw | None]"
"""A line can be good, bad, both (text that is not UTF-8 is read with marks in place of the bad bytes) or blank."""


def read_message(data: bytes) -> Reading:
    """Read one line."""
    message = _read_quickly(data)
    return _read_strictly(data) if message is None else (message, None)


def _read_quickly(data: bytes) -> Message | None:
    """A message that is all right, in a quarter of the time; None for whatever may have a flaw."""
    try:
        value: Json = _QUICK.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(data) > DEEPEST and _may_be_too_deep(data, value):
        return None
    message, flaw = _classify(value, "")
    return message if flaw is None else None


def _may_be_too_deep(data: bytes, value: Json) -> bool:
    if len(data) <= COUNTED:
        return data.count(b"[") + data.count(b"{") > DEEPEST
    looked_at, level = 0, [value]
    for _ in range(DEEPEST):
        level = [inner for item in level for inner in _inside(item)]
        looked_at += len(level)
        if not level or looked_at > MOST_VALUES:
            return bool(level)
    return True


def _read_strictly(data: bytes) -> Reading:
    try:
        text = data.decode()
        flaw = None
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        flaw = Flaw(RequirementId("RPC-001"), f"a line is not UTF-8 at byte {error.start}")
    text = text.strip(_WHITE)
    if not text:
        return None, flaw
    value: Json
    try:
        value, end = _decoded(text)
    except RecursionError:
        return None, flaw or _too_deep(text)
    except ValueError:
        return None, flaw or _no_json(text)
    if end != len(text):
        return None, flaw or _no_json(text)
    if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
        return None, flaw or _too_deep(text)
    message, other = _classify(value, text)
    return message, flaw or other


def _decoded(text: str) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(text)
    except ValueError:
        # Python refuses very long integers, which are numbers like any other to the host.
        return _DECODER_OF_LONG_NUMBERS.raw_decode(text)


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        level = [inner for item in level for inner in _inside(item)]
        depth += 1
    return depth


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep(text: str) -> Flaw:
    if '"jsonrpc"' not in text:
        return _noise(text)
    return Flaw(RequirementId("RPC-001"), f"a line is nested more than {DEEPEST} levels deep")


def _classify(value: Json, text: str) -> Reading:
    if not isinstance(value, dict):
        inner = _messages_of(value)
        if inner:
            return None, Flaw(RequirementId("RPC-001"), "several messages in one array on one line", inner)
        return None, _noise(text)
    body = cast("JsonObject", value)
    if body.get("jsonrpc") != "2.0":
        if not _resembles_a_message(body):
            return None, _noise(text)
        said = f"jsonrpc is {json.dumps(body['jsonrpc'])[:SHOWN]}" if "jsonrpc" in body else "there is no jsonrpc key"
        return None, Flaw(RequirementId("RPC-004"), said, (body,))
    if "id" in body and ("result" in body or "error" in body):
        return Message(Shape.ANSWER, body), None
    if "method" in body and body.get("id") is not None:
        return Message(Shape.REQUEST, body), None
    if "method" in body and "id" not in body:
        return Message(Shape.NOTIFICATION, body), None
    if "method" not in body and body.get("id") is not None:
        return None, Flaw(RequirementId("RPC-006"), "an answer has neither a result nor an error key", (body,))
    return None, Flaw(
        RequirementId("RPC-003"), f"an object that is neither answer, request nor notification: {text[:SHOWN]}"
    )


def _resembles_a_message(body: JsonObject) -> bool:
    # Log lines in JSON have an id or a method now and then; those of a message come with company.
    answers = "id" in body and ("result" in body or "error" in body)
    calls = "method" in body and ("id" in body or "params" in body)
    return "jsonrpc" in body or answers or calls


def _messages_of(value: Json) -> tuple[JsonObject, ...]:
    return tuple(object_of(item) for item in items_of(value) if "jsonrpc" in object_of(item))


def _no_json(text: str) -> Flaw:
    if '"jsonrpc"' not in text:
        return _noise(text)
    found = tuple(_messages_inside(text)) if len(text) <= SEARCHED else ()
    if found:
        return Flaw(RequirementId("RPC-002"), f"other text shares a line with a message: {text[:SHOWN]}", found)
    return Flaw(RequirementId("RPC-001"), f"a line that is not one whole JSON object: {text[:SHOWN]}")


def _messages_inside(text: str) -> Iterator[JsonObject]:
    place = 0
    for _ in range(MOST_STARTS):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if "jsonrpc" in object_of(value):
            yield object_of(value)


def _noise(text: str) -> Flaw:
    return Flaw(RequirementId("RPC-003"), f"text that is no message: {text[:SHOWN]}")


def _refuse_constant(name: str) -> Json:
    raise ValueError(name)


_QUICK = msgspec.json.Decoder()
"""Gives what the two below give, or refuses: NaN, half a surrogate pair, numbers too long, bytes that are no UTF-8."""

_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Strict: ``NaN`` and ``Infinity`` are no JSON. Made once, because making one costs more than a short message."""

_DECODER_OF_LONG_NUMBERS = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=float)
"""Takes integers as the host does, whose numbers all have 53 bits."""
