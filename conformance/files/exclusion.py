"""What each form of an exclude pattern leaves out, and where the contract leaves it open."""

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.files.tree import Tree, tree_of
from conformance.transfer.steps import patterns_of

FULL = tree_of(
    {
        "skip/a": b"at the top",
        "skip/deep/b": b"at the top, deeper",
        "part/skip/c": b"nested",
        "part/skip/deep/d": b"nested, deeper",
        "part/more/skip": b"a file of that name",
        "part/kept": b"kept",
        "skipper/e": b"only begins like it",
        "unskip": b"only ends like it",
        "docs/draft/f": b"an exact path",
        "docs/drafty": b"only begins like the path",
        "draft": b"only the end of the path",
        ".hide/g": b"with a dot",
        "part/.hide/h": b"with a dot, nested",
        "xhide/i": b"with another letter in the place of the dot",
        "other/docs/draft": b"the path, deeper",
    }
)
"""The tree that every case starts from."""


@dataclass(frozen=True)
class Exclusion:
    """Some patterns together: `gone` must be left out with all below, `open` may be, and nothing else may be.

    An entry is open where the contract can be read in two ways: whether `NAME/*` spares the directory itself (tar
    does), whether `*/NAME` means the top as well (tar says no, the contract "at any depth"), and whether a path also
    counts deeper down (tar says yes, the contract "exactly").
    """

    patterns: tuple[str, ...]
    gone: tuple[bytes, ...]
    open: tuple[bytes, ...] = ()

    def wanted(self, seen: Tree) -> Tree:
        """The right tree: of two right ones, the one that is nearer to what was seen."""
        rest = FULL.without(self.gone)
        free = rest.entries.keys() - rest.without(self.open).entries.keys()
        return Tree({path: entry for path, entry in rest.entries.items() if path not in free or path in seen.entries})


TOP, NESTED, FILE, DEEP_PATH = b"skip", b"part/skip", b"part/more/skip", b"other/docs/draft"

EXCLUSIONS = (
    Exclusion(("skip",), gone=(TOP, NESTED, FILE)),
    Exclusion(
        ("skip/*",),
        gone=(b"skip/a", b"skip/deep", b"part/skip/c", b"part/skip/deep"),
        open=(TOP, NESTED, FILE),
    ),
    Exclusion(("*/skip",), gone=(NESTED, FILE), open=(TOP,)),
    Exclusion(("*/skip/*",), gone=(b"part/skip/c", b"part/skip/deep"), open=(TOP, NESTED, FILE)),
    Exclusion(("docs/draft",), gone=(b"docs/draft",), open=(DEEP_PATH,)),
    Exclusion((".hide",), gone=(b".hide", b"part/.hide")),
    Exclusion((*patterns_of(["skip"]), "docs/draft"), gone=(TOP, NESTED, FILE, b"docs/draft"), open=(DEEP_PATH,)),
)
"""All five forms one by one, a name with a dot, which is a letter like any other, and as the host sends them."""


def names_of(exclusions: Iterable[Exclusion]) -> list[tuple[str, Exclusion]]:
    """Each with the name of a directory of its own."""
    return [(f"case-{number}", exclusion) for number, exclusion in enumerate(exclusions, 1)]
