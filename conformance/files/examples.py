"""Trying a law on generated trees, and making a tree that breaks it as small as it gets."""

from collections.abc import Iterator, Sequence

from conformance.evidence import Finding
from conformance.files.generate import Variety, generated
from conformance.files.law import Way, two_ways
from conformance.files.tree import Entry, File, Link, Tree
from conformance.host.lease import Lease
from conformance.provider import Provider

AT_ONCE = 12
"""Trees that go in and out together (our choice: a call costs more than a tree)."""

TRIES = 40
"""How often a smaller tree is tried (our choice: each try costs two calls or more)."""


async def expect_both_ways_alike(provider: Provider, lease: Lease, variety: Variety, *, count: int = AT_ONCE) -> None:
    """Demand the law of the two ways of `count` generated trees; the same seed of a run gives the same trees.

    When one breaks it, the finding is about the smallest tree that still does.
    """
    ways = await two_ways(provider, lease)
    trees = generated(variety, provider.random.getrandbits(64), count)
    for start in range(0, len(trees), AT_ONCE):
        for way in ways.all:
            try:
                await way(trees[start : start + AT_ONCE])
            except Finding as finding:
                smallest = await _smallest(way, trees[start : start + AT_ONCE], finding)
                # Larger trees have been judged since.
                provider.trace.decisions.append(smallest.decision)
                raise smallest from finding


async def _smallest(way: Way, batch: Sequence[Tree], finding: Finding) -> Finding:
    candidates = smaller(batch)
    for _ in range(TRIES):
        candidate = next(candidates, None)
        if candidate is None:
            break
        try:
            await way(candidate)
        except Finding as found:
            finding, candidates = found, smaller(candidate)
    return finding


def smaller(batch: Sequence[Tree]) -> Iterator[list[Tree]]:
    """What might break a law that this batch breaks, and is simpler; what saves most comes first."""
    if len(batch) > 1:
        half = len(batch) // 2
        yield list(batch[:half])
        yield list(batch[half:])
        yield from ([tree] for tree in batch)
        return
    for tree in batch:
        yield from ([simpler] for simpler in _simpler(tree))


def _simpler(tree: Tree) -> Iterator[Tree]:
    top = [path for path in tree.entries if b"/" not in path]
    if len(top) > 1:
        yield from (tree.without([other for other in top if other != name]) for name in top)
    yield from (tree.below(path) for path in tree.entries if tree.below(path).entries)
    yield from (tree.without([path]) for path in tree.entries)
    for path, entry in tree.entries.items():
        yield from (Tree({**tree.entries, path: simpler}) for simpler in _simpler_entries(entry))
        yield from (_renamed(tree, path, name) for name in _simpler_names(tree, path))


def _simpler_names(tree: Tree, path: bytes) -> Iterator[bytes]:
    folder, slash, name = path.rpartition(b"/")
    for character in dict.fromkeys(("a", *name.decode())):
        renamed = folder + slash + character.encode()
        if len(renamed) < len(path) and renamed not in tree.entries and character != ".":
            yield renamed


def _simpler_entries(entry: Entry) -> Iterator[Entry]:
    match entry:
        case File(content=content, mode=mode):
            if content:
                yield File(b"", mode)
            if mode != File().mode:
                yield File(content)
        case Link(target=target):
            if target != b"a":
                yield Link(b"a")
        case _:
            return


def _renamed(tree: Tree, old: bytes, new: bytes) -> Tree:
    return Tree(
        {
            new + path.removeprefix(old) if path == old or path.startswith(old + b"/") else path: entry
            for path, entry in tree.entries.items()
        }
    )
