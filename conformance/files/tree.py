"""A tree of files as data: what a directory should hold, and what one was seen to hold."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from conformance.errors import KitError

ALL_MODE_BITS = 0o7777
"""Permission bits of a file, together with the three that lend rights."""

LARGEST_BYTES = 1 << 26
"""Largest file that is read into memory (our choice: 64 MiB, six times what any check sends in a tree)."""


@dataclass(frozen=True)
class File:
    """A regular file."""

    content: bytes = field(default=b"", repr=False)
    mode: int = 0o644

    def __post_init__(self) -> None:
        """Refuse a mode that is more than permission bits."""
        if not 0 <= self.mode <= ALL_MODE_BITS:
            raise KitError(f"{self.mode:o} is no mode of a file.")


@dataclass(frozen=True)
class Folder:
    """A directory. Its mode is left open: the contract speaks of files only."""


@dataclass(frozen=True)
class Link:
    """A symbolic link, with its text."""

    target: bytes


class SpecialKind(StrEnum):
    """What is none of the three; such entries are never read."""

    PIPE = "pipe"
    OTHER = "socket or device"
    OVERSIZED = "file too large to be looked at"
    TOO_DEEP = "directory too deep to be looked at"


@dataclass(frozen=True)
class Special:
    """An entry that holds nothing a tree could carry."""

    kind: SpecialKind


Entry: TypeAlias = File | Folder | Link | Special


@dataclass(frozen=True)
class Tree:
    """Every entry below a directory, by its path from there; the parts of a path are joined by slashes."""

    entries: Mapping[bytes, Entry]

    def __post_init__(self) -> None:
        """Refuse a path that could lead out of the tree, and an entry whose parent is no directory."""
        for path in self.entries:
            parts = path.split(b"/")
            if b"\0" in path or not {b"", b".", b".."}.isdisjoint(parts):
                raise KitError(f"{path!r} is no path in a tree.")
            if len(parts) > 1 and not isinstance(self.entries.get(b"/".join(parts[:-1])), Folder):
                raise KitError(f"{path!r} has no directory above it.")

    def without(self, paths: Iterable[bytes]) -> "Tree":
        """The tree with these paths, and all that is below them, left out."""
        gone = tuple(paths)
        return Tree(
            {
                path: entry
                for path, entry in self.entries.items()
                if not any(path == one or path.startswith(one + b"/") for one in gone)
            }
        )

    def below(self, folder: bytes) -> "Tree":
        """What one directory of the tree holds, by its paths from there."""
        start = folder + b"/"
        return Tree({path.removeprefix(start): entry for path, entry in self.entries.items() if path.startswith(start)})

    def with_bits(self, bits: int) -> "Tree":
        """The same tree with no more than these bits in the mode of any file."""
        return Tree(
            {
                path: replace(entry, mode=entry.mode & bits) if isinstance(entry, File) else entry
                for path, entry in self.entries.items()
            }
        )


OWNER_BITS = 0o700
"""What is left of a mode where the umask of whoever unpacked a tree had its say."""


def tree_of(entries: Mapping[str, Entry | bytes]) -> Tree:
    """A tree written down: bytes stand for a file with that content, and directories above are added."""
    found: dict[bytes, Entry] = {}
    for name, entry in entries.items():
        path = name.encode()
        parts = path.split(b"/")
        for count in range(1, len(parts)):
            found.setdefault(b"/".join(parts[:count]), Folder())
        found[path] = File(entry) if isinstance(entry, bytes) else entry
    return Tree(found)
