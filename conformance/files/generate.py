"""Trees that nobody thought of, small enough to be read by a person.

A tree is a row of choices. In a run they come from its seed, so that the same seed gives the same trees everywhere; in
tests they come from Hypothesis (`strategies`). Hypothesis itself stays out of runs: it keeps a folder in the current
directory, and mixes constants of whatever modules are loaded into what it generates.
"""

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from conformance.files.tree import Entry, File, Folder, Link, Tree

_Any = TypeVar("_Any")

PLAIN = "abcdefgh"
ODD = "a-. '\"\n\t$`*?[]{}~#%;&|()<>!=:,@^+_\x01\x7fäß雪\u0301\U0001f600"
"""No backslash, which the tar of some images takes for a sign in the names that the host gives it."""

SPECIAL_NAMES = ("-rf", "--help", ".dot", "...", "x" * 255, "ä" * 127)

SIZES = (1, 511, 512, 513, 70_000)
"""Around the block size of tar, and larger than a pipe."""

MODES = (0o644, 0o755, 0o600, 0o700, 0o444, 0o555)
"""Modes that an ordinary user can write, read back and unpack under the usual umask."""

DEEPEST_LEVEL = 4
MOST_ENTRIES = 5
"""Bounds of a tree: levels, and entries of one directory (our choice)."""


@dataclass(frozen=True)
class Variety:
    """What may be unusual about a tree: its `things` (names, contents, empty directories), modes, links.

    Whatever may not is plain, so that a failure says what it is about.
    """

    things: bool = False
    modes: bool = False
    links: bool = False


EVERYTHING = Variety(things=True, modes=True, links=True)


class Choices(Protocol):
    """Where the choices come from."""

    def number(self, most: int) -> int:
        """A number from 0 to `most`; small ones are simple."""
        ...


class SeededChoices:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - trees that can be repeated

    def number(self, most: int) -> int:
        """A number from 0 to `most`."""
        return self._random.randint(0, most)


def generated(variety: Variety, seed: int, count: int) -> list[Tree]:
    """So many trees, always the same ones for a seed."""
    choices = SeededChoices(seed)
    return [make_tree(choices, variety) for _ in range(count)]


def make_tree(choices: Choices, variety: Variety) -> Tree:
    """One tree out of choices."""
    found: dict[bytes, Entry] = {}
    _fill(found, b"", 1, choices, variety)
    return Tree(found)


def _fill(found: dict[bytes, Entry], prefix: bytes, level: int, choices: Choices, variety: Variety) -> None:
    least = 0 if variety.things or level == 1 else 1
    names = [_name(choices, variety) for _ in range(least + choices.number(MOST_ENTRIES - least))]
    # The host's own disk may hold only one of two names that differ in case or composition.
    folded = {unicodedata.normalize("NFC", name).casefold(): name for name in names}
    for name in folded.values():
        path = prefix + name.encode()
        entry = found[path] = _entry(level, choices, variety)
        if isinstance(entry, Folder):
            _fill(found, path + b"/", level + 1, choices, variety)


def _entry(level: int, choices: Choices, variety: Variety) -> Entry:
    kinds = ["file", *(["link"] if variety.links else []), *(["folder"] if level < DEEPEST_LEVEL else [])]
    match _pick(choices, kinds):
        case "folder":
            return Folder()
        case "link":
            return Link(_target(level, choices, variety).encode())
        case _:
            mode = _pick(choices, MODES) if variety.modes else MODES[0]
            return File(_content(choices) if variety.things else b"text", mode)


def _name(choices: Choices, variety: Variety) -> str:
    if not variety.things:
        return _text(choices, PLAIN, 3)
    if choices.number(9) == 9:  # noqa: PLR2004 - one in ten
        return _pick(choices, SPECIAL_NAMES)
    name = _text(choices, ODD, 8)
    # The host leaves out names that begin with "._", whatever is asked for; "." and ".." are no names.
    return f"a{name}" if name in {".", ".."} or name.startswith("._") else name


def _target(level: int, choices: Choices, variety: Variety) -> str:
    # Never out of the tree: a link that leads out may be refused.
    up = [".."] * choices.number(level - 1)
    return "/".join([*up, *(_name(choices, variety) for _ in range(1 + choices.number(2)))])


def _content(choices: Choices) -> bytes:
    piece = bytes(choices.number(255) for _ in range(choices.number(20)))
    size = _pick(choices, SIZES)
    return (piece * size)[:size] if piece and choices.number(1) else piece


def _text(choices: Choices, alphabet: str, longest: int) -> str:
    return "".join(_pick(choices, alphabet) for _ in range(1 + choices.number(longest - 1)))


def _pick(choices: Choices, options: Sequence[_Any]) -> _Any:
    return options[choices.number(len(options) - 1)]
