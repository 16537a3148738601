"""The commands that move files without the sync methods, one at a time and exactly as the host writes them.

`host-flows.md` (e) is the source of every shape here. A step is text; who sends it is told in `carrier`.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import pybase64

from conformance.steps import quote

BLOCK_BYTES = 3_145_728
"""Raw bytes of one block, up and down (contract)."""

ALWAYS_OUT = ("node_modules", "vendor", "dist", "build", "out", "coverage", ".next", ".turbo", ".cache")
"""Names that the host never takes out of a workspace (contract)."""

RESOURCE_FORKS = "._*"
"""Left out of every archive by the host (contract)."""


@dataclass(frozen=True)
class Step:
    """One command of the host: a script for its shell, and what the script reads."""

    script: str
    stdin: str | None = field(default=None, repr=False)


# -- files -----------------------------------------------------------------------------------------------------------


def write_file(path: str, content: bytes | IO[bytes], unique: str) -> Iterator[Step]:
    """A file goes up: prepare a draft, append it block by block, put it in place. An empty file has no block.

    From an open file no more than one block is in memory at a time.
    """
    draft = draft_of(path, unique)
    yield Step(f"mkdir -p {quote(folder_of(path))} && rm -f {quote(draft)} && : > {quote(draft)}")
    source = io.BytesIO(content) if isinstance(content, bytes) else content
    while block := source.read(BLOCK_BYTES):
        yield Step(f"base64 -d >> {quote(draft)}", pybase64.b64encode_as_string(block))
    yield Step(f"mv -f {quote(draft)} {quote(path)}")


def draft_of(path: str, unique: str) -> str:
    """The temporary name of a file that goes up."""
    return f"{path}.paperclip-upload.{unique}"


def set_mode(written: str, path: str, mode: int) -> Step:
    """The end of a file that goes up with a mode: it was written under another name."""
    return Step(f"chmod {mode & 0o7777:o} {quote(written)} && mv -f {quote(written)} {quote(path)}")


def size_of(path: str) -> Step:
    """How many bytes a file has."""
    return Step(f"wc -c < {quote(path)}")


def block_of(path: str, number: int) -> Step:
    """One block of a file, as base64 in lines."""
    return Step(f"dd if={quote(path)} bs={BLOCK_BYTES} skip={number} count=1 2>/dev/null | base64")


def remove(path: str) -> Step:
    """Remove a file or a directory; that it is gone already is fine."""
    return Step(f"rm -rf {quote(path)}")


def list_files(folder: str) -> Step:
    """The names of the files in a directory, a line each; nothing when there is no such directory."""
    return Step(
        f"if [ -d {quote(folder)} ]; then\n  for file in {quote(folder)}/*; do\n"
        '    [ -f "$file" ] || continue\n    basename "$file"\n  done\nfi'
    )


def folder_of(path: str) -> str:
    """The directory of an absolute path."""
    return path.rpartition("/")[0] or "/"


# -- directories -----------------------------------------------------------------------------------------------------


def unpack_directory(folder: str, archive: str) -> Step:
    """Replace a directory by what an archive holds, and remove the archive."""
    return Step(
        f"rm -rf {quote(folder)} && mkdir -p {quote(folder)} && "
        f"tar -xf {quote(archive)} -C {quote(folder)} && rm -f {quote(archive)}"
    )


def unpack_workspace(workspace: str, archive: str, keep: Sequence[str] | None) -> Step:
    """Put an archive into the workspace; with `keep`, everything else but these names is removed first."""
    wipe = ""
    if keep is not None:
        kept = " ".join(f"! -name {quote(name)}" for name in keep)
        wipe = f"find {quote(workspace)} -mindepth 1 -maxdepth 1 {kept} -exec rm -rf -- {{}} + && "
    return Step(
        f"mkdir -p {quote(workspace)} && {wipe}tar -xf {quote(archive)} -C {quote(workspace)} && rm -f {quote(archive)}"
    )


def delete_paths(workspace: str, paths: Iterable[str]) -> Step:
    """Remove what was deleted on the host since."""
    return Step(f"cd {quote(workspace)} && rm -rf -- {' '.join(quote(path) for path in paths)}")


def pack_workspace(workspace: str, archive: str, exclude: Sequence[str]) -> Step:
    """Archive all entries of the workspace, those with a leading dot too; a script within a script.

    A workspace without entries gives 1,024 zero bytes, because a tar without names is an error.
    """
    patterns = " ".join(f"--exclude {quote(pattern)}" for pattern in (RESOURCE_FORKS, *exclude))
    inner = (
        f"mkdir -p {quote(folder_of(archive))} && cd {quote(workspace)} && set -- * && "
        'if [ "$#" -eq 1 ] && [ "$1" = "*" ] && [ ! -e "$1" ] && [ ! -L "$1" ]; then set --; fi && '
        'for entry in .[!.]* ..?*; do [ -e "$entry" ] || [ -L "$entry" ] || continue; set -- "$@" "$entry"; done && '
        f'if [ "$#" -eq 0 ]; then dd if=/dev/zero of={quote(archive)} bs=1024 count=1 2>/dev/null; '
        f'else tar -cf {quote(archive)} {patterns} -- "$@"; fi'
    )
    return Step(f"sh -c {quote(inner)}")


def patterns_of(names: Iterable[str]) -> list[str]:
    """The four patterns by which the host leaves out a name at every depth."""
    return [pattern for name in names for pattern in (name, f"{name}/*", f"*/{name}", f"*/{name}/*")]
