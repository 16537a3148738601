"""Trees that nobody thought of, from Hypothesis: small, seeded, and able to shrink to the smallest one that matters."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from conformance.files.tree import Entry, File, Folder, Link, Tree

MOST_LEAVES = 12
"""Files and links of one tree, at most (our choice: a tree that fails has to be read by a person)."""

PLAIN = "abcdefgh"
ODD = "a-. '\"\n\t$`*?[]{}~#%;&|()<>!=:,@^+_\x01\x7fäß雪\u0301\U0001f600"
"""No backslash, which the tar of some images takes for a sign in the names that the host gives it."""

MODES = (0o644, 0o755, 0o600, 0o700, 0o444, 0o555)
"""Modes that an ordinary user can write, read back and unpack under the usual umask."""

_Node: TypeAlias = "Entry | Mapping[str, _Node]"


@dataclass(frozen=True)
class Variety:
    """What may be unusual about a tree: its `things` (names, contents, empty directories), modes, links.

    Whatever may not is plain, so that a failure says what it is about.
    """

    things: bool = False
    modes: bool = False
    links: bool = False


def trees(variety: Variety) -> st.SearchStrategy[Tree]:
    """Trees of the given variety, the simplest first."""
    names = _names(variety)
    leaves = st.one_of(_files(variety), *([_links(names)] if variety.links else []))
    least = 0 if variety.things else 1
    nodes: st.SearchStrategy[_Node] = st.recursive(
        leaves, lambda inner: st.dictionaries(names, inner, min_size=least, max_size=5), max_leaves=MOST_LEAVES
    )
    return st.dictionaries(names, nodes, max_size=6).map(_flat)


def generated(variety: Variety, number: int, count: int) -> list[Tree]:
    """So many trees, always the same ones for a number."""
    found: list[Tree] = []

    @seed(number)
    @settings(
        # The first example is always the simplest, a tree without entries.
        max_examples=count + 1,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
    )
    @given(trees(variety))
    def collect(tree: Tree) -> None:
        found.append(tree)

    collect()
    return found[1:]


def _names(variety: Variety) -> st.SearchStrategy[str]:
    if not variety.things:
        return st.text(PLAIN, min_size=1, max_size=3)
    # The host leaves names out that begin with "._", whatever is asked for.
    ordinary = st.text(ODD, min_size=1, max_size=8).filter(lambda name: name not in {".", ".."} and name[:2] != "._")
    return st.one_of(ordinary, st.sampled_from(["-rf", "--help", ".dot", "...", "x" * 255, "ä" * 127]))


def _files(variety: Variety) -> st.SearchStrategy[File]:
    # Around the block size of tar, and larger than a pipe.
    repeated = st.builds(_repeated, st.binary(min_size=1, max_size=3), st.sampled_from((1, 511, 512, 513, 70_000)))
    contents = st.one_of(st.binary(max_size=20), repeated) if variety.things else st.just(b"text")
    modes = st.sampled_from(MODES) if variety.modes else st.just(MODES[0])
    return st.builds(File, contents, modes)


def _repeated(piece: bytes, size: int) -> bytes:
    return (piece * size)[:size]


def _links(names: st.SearchStrategy[str]) -> st.SearchStrategy[Link]:
    targets = st.one_of(
        names,
        st.lists(st.one_of(names, st.just("..")), min_size=1, max_size=4).map("/".join),
        names.map(lambda name: f"/no/{name}"),
    )
    return targets.map(lambda target: Link(target.encode()))


def _flat(nodes: Mapping[str, _Node]) -> Tree:
    found: dict[bytes, Entry] = {}

    def add(prefix: bytes, inner: Mapping[str, _Node]) -> None:
        seen: set[str] = set()
        for name, node in inner.items():
            # The host's own disk may hold one of two names only that differ in case or composition.
            folded = unicodedata.normalize("NFC", name).casefold()
            if folded in seen:
                continue
            seen.add(folded)
            path = prefix + name.encode()
            if isinstance(node, Mapping):
                found[path] = Folder()
                add(path + b"/", node)
            else:
                found[path] = node

    add(b"", nodes)
    return Tree(found)
