"""Digests that bind a report to what was judged."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from conformance.model import Json

_LEFT_OUT = frozenset({"node_modules", ".git", "__pycache__", "conformance-report"})


def digest_of_bytes(data: bytes) -> str:
    """``sha256:`` and the hexadecimal digest."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_of_file(path: Path) -> str:
    """Digest of a file's content, read in pieces."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_json(value: Json) -> str:
    """Digest of a value in canonical form: sorted keys, no spaces, ASCII."""
    return digest_of_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def digest_of_tree(root: Path) -> str:
    """Digest over path, kind, executable bit and content of every file, in sorted order.

    Installed dependencies, version control and our own reports are left out.
    """
    total = hashlib.sha256()
    for path in _files_below(root):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            kind, content = "link", os.fsencode(path.readlink())
        elif stat.S_ISREG(mode):
            kind, content = ("program" if mode & stat.S_IXUSR else "file"), path.read_bytes()
        else:
            continue
        name = os.fsencode(path.relative_to(root))
        total.update(b"%s %d %s %d " % (kind.encode(), len(name), name, len(content)))
        total.update(content)
    return "sha256:" + total.hexdigest()


def _files_below(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        yield from (Path(folder) / name for name in sorted(files))
