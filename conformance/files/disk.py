"""Trees on the host's disk. A provider may be writing there too: nothing found is trusted, no link is followed."""

import os
import stat
from pathlib import Path
from typing import assert_never

from conformance.errors import KitError
from conformance.files.tree import ALL_MODE_BITS, LARGEST_BYTES, Entry, File, Folder, Link, Special, SpecialKind, Tree

DEEPEST_LEVEL = 300
"""How deep a directory is looked into (our choice: each level keeps one descriptor open)."""

_BLOCK_BYTES = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def build(tree: Tree, folder: Path) -> None:
    """Make a directory that holds exactly this tree. It must not exist yet."""
    folder.mkdir(parents=True)
    for path, entry in sorted(tree.entries.items()):
        place = folder / os.fsdecode(path)
        match entry:
            case File(content=content, mode=mode):
                write_new(place, content, mode)
            case Folder():
                place.mkdir(0o755)
            case Link(target=target):
                place.symlink_to(os.fsdecode(target))
            case Special(kind=SpecialKind.PIPE):
                os.mkfifo(place)
            case Special():
                raise KitError(f"{entry.kind} cannot be made.")
            case _:
                assert_never(entry)


def write_new(place: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file that must not exist yet; its mode does not depend on the umask."""
    descriptor = os.open(place, _WRITE, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(descriptor, mode)


def listing(folder: Path) -> Tree:
    """What is below a directory, entry by entry. Empty when there is no directory of this name."""
    found: dict[bytes, Entry] = {}
    try:
        descriptor = os.open(folder, _DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return Tree(found)
    _list(descriptor, b"", 1, found)
    return Tree(found)


def entry_at(path: Path) -> Entry | None:
    """One entry, by its path; None when there is none. A directory is not looked into."""
    try:
        parent = os.open(path.parent, _DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _entry(parent, os.fsencode(path.name))
    except FileNotFoundError:
        return None
    finally:
        os.close(parent)


def _list(descriptor: int, prefix: bytes, level: int, found: dict[bytes, Entry]) -> None:
    try:
        for text in sorted(os.listdir(descriptor)):
            name = os.fsencode(text)
            path = prefix + name
            entry = found[path] = _entry(descriptor, name)
            if isinstance(entry, Folder) and level >= DEEPEST_LEVEL:
                found[path] = Special(SpecialKind.TOO_DEEP)
            elif isinstance(entry, Folder):
                _list(os.open(name, _DIRECTORY, dir_fd=descriptor), path + b"/", level + 1, found)
    finally:
        os.close(descriptor)


def _entry(parent: int, name: bytes) -> Entry:
    seen = os.stat(name, dir_fd=parent, follow_symlinks=False)
    match stat.S_IFMT(seen.st_mode):
        case stat.S_IFDIR:
            return Folder()
        case stat.S_IFLNK:
            return Link(os.readlink(name, dir_fd=parent))
        case stat.S_IFIFO:
            return Special(SpecialKind.PIPE)
        case stat.S_IFREG:
            return _file(parent, name)
        case _:
            return Special(SpecialKind.OTHER)


def _file(parent: int, name: bytes) -> Entry:
    descriptor = os.open(name, _READ, dir_fd=parent)
    try:
        seen = os.fstat(descriptor)
        if seen.st_size > LARGEST_BYTES:
            return Special(SpecialKind.OVERSIZED)
        blocks: list[bytes] = []
        left = seen.st_size
        while left > 0 and (block := os.read(descriptor, min(left, _BLOCK_BYTES))):
            blocks.append(block)
            left -= len(block)
        return File(b"".join(blocks), stat.S_IMODE(seen.st_mode) & ALL_MODE_BITS)
    finally:
        os.close(descriptor)
