"""Trees in a sandbox: put there and looked at by commands, so that native sync is judged by something else.

When such a command fails, the check behind it is blocked: commands and image have rules of their own.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

from conformance.evidence import Blocked
from conformance.files.archive import pack, unpack
from conformance.files.tree import Tree
from conformance.host.lease import Lease
from conformance.model import RequirementId
from conformance.provider import Provider
from conformance.steps import Outcome, quote, run_to_success

HASH = "if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi"
"""A shell command that prints the SHA-256 of its input, and then a dash."""

BACKGROUND = "$(command -v nohup)"
"""Before a program that is to outlive its call; nothing where the image has no nohup."""

ROUNDS = 1_200
"""How often a command looks for an event, every 50 ms, before it gives up by itself (our choice: one minute)."""


@dataclass(frozen=True)
class Place:
    """A directory in the sandbox and one on the host, both fresh and empty, for one check alone."""

    remote: str
    host: Path


async def make_place(provider: Provider, lease: Lease) -> Place:
    """Make the two directories."""
    remote = f"{lease.remote_cwd}/{provider.new_id()}"
    await run_to_success(provider, lease, f"mkdir -p {quote(remote)}")
    return Place(remote, provider.scratch.resolve())


async def place_tree(provider: Provider, lease: Lease, folder: str, tree: Tree) -> None:
    """Add a tree to a directory of the sandbox, which is made if need be."""
    await run_to_success(
        provider,
        lease,
        f"mkdir -p {quote(folder)} && umask 0 && base64 -d | tar -xpf - -C {quote(folder)}",
        stdin=base64.b64encode(pack(tree)).decode(),
    )


async def tree_at(provider: Provider, lease: Lease, folder: str) -> Tree:
    """What a directory of the sandbox holds; nothing when there is none of this name."""
    # The code of tar, which stands in the middle of a pipe, goes through a descriptor of its own.
    piped = f"{{ {{ tar -cf - -C {quote(folder)} .; echo $? >&3; }} | base64 >&4; }} 3>&1"
    script = f'[ -d {quote(folder)} ] || exit 0\nexec 4>&1\ncode=$({piped})\nexit "$code"'
    outcome = await run_to_success(provider, lease, script)
    if not outcome.stdout:
        return Tree({})
    try:
        return unpack(base64.b64decode("".join(outcome.stdout.split()), validate=True))
    except ValueError as error:
        raise Blocked(
            RequirementId("FALL-005"), f"a tar of a directory came damaged: {error}", outcome.frames
        ) from error


async def digest_at(provider: Provider, lease: Lease, path: str) -> str:
    """The SHA-256 of a file in the sandbox, in hexadecimal; empty when it cannot be read."""
    outcome = await run_to_success(provider, lease, f"if [ -f {quote(path)} ]; then ( {HASH} ) < {quote(path)}; fi")
    return digest_in(outcome)


def digest_in(outcome: Outcome) -> str:
    """The first word of what a hash command printed."""
    return next(iter(outcome.stdout.split()), "")


def wait_for(path: str, *, rounds: int = ROUNDS) -> str:
    """A shell command that waits until something of this name is there, a minute at most unless told otherwise."""
    return f"i=0; while [ ! -e {quote(path)} ] && [ $i -lt {rounds} ]; do sleep 0.05; i=$((i + 1)); done"
