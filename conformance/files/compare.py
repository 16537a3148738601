"""The difference between two trees, in sentences."""

import hashlib
from typing import assert_never

from conformance.evidence import Evidence
from conformance.expect import expect
from conformance.files.tree import Entry, File, Folder, Link, Special, Tree

SHOWN_DIFFERENCES = 8
"""How many differences a finding shows (our choice: it must fit on a screen)."""

SHOWN_NAME_CHARACTERS = 80
"""Longest name shown whole (our choice)."""


def differences(wanted: Tree, seen: Tree) -> list[str]:
    """What is missing, what is too much and what is different, in the order of the paths; empty when they are equal."""
    found: list[str] = []
    for path in sorted({*wanted.entries, *seen.entries}):
        before, after = wanted.entries.get(path), seen.entries.get(path)
        if before is None and after is not None:
            found.append(f"{name_of(path)} should not be there: {described(after)}")
        elif before is not None and after is None:
            found.append(f"{name_of(path)} is missing: {described(before)}")
        elif before is not None and after is not None and before != after:
            found.append(f"{name_of(path)} {_change(before, after)}")
    return found


def expect_tree(evidence: Evidence, where: str, seen: Tree, wanted: Tree, *, advice: str = "") -> None:
    """Demand that a directory holds exactly this tree: kinds, bytes, modes of files, and texts of links."""
    found = differences(wanted, seen)
    expect(
        evidence,
        not found,
        that=f"{where} holds exactly the {len(wanted.entries)} entries that it should, each as it was",
        observed=told(found),
        advice=advice,
    )


def told(found: list[str]) -> str:
    """Differences as one text, the first of them."""
    rest = len(found) - SHOWN_DIFFERENCES
    more = [f"and {rest} more"] if rest > 0 else []
    return "; ".join([*found[:SHOWN_DIFFERENCES], *more]) or "no difference"


def described(entry: Entry) -> str:
    """An entry in a few words."""
    match entry:
        case File(content=content, mode=mode):
            return f"a file of {_size(content)}, mode {mode:04o}"
        case Folder():
            return "a directory"
        case Link(target=target):
            return f"a link to {name_of(target)}"
        case Special(kind=kind):
            return f"a {kind}"
        case _:
            assert_never(entry)


def name_of(path: bytes) -> str:
    """A path in quotes, with everything unprintable escaped."""
    text = path.decode("utf-8", "backslashreplace")
    shown = ascii(text)
    if len(text) <= SHOWN_NAME_CHARACTERS:
        return shown
    return f"{text[:SHOWN_NAME_CHARACTERS]!a}… ({len(path)} bytes)"


def _change(before: Entry, after: Entry) -> str:
    if not isinstance(before, File) or not isinstance(after, File):
        return f"is {described(after)} and should be {described(before)}"
    changes: list[str] = []
    if before.content != after.content:
        same = next(
            (place for place, (old, new) in enumerate(zip(before.content, after.content, strict=False)) if old != new),
            min(len(before.content), len(after.content)),
        )
        changes.append(
            f"holds {_size(after.content)} and should hold {_size(before.content)}, different from byte {same} on"
        )
    if before.mode != after.mode:
        changes.append(f"has mode {after.mode:04o} and should have {before.mode:04o}")
    return " and ".join(changes)


def _size(content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()[:8]
    return f"{len(content)} bytes (sha256 {digest}…)" if content else "0 bytes"
