"""The same trees from Hypothesis, for tests: it makes a tree that fails smaller by itself."""

from collections.abc import Callable

from hypothesis import strategies as st

from conformance.files.generate import EVERYTHING, Choices, Variety, make_tree
from conformance.files.tree import Tree


class _Drawn(Choices):
    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self._draw = draw

    def number(self, most: int) -> int:
        return self._draw(st.integers(0, most))


@st.composite
def trees(draw: st.DrawFn, variety: Variety = EVERYTHING) -> Tree:
    """Trees of a variety, the simplest first."""
    return make_tree(_Drawn(draw), variety)
