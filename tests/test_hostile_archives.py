"""A sandbox may send any archive: the kit reads it in bounded memory, touches nothing, and says what is wrong."""

import io
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.files.archive import END, MOST_ENTRIES, UnreadableArchiveError, unpack
from conformance.files.tree import LARGEST_BYTES, File, Folder, Special, SpecialKind, Tree, tree_of

BLOCK = 512
MEMORY_BYTES = 1 << 30
"""Address space of a process that reads one hostile archive: one that obeyed it would need a hundred times as much."""


def header(name: str, **fields: object) -> bytes:
    """One header, of a file unless told otherwise."""
    member = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(member, key, value)
    return member.tobuf(tarfile.GNU_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def pax(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """A header of PAX records for the entry that follows."""
    return header("pax", type=kind, size=len(records)) + padded(records)


def record(key: str, value: str) -> bytes:
    """One PAX record: its length counts itself."""
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def with_size(block: bytes, size: bytes) -> bytes:
    """A header with any twelve bytes in place of its size, and the right checksum."""
    changed = block[:124] + size + block[136:148] + b" " * 8 + block[156:]
    return changed[:148] + f"{sum(changed):06o}\0 ".encode() + changed[156:]


def sparse(name: str, claimed: int) -> bytes:
    """A file that has no byte and claims many."""
    records = record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0")
    records += record("GNU.sparse.name", name) + record("GNU.sparse.realsize", str(claimed))
    return pax(records) + header(name, size=BLOCK) + padded(f"1\n{claimed}\n0\n".encode())


NEGATIVE = b"\xff" * 11 + b"\x00"

REFUSED: dict[str, Callable[[], bytes]] = {
    "climbs": lambda: header("../up"),
    "climbs in the middle": lambda: header("a", type=tarfile.DIRTYPE) + header("a/../../up"),
    "absolute": lambda: header("/etc/passwd"),
    "climbs by PAX": lambda: pax(record("path", "../../up")) + header("fine"),
    "a NUL by PAX": lambda: pax(record("path", "a\0b")) + header("fine"),
    "through a link": lambda: header("a", type=tarfile.SYMTYPE, linkname="/etc") + header("a/passwd"),
    "through a link of the same name later": lambda: (
        header("a", type=tarfile.DIRTYPE) + header("a/b") + header("a", type=tarfile.SYMTYPE, linkname="/etc")
    ),
    "below a file": lambda: header("a") + header("a/b"),
    "second name of a file outside": lambda: header("a", type=tarfile.LNKTYPE, linkname="/etc/passwd"),
    "second name of itself": lambda: header("a", type=tarfile.LNKTYPE, linkname="a"),
    "many sparse files": lambda: b"".join(sparse(f"f{number}", LARGEST_BYTES) for number in range(1_000)),
    "more entries than anyone needs": lambda: header("a") * (MOST_ENTRIES + 1),
    "deep": lambda: pax(record("path", "a/" * 100_000 + "a")) + header("a"),
    "a chain of headers": lambda: pax(record("comment", "a")) * 5_000 + header("a"),
    "negative size": lambda: header("a") + with_size(header("b"), NEGATIVE) + header("c"),
    "negative size by PAX": lambda: header("a") + pax(record("size", "-1024")) + header("b"),
    "enormous size by PAX": lambda: pax(record("size", "9" * 400)) + header("b"),
    "a size that is longer than the archive": lambda: header("a", size=1 << 20),
}
DAMAGED: dict[str, Callable[[], bytes]] = {
    "negative size of PAX": lambda: with_size(pax(record("path", "b"))[:BLOCK], NEGATIVE) + header("c"),
    "length of a record is nothing": lambda: pax(b"0 path=a\n") + header("b"),
    "length of a record is a word": lambda: pax(b"many path=a\n") + header("b"),
    "sparse map of words": lambda: pax(record("GNU.sparse.map", "a,b")) + header("b"),
    "sparse map without numbers": lambda: (
        pax(record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0")) + header("b", size=BLOCK) + bytes(BLOCK)
    ),
}
READ: dict[str, tuple[Callable[[], bytes], Tree]] = {
    "link to anywhere": (
        lambda: header("a", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        unpack(header("a", type=tarfile.SYMTYPE, linkname="/etc/passwd") + END),
    ),
    "device": (
        lambda: header("a", type=tarfile.CHRTYPE, devmajor=1, devminor=5),
        Tree({b"a": Special(SpecialKind.OTHER)}),
    ),
    "pipe": (lambda: header("a", type=tarfile.FIFOTYPE), Tree({b"a": Special(SpecialKind.PIPE)})),
    "one sparse file": (lambda: sparse("a", 1 << 50), Tree({b"a": Special(SpecialKind.OVERSIZED)})),
    "twice": (lambda: header("a", size=1) + padded(b"1") + header("a", size=1) + padded(b"2"), tree_of({"a": b"2"})),
    "the directory itself": (
        lambda: header("./", type=tarfile.DIRTYPE) + header("./a", type=tarfile.DIRTYPE),
        Tree({b"a": Folder()}),
    ),
}

READER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (%d, %d))
from conformance.files.archive import UnreadableArchiveError, unpack
try:
    unpack(sys.stdin.buffer.read())
    print("read")
except UnreadableArchiveError:
    print("refused")
"""


def read_by_a_small_process(archive: bytes, folder: Path) -> str:
    """What comes of an archive in a process that can hold little."""
    script = READER % (MEMORY_BYTES, MEMORY_BYTES)
    argv = [sys.executable, "-P", "-c", script]
    done = subprocess.run(argv, input=archive + END, capture_output=True, cwd=folder, timeout=120, check=False)
    assert done.stderr == b""
    assert list(folder.iterdir()) == []
    return done.stdout.decode().strip()


@pytest.mark.parametrize("name", REFUSED)
def test_an_archive_that_means_harm_is_refused_in_bounded_memory(name: str, tmp_path: Path) -> None:
    assert read_by_a_small_process(REFUSED[name](), tmp_path) == "refused"


@pytest.mark.parametrize("name", DAMAGED)
def test_headers_that_each_python_takes_in_its_own_way_do_no_harm(name: str, tmp_path: Path) -> None:
    assert read_by_a_small_process(DAMAGED[name](), tmp_path) in {"refused", "read"}


@pytest.mark.parametrize("name", READ)
def test_an_archive_that_is_only_odd_is_read(name: str) -> None:
    make, tree = READ[name]

    assert unpack(make() + END) == tree


def test_no_name_leads_to_a_file_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary", encoding="utf-8")
    archive = header("a", type=tarfile.SYMTYPE, linkname=str(tmp_path / "secret"))
    archive += header("b", type=tarfile.LNKTYPE, linkname="a")

    entries = unpack(archive + END).entries

    assert not [entry for entry in entries.values() if isinstance(entry, File)]
    assert (tmp_path / "secret").read_text(encoding="utf-8") == "canary"


GOOD = io.BytesIO()
with tarfile.open(fileobj=GOOD, mode="w", format=tarfile.PAX_FORMAT) as packed:
    for path in ("a", "b" * 150, "\u00e4"):
        entry = tarfile.TarInfo(path)
        entry.size, entry.pax_headers = 600, {"comment": "c"}
        packed.addfile(entry, io.BytesIO(bytes(600)))


@given(st.lists(st.tuples(st.integers(0, len(GOOD.getvalue()) - 1), st.binary(min_size=1, max_size=12)), max_size=6))
def test_damage_anywhere_is_refused_or_read_and_never_a_crash(damage: list[tuple[int, bytes]]) -> None:
    changed = bytearray(GOOD.getvalue())
    for place, data in damage:
        changed[place : place + len(data)] = data
        start = place // BLOCK * BLOCK
        block = bytes(changed[start : start + BLOCK])
        # With a right checksum the damage is looked at.
        changed[start : start + BLOCK] = with_size(block, block[124:136])

    try:
        tree = unpack(bytes(changed) + END)
    except UnreadableArchiveError:
        return
    assert sum(len(entry.content) for entry in tree.entries.values() if isinstance(entry, File)) <= LARGEST_BYTES
