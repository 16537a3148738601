"""A program in the sandbox that puts links in the place of directories, and takes them away again, all the time.

Whoever looks first whether an entry is a directory, and then opens it by its name, opens the link sooner or later.
"""

from pathlib import Path

from conformance.files.sandbox import BACKGROUND, place_tree, wait_for
from conformance.files.tree import Link, tree_of
from conformance.host.lease import Lease
from conformance.provider import Provider
from conformance.steps import quote, run_to_success

DOORS = 8
"""How many directories change (our choice: each is a chance of its own)."""

MOST_ROUNDS = 2_000
"""How often the program changes all of them before it ends by itself (our choice: about a minute)."""


async def start_swapping(provider: Provider, lease: Lease, folder: str, behind: Path) -> str:
    """Make a tree whose directories turn into links to `behind` on the host and back; gives the path that ends it.

    Where sandbox and host share no files the links lead nowhere, and there is nothing to be read. The tree stands in
    `tree` below `folder`; links wait their turn beside it.
    """
    doors = [f"door{number}" for number in range(DOORS)]
    real = {f"tree/{door}/canary": b"harmless" for door in doors}
    links = {f"links/{door}": Link(str(behind).encode()) for door in doors}
    await place_tree(provider, lease, folder, tree_of({**real, **links, "aside/file": b"", "tree/file": b"harmless"}))
    script = (
        f"doors={quote(' '.join(doors))}\n: > running; round=0\n"
        f"while [ ! -e end ] && [ $round -lt {MOST_ROUNDS} ]; do\n"
        "  for door in $doors; do mv tree/$door aside/$door && mv links/$door tree/$door; done\n"
        "  for door in $doors; do mv tree/$door links/$door && mv aside/$door tree/$door; done\n"
        "  round=$((round + 1))\ndone"
    )
    await run_to_success(
        provider,
        lease,
        f"cd {quote(folder)}\n{BACKGROUND} sh -c {quote(script)} > log 2>&1 < /dev/null &\n"
        f"{wait_for('running')}\n[ -e running ]",
    )
    return f"{folder}/end"


async def stop_swapping(provider: Provider, lease: Lease, end: str) -> None:
    """End the program."""
    await run_to_success(provider, lease, f": > {quote(end)}")
