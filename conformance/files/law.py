"""The law of the two ways: whatever way a tree goes in and out, native or over commands, it is the same tree.

The contract calls the two ways observationally identical. Here that is one sentence about any tree, tried on many.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count

from conformance.answer import Answer, answer_of
from conformance.errors import RpcError
from conformance.evidence import Blocked
from conformance.expect import expect
from conformance.files.compare import described, differences, expect_tree, name_of, told
from conformance.files.disk import build, listing
from conformance.files.native import place_for_sync
from conformance.files.operations import directory, operation
from conformance.files.sandbox import Place, tree_at
from conformance.files.tree import OWNER_BITS, Folder, Tree
from conformance.host.lease import Lease
from conformance.model import RequirementId
from conformance.provider import Provider
from conformance.steps import quote, run_to_success
from conformance.transfer.carrier import Carrier

SHOWN_ENTRIES = 6
"""How many entries of a tree a finding names (our choice: a tree that was made smaller has fewer)."""

Way = Callable[[Sequence[Tree]], Awaitable[None]]
"""One way in and out. Demands that each tree of a batch is the same afterwards; a batch goes in and out at once."""


@dataclass(frozen=True)
class TwoWays:
    """The ways of one lease. Each use works in directories of its own below `place`."""

    provider: Provider
    lease: Lease
    place: Place
    numbers: "count[int]"

    @property
    def all(self) -> tuple[Way, ...]:
        """Every way with a native half."""
        return (self.in_natively, self.in_and_out_natively, self.out_natively)

    async def in_natively(self, batch: Sequence[Tree]) -> None:
        """In by the sync method, out over commands."""
        moved, remote, together = await self._sync_in(batch)
        out = await self._carrier.take_directory(remote)
        if differences(together, out):
            # One of the two halves is to blame: what is inside, seen in a third way, tells which.
            _compare(moved, "in natively", await tree_at(self.provider, self.lease, remote), together)
            raise _blocked("FALL-005", out, together)
        _compare(moved, "in natively and out over commands", out, together)

    async def in_and_out_natively(self, batch: Sequence[Tree]) -> None:
        """In and out by the sync methods."""
        _, remote, together = await self._sync_in(batch)
        moved, out = await self._sync_out(remote, batch)
        _compare(moved, "in and out natively", out, together)

    async def out_natively(self, batch: Sequence[Tree]) -> None:
        """In over commands, out by the sync method."""
        together, remote = _together(batch), f"{self.place.remote}/{next(self.numbers)}"
        await self._carrier.put_directory(remote, together)
        moved, out = await self._sync_out(remote, batch)
        if differences(together, out):
            up = await tree_at(self.provider, self.lease, remote)
            if differences(together.with_bits(OWNER_BITS), up.with_bits(OWNER_BITS)):
                raise _blocked("FALL-003", up, together)
            # Unpacking as an ordinary user may cost bits of modes, and then those are what has to come out.
            together = up
        _compare(moved, "in over commands and out natively", out, together)

    @property
    def _carrier(self) -> Carrier:
        return Carrier(self.provider, self.lease, standing_on="FALL-003")

    async def _sync_in(self, batch: Sequence[Tree]) -> tuple[Answer, str, Tree]:
        number, together = f"{next(self.numbers)}", _together(batch)
        source, remote = self.place.host / number, f"{self.place.remote}/{number}"
        build(together, source)
        names = [name.decode() for name in _names(together)]
        await run_to_success(self.provider, self.lease, f"mkdir -p {quote(remote)}")
        mappings = [directory(source / name, f"{remote}/{name}") for name in names]
        answer = await answer_of(self.provider.sync_in(self.lease, [operation(*mappings)]))
        _expect_moved(answer, "in", batch)
        return answer, remote, together

    async def _sync_out(self, remote: str, batch: Sequence[Tree]) -> tuple[Answer, Tree]:
        target = self.place.host / f"{next(self.numbers)}"
        target.mkdir()
        mappings = [directory(f"{remote}/{number}", target / f"{number}") for number in range(len(batch))]
        answer = await answer_of(self.provider.sync_out(self.lease, [operation(*mappings)]))
        _expect_moved(answer, "out", batch)
        return answer, listing(target)


async def two_ways(provider: Provider, lease: Lease) -> TwoWays:
    """The ways of a lease, in a fresh place."""
    return TwoWays(provider, lease, await place_for_sync(provider, lease), count())


def _together(batch: Sequence[Tree]) -> Tree:
    """One tree with a numbered directory for each of a batch."""
    return Tree(
        {
            path: entry
            for number, tree in enumerate(batch)
            for path, entry in [
                (f"{number}".encode(), Folder()),
                *((f"{number}/".encode() + path, entry) for path, entry in tree.entries.items()),
            ]
        }
    )


def _names(together: Tree) -> list[bytes]:
    return [path for path in together.entries if b"/" not in path]


def _expect_moved(answer: Answer, how: str, batch: Sequence[Tree]) -> None:
    if answer.fault is not None and not isinstance(answer.fault, RpcError):
        # No answer, or no worker any more: a smaller tree would only take as long again.
        raise answer.fault
    trees = f"a tree ({_shown(batch[0])})" if len(batch) == 1 else f"{len(batch)} trees at once"
    expect(answer, answer.fault is None, that=f"the sync {how} of {trees} succeeds", observed=answer.came)


def _compare(moved: Answer, how: str, seen: Tree, wanted: Tree) -> None:
    for name in _names(wanted):
        tree = wanted.below(name)
        expect_tree(moved, f"a tree that went {how} ({_shown(tree)})", seen.below(name), tree)


def _blocked(requirement: str, seen: Tree, wanted: Tree) -> Blocked:
    found = told(differences(wanted, seen))
    return Blocked(RequirementId(requirement), f"files over commands did not stay as they were: {found}")


def _shown(tree: Tree) -> str:
    entries = [f"{name_of(path)}: {described(entry)}" for path, entry in sorted(tree.entries.items())]
    more = f", and {len(entries) - SHOWN_ENTRIES} more" if len(entries) > SHOWN_ENTRIES else ""
    return f"{', '.join(entries[:SHOWN_ENTRIES])}{more}" if entries else "without entries"
