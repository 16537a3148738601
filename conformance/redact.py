"""Keeping secrets out of everything that is written, and saying where a provider has let one out.

A value is found as it is, escaped for JSON, for a URL or for HTML, in base64 at any alignment, in hexadecimal, and
broken up by characters that nobody sees; of a long one, a part is enough, because texts are cut.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.model import Json
from conformance.written import meant, meant_with_places

SHORTEST: Final = 4
"""Characters of the shortest value that is searched for (our choice): shorter ones are everywhere by accident."""

_SHORTEST_INSIDE: Final = 8
"""Characters of the shortest piece of base64 that is searched for inside something else; same reason."""

_SHORTEST_PART: Final = 10
_SHORTEST_LINE: Final = 8
_LONG: Final = 128
_PIECE: Final = 64
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Form(StrEnum):
    """How a secret was written. `part`: not all of it, as where a text was cut."""

    TEXT = "text"
    BASE64 = "base64"
    HEX = "hexadecimal"
    PART = "part"


_ORDER: Final = list(Form)


@dataclass(frozen=True, slots=True)
class Hit:
    """One secret in a text, between two places in it."""

    name: str
    form: Form
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Leak:
    """One secret in a JSON value; `place` is a JSON pointer, to the value of a key that is one itself."""

    name: str
    form: Form
    place: str


class _Spelling(StrEnum):
    """How text and secret are spelled before they are compared."""

    RAW = "raw"
    PLAIN = "plain"
    PACKED = "packed"


@dataclass(frozen=True, slots=True)
class _Needle:
    """What is searched for in a text of one spelling."""

    name: str
    form: Form
    text: str
    spelling: _Spelling
    mixed_start: bool = False
    """Whether the character before it holds a few bits of the secret too."""


class Redactor:
    """Replaces secrets by their names, wherever they are and however they are written."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        self._needles: list[_Needle] = []
        for name, value in (secrets or {}).items():
            self.plant(name, value)

    def plant(self, name: str, value: str) -> None:
        """Keep one more value out from now on, such as a canary; `name` is shown in its place."""
        if len(value) < SHORTEST or value in self._values:
            return
        self._values[value] = name
        for needle in _needles(name, value):
            if needle not in self._needles:
                self._needles.append(needle)

    def __call__(self, text: str) -> str:
        """The text without any secret."""
        out, end = list[str](), 0
        for hit in self.hits(text):
            out.append(f"{text[end : hit.start]}[redacted:{hit.name}]")
            end = hit.end
        return "".join(out) + text[end:] if out else text

    def sees(self, text: str) -> bool:
        """Whether there is a secret in the text."""
        if not self._needles:
            return False
        spelled = meant(text)
        spellings = {_Spelling.RAW: text, _Spelling.PLAIN: _plain(spelled), _Spelling.PACKED: _packed(spelled)}
        return any(needle.text in spellings[needle.spelling] for needle in self._needles)

    def hits(self, text: str) -> list[Hit]:
        """Every secret in the text, in order; those that overlap are one, with the name of the first."""
        if not self.sees(text):
            return []
        joined: list[Hit] = []
        for hit in sorted(self._found(text), key=lambda each: (each.start, _ORDER.index(each.form), -each.end)):
            last = joined[-1] if joined else None
            if last is None or hit.start >= last.end:
                joined.append(hit)
                continue
            form = min(last.form, hit.form, key=_ORDER.index)
            joined[-1] = Hit(last.name, form, last.start, max(last.end, hit.end))
        return joined

    def _found(self, text: str) -> Iterator[Hit]:
        spelled = meant_with_places(text)
        for spelling in (_Spelling.PLAIN, _Spelling.PACKED):
            kept = list(_kept(spelled.text, packed=spelling is _Spelling.PACKED))
            line = "".join(char for char, _ in kept)
            for needle in (each for each in self._needles if each.spelling is spelling):
                for at in _all(needle.text, line):
                    start, end = at, at + len(needle.text)
                    if spelling is _Spelling.PACKED:
                        start, end = _with_edges(line, start, end, mixed_start=needle.mixed_start)
                    first, last = kept[start][1], kept[end - 1][1]
                    yield Hit(needle.name, needle.form, spelled.places[first], spelled.ends[last])
        for needle in (each for each in self._needles if each.spelling is _Spelling.RAW):
            yield from (Hit(needle.name, needle.form, at, at + len(needle.text)) for at in _all(needle.text, text))

    def json(self, value: Json) -> Json:
        """The value without any secret, in keys as well."""
        match value:
            case str():
                return self(value)
            case None | bool():
                return value
            case int() | float():
                name = self._values.get(json.dumps(value))
                return value if name is None else f"[redacted:{name}]"
            case Mapping():
                return {self(key): self.json(each) for key, each in value.items()}
            case _:
                return [self.json(each) for each in value]

    def leaks(self, value: Json, place: str = "") -> Iterator[Leak]:
        """Every secret in the value, with its place."""
        match value:
            case str():
                yield from (Leak(hit.name, hit.form, place) for hit in self.hits(value))
            case None | bool():
                return
            case int() | float():
                name = self._values.get(json.dumps(value))
                if name is not None:
                    yield Leak(name, Form.TEXT, place)
            case Mapping():
                for key, each in value.items():
                    inside = f"{place}/{key.replace('~', '~0').replace('/', '~1')}"
                    yield from (Leak(hit.name, hit.form, inside) for hit in self.hits(key))
                    yield from self.leaks(each, inside)
            case _:
                for index, each in enumerate(value):
                    yield from self.leaks(each, f"{place}/{index}")


def _all(wanted: str, text: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _plain(spelled: str) -> str:
    """Spell a text for comparing: a URL writes a space as `+`, and reports put everything on one line."""
    return " ".join(spelled.replace("+", " ").split())


def _packed(spelled: str) -> str:
    """Spell base64 for comparing: in one alphabet, and without the ends of its lines."""
    return "".join(spelled.split()).replace("-", "+").replace("_", "/")


def _kept(spelled: str, *, packed: bool) -> Iterator[tuple[str, int]]:
    """Give the characters of `_plain` or `_packed`, each with its place in the text."""
    blank = True
    for place, char in enumerate(spelled):
        if char.isspace() or (char == "+" and not packed):
            if not packed and not blank:
                yield " ", place
            blank = True
            continue
        blank = False
        yield {"-": "+", "_": "/"}.get(char, char) if packed else char, place


def _with_edges(line: str, start: int, end: int, *, mixed_start: bool) -> tuple[int, int]:
    """Take in the characters that hold a few bits of the secret, and the padding."""
    if mixed_start and start and line[start - 1] in _LETTERS:
        start -= 1
    if end < len(line) and line[end] in _LETTERS:
        end += 1
    while end < len(line) and line[end] == "=":
        end += 1
    return start, end


def _needles(name: str, value: str) -> Iterator[_Needle]:
    plain = _plain(meant(value))
    yield _Needle(name, Form.TEXT, value, _Spelling.RAW)
    if len(plain) >= SHORTEST:
        yield _Needle(name, Form.TEXT, plain, _Spelling.PLAIN)
    yield from (_Needle(name, Form.PART, piece, _Spelling.PLAIN) for piece in _pieces(plain))
    lines = [_plain(meant(line)) for line in value.splitlines()]
    # A worker writes a key file line by line. Its first and its last line are no secret.
    parts = [line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")]
    if len(lines) > 1:
        yield from (_Needle(name, Form.PART, line, _Spelling.PLAIN) for line in parts)
    raw = value.encode("utf-8", "surrogatepass")
    if len(raw) >= _SHORTEST_INSIDE:
        yield from (_Needle(name, Form.HEX, digits, _Spelling.PACKED) for digits in (raw.hex(), raw.hex().upper()))
    for mixed, core in _encoded(value):
        yield _Needle(name, Form.BASE64, core, _Spelling.PACKED, mixed_start=mixed)
        yield from (_Needle(name, Form.PART, piece, _Spelling.PACKED) for piece in _pieces(core))


def _pieces(value: str) -> Iterator[str]:
    """Cut a value so that more than half of it, or a hundred characters, hold one of the pieces."""
    half = len(value) // 2
    if len(value) > _LONG:
        yield from (value[start : start + _PIECE] for start in range(0, len(value) - _PIECE + 1, _PIECE // 2))
    elif half >= _SHORTEST_PART:
        yield from (value[:half], value[-half:])


def _encoded(value: str) -> Iterator[tuple[bool, str]]:
    """Give what is in base64 wherever the value is encoded together with something else before and after it."""
    raw = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        # The first characters also hold bits of what stands before, the last one may hold bits of what follows.
        start, end = (0, 2, 3)[before], (before + len(raw)) * 8 // 6
        core = whole[start:end]
        if len(core) >= _SHORTEST_INSIDE:
            yield before > 0, core
        elif before == 0:
            yield False, whole
