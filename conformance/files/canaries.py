"""A canary beside every directory that the kit hands to a provider, looked at after every sync, whatever is checked."""

import re
from collections.abc import Iterable
from pathlib import Path

_MADE_HERE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.canary)?")


def make_folder(root: Path, name: str) -> Path:
    """A new directory in `root`, with its canary."""
    folder = root / name
    folder.mkdir(parents=True)
    canary_of(folder).write_text(name, encoding="ascii")
    return folder


def canary_of(folder: Path) -> Path:
    """Where the canary of a directory stands."""
    return folder.with_name(f"{folder.name}.canary")


def disturbances(root: Path, folders: Iterable[Path]) -> list[str]:
    """What is no longer as the kit left it around these directories of `root`, in sentences."""
    found = [
        f"{entry.name!a} was put beside the directory of the sync"
        for entry in (root.iterdir() if root.is_dir() else ())
        if _MADE_HERE.fullmatch(entry.name) is None
    ]
    for folder in folders:
        try:
            changed = canary_of(folder).read_bytes() != folder.name.encode()
        except OSError:
            changed = True
        if changed:
            found.append(f"the file {canary_of(folder).name} beside the directory of the sync was changed")
    return found
