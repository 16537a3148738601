"""Trees as tar archives, the only form in which they pass through a command. Archives are read, never unpacked here."""

import io
import os
import stat
import tarfile
from typing import assert_never

from conformance.errors import KitError
from conformance.files.tree import (
    ALL_MODE_BITS,
    LARGEST_BYTES,
    Entry,
    File,
    Folder,
    Link,
    Special,
    SpecialKind,
    Tree,
)

EMPTY_ARCHIVE = bytes(1024)
"""What the host sends for a directory without entries (contract)."""

END = bytes(1024)
"""How every archive ends: two empty blocks."""


MOST_ENTRIES = 20_000
"""Entries of the largest archive that is read (our choice: four times what the benchmarks move)."""


class UnreadableArchiveError(ValueError):
    """Bytes that are no archive of a tree."""


def pack(tree: Tree, *, owner: int = 0) -> bytes:
    """An archive as the host makes it: uncompressed, every entry by its own name, none for the directory itself.

    `owner` is the user id that it names for every entry; an unpacking tar regards it only where it runs as root.
    """
    if not tree.entries:
        return EMPTY_ARCHIVE
    packed = io.BytesIO()
    with tarfile.open(
        fileobj=packed, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for path, entry in sorted(tree.entries.items()):
            member = tarfile.TarInfo(os.fsdecode(path))
            member.uid = member.gid = owner
            content = _describe(member, entry)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def unpack(archive: bytes) -> Tree:
    """The tree in an archive. Raises `UnreadableArchiveError` for anything else, names that climb among them.

    Whoever made it may mean harm: a few bytes can claim to be any number of files of any size. What is read has
    `LARGEST_BYTES` together, in `MOST_ENTRIES`.
    """
    # An archive that was cut between two entries would read as a smaller one.
    if archive[-len(END) :] != END:
        raise UnreadableArchiveError("not an archive of a tree: its end is missing")
    if not archive.strip(b"\0"):
        return Tree({})
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:", encoding="utf-8", errors="surrogateescape") as opened:
            return Tree(_entries(opened))
    except _WHAT_TARFILE_RAISES as error:
        raise UnreadableArchiveError(f"not an archive of a tree: {type(error).__name__}: {error}") from error


_WHAT_TARFILE_RAISES = (
    tarfile.TarError,
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    KitError,
)
"""What headers that were made to do so get out of it, and out of `Tree`."""


def _entries(archive: tarfile.TarFile) -> dict[bytes, Entry]:
    entries: dict[bytes, Entry] = {}
    count, size, place = 0, 0, -1
    while (member := archive.next()) is not None:
        # What was read is kept in the dictionary alone.
        archive.members = []  # pyright: ignore[reportAttributeAccessIssue] # typeshed does not know it
        count += 1
        if count > MOST_ENTRIES:
            raise UnreadableArchiveError(f"it has more than {MOST_ENTRIES:,} entries")
        # Some versions of tarfile take a negative size, and read the same entries for ever.
        if member.size < 0 or member.offset_data <= place:
            raise UnreadableArchiveError("an entry has a negative size")
        place = member.offset_data
        path = os.fsencode(member.name).removeprefix(b"./").rstrip(b"/")
        if path in {b"", b"."}:
            continue
        entry = entries[path] = _entry(archive, member, entries)
        size += len(entry.content) if isinstance(entry, File) and not member.islnk() else 0
        if size > LARGEST_BYTES:
            raise UnreadableArchiveError(f"its files have more than {LARGEST_BYTES:,} bytes together")
    return entries


def _describe(member: tarfile.TarInfo, entry: Entry) -> bytes:
    match entry:
        case File(content=content, mode=mode):
            member.mode, member.size = mode, len(content)
            return content
        case Folder():
            member.type, member.mode = tarfile.DIRTYPE, 0o755
        case Link(target=target):
            member.type, member.linkname, member.mode = tarfile.SYMTYPE, os.fsdecode(target), 0o777
        case Special(kind=SpecialKind.PIPE):
            member.type, member.mode = tarfile.FIFOTYPE, 0o644
        case Special():
            raise KitError(f"{entry.kind} cannot be packed.")
        case _:
            assert_never(entry)
    return b""


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, before: dict[bytes, Entry]) -> Entry:
    if member.issym():
        return Link(os.fsencode(member.linkname))
    if member.isdir():
        return Folder()
    if member.islnk():
        # A second name of a file that stands earlier in the archive.
        return before[os.fsencode(member.linkname).removeprefix(b"./")]
    if member.isfifo():
        return Special(SpecialKind.PIPE)
    if member.size > LARGEST_BYTES:
        # Also a sparse file, which is small in the archive and as large as it claims once it is read.
        return Special(SpecialKind.OVERSIZED)
    file = archive.extractfile(member) if member.isreg() else None
    if file is None:
        return Special(SpecialKind.OTHER)
    return File(file.read(), stat.S_IMODE(member.mode) & ALL_MODE_BITS)
