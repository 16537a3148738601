"""Texts as they are meant: escapes undone, what nobody sees left out, so that one value looks the same everywhere."""

import re
from dataclasses import dataclass
from html import unescape
from itertools import pairwise
from typing import Final

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_ESC: Final = r"(?:\x1b|\\+u001[bB]|\\+x1[bB])"
_END: Final = r"(?:\x07|\\+u0007|\\+x07|(?:\x1b|\\+u001[bB]|\\+x1[bB])\\+)"
_PERCENT: Final = r"%(?:25)*+"
_NEXT: Final = rf"{_PERCENT}[89abAB][0-9a-fA-F]"

_TOKEN: Final = re.compile(
    rf"(?P<gone>(?:{_ESC}\[|\x9b)[0-?]*[ -/]*[@-~]|{_ESC}[\]PX^_][^\x07\x1b\n]{{0,512}}?{_END}|\x1b[ -/]*[0-~]"
    rf"|{_INVISIBLE.pattern})"
    r"|(?P<pair>\\+u[dD][89abAB][0-9a-fA-F]{2}\\+u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\+u(?P<unit>[0-9a-fA-F]{4})|\\+x(?P<byte>[0-9a-fA-F]{2})|\\+(?P<short>[\"/'bfnrt])|(?P<slashes>\\+)"
    rf"|(?P<percent>{_PERCENT}[2-7][0-9a-fA-F]|{_PERCENT}0[9aAdD]|{_PERCENT}[c-dC-D][0-9a-fA-F]{_NEXT}"
    rf"|{_PERCENT}[eE][0-9a-fA-F]{_NEXT}{_NEXT}|{_PERCENT}[fF][0-7]{_NEXT}{_NEXT}{_NEXT})|(?P<sign>%(?:25)++)"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});)"
)
"""One character that is written as several, or as several that mean none. Escapes may be escaped again."""

_RARE: Final = re.compile(
    rf"\\[ux][0-9a-fA-F]{{2}}|%[0-9a-fA-F]{{2}}|&(?:#[0-9xX]|[a-zA-Z]{{2,8}};)|{_INVISIBLE.pattern}"
)
"""What needs a closer look; the escapes of which JSON is full do not."""

_DEEPEST: Final = 4
"""How often escapes may have been escaped again in another way (our choice)."""

_SPACES: Final = {"n": " ", "r": " ", "t": " "}


@dataclass(frozen=True, slots=True)
class Meant:
    """A text with its escapes undone, and where each of its characters starts and ends in the original."""

    text: str
    places: list[int]
    ends: list[int]


def meant(text: str) -> str:
    """The text with its escapes undone. An escaped line end becomes a space, and a backslash alone nothing."""
    for _ in range(_DEEPEST):
        plainer = _once(text)
        if plainer == text:
            break
        text = plainer
    return text


def _once(text: str) -> str:
    if _RARE.search(text):
        return _TOKEN.sub(_character, text)
    if "\\" not in text:
        return text
    for letter, space in _SPACES.items():
        text = text.replace(f"\\{letter}", space)
    return text.replace("\\", "")


def meant_with_places(text: str) -> Meant:
    """The same, and where each of its characters stands in the original."""
    found = Meant(text, list(range(len(text))), list(range(1, len(text) + 1)))
    for _ in range(_DEEPEST):
        inner = _once_with_places(found.text)
        if inner.text == found.text:
            break
        places = [found.places[at] for at in inner.places]
        found = Meant(inner.text, places, [found.ends[at - 1] for at in inner.ends])
    return found


def _once_with_places(text: str) -> Meant:
    chars, places, ends = list[str](), list[int](), list[int]()
    tokens = [(match.start(), match.end(), _character(match)) for match in _TOKEN.finditer(text)]
    bounds = [(0, 0, ""), *tokens, (len(text), len(text), "")]
    for (_, before, _), (start, end, char) in pairwise(bounds):
        chars.extend(text[before:start])
        places.extend(range(before, start))
        ends.extend(range(before + 1, start + 1))
        for each in char:
            chars.append(each)
            places.append(start)
            ends.append(end)
    return Meant("".join(chars), places, ends)


def _character(match: re.Match[str]) -> str:
    kind, token = match.lastgroup, match[0]
    match kind:
        case "pair":
            high, low = (int(each, 16) for each in re.findall(r"u([0-9a-fA-F]{4})", token))
            return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        case "unit" | "byte":
            char = chr(int(match[kind], 16))
            return "" if _INVISIBLE.fullmatch(char) else char
        case "short":
            return _SPACES.get(match[kind], match[kind])
        case "sign":
            return "%"
        case "percent":
            data = bytes.fromhex("".join(re.findall(rf"{_PERCENT}([0-9a-fA-F]{{2}})", token)))
            return data.decode("utf-8", "replace")
        case "entity":
            return unescape(token)
        case _:
            return ""
