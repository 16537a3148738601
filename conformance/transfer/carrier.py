"""Sending the host's transfer commands, and what comes of them."""

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

import pybase64

from conformance.evidence import Blocked
from conformance.expect import expect
from conformance.files.archive import UnreadableArchiveError, pack, unpack
from conformance.files.tools import IMAGE_TOOLS, missing_tools
from conformance.files.tree import LARGEST_BYTES, Tree
from conformance.host.lease import Lease
from conformance.model import RequirementId
from conformance.provider import Provider
from conformance.steps import Outcome, outcome_of
from conformance.transfer.steps import (
    BLOCK_BYTES,
    Step,
    block_of,
    folder_of,
    pack_workspace,
    remove,
    size_of,
    unpack_directory,
    write_file,
)

MOST_IN_MEMORY = LARGEST_BYTES + (1 << 24)
"""Bytes of the largest file that is read into memory: an archive of the largest tree (our choice)."""

MOST_DIGITS = 18
"""Digits of the size of a file; no file system knows larger ones."""

AS_IT_CAME = "Run the command, its arguments, its directory and its stdin as they came: the host sends exactly this."


@dataclass(frozen=True)
class Carrier:
    """Moves files on one lease by commands alone.

    Every command has to succeed. One that does not decides against the provider; with `standing_on`, where the transfer
    only prepares something else, it blocks the check by that rule.
    """

    provider: Provider
    lease: Lease
    standing_on: str | None = None

    async def send(self, step: Step, *, cwd: str = "/", env: Mapping[str, str] | None = None) -> Outcome:
        """Run one step. That it ended with 0 is demanded, unless the image lacks what the host's commands need."""
        outcome = await self.try_to_send(step, cwd=cwd, env=env)
        succeeded = outcome.exit_code == 0 and not outcome.timed_out
        if not succeeded:
            await self.block_without_tools()
        self.demand(
            outcome, succeeded, that="the host's transfer command ends with 0", observed=outcome.came, advice=AS_IT_CAME
        )
        return outcome

    async def block_without_tools(self) -> None:
        """Raise `Blocked` when a tool is missing: then the image is to blame for whatever went wrong."""
        outcome, missing = await missing_tools(self.provider, self.lease, IMAGE_TOOLS)
        if missing:
            reason = f"the image lacks what the host's commands need: {', '.join(missing)}"
            raise Blocked(RequirementId("FALL-009"), reason, outcome.frames)

    async def try_to_send(self, step: Step, *, cwd: str = "/", env: Mapping[str, str] | None = None) -> Outcome:
        """Run one step. How it ended is not looked at."""
        limit = int(self.provider.launch.limits["command_time"].value)
        return outcome_of(
            await self.provider.execute(
                self.lease,
                self.lease.shell,
                ["-c", step.script],
                cwd=cwd,
                env=env,
                stdin=step.stdin,
                timeout_ms=limit,
            )
        )

    def demand(self, outcome: Outcome, holds: bool, *, that: str, observed: object, advice: str = "") -> None:  # noqa: FBT001
        """Decide by what an outcome shows, or block."""
        if self.standing_on is None:
            expect(outcome, holds, that=that, observed=observed, advice=advice)
        elif not holds:
            raise Blocked(RequirementId(self.standing_on), f"expected that {that}; saw {observed}", outcome.frames)

    async def upload(self, path: str, content: bytes | IO[bytes]) -> Outcome:
        """Write a file. Gives the outcome of the command that put it in place."""
        unique = self.provider.new_id()
        steps = write_file(path, content, unique)
        outcome = await self.send(next(steps))
        for step in steps:
            outcome = await self.send(step)
        await self.try_to_send(remove(f"{path}.paperclip-upload.{unique}"))
        return outcome

    async def download(self, path: str) -> bytes:
        """Read a file, block by block, until it has as many bytes as it was said to have.

        One that would not fit into memory decides against the provider: nothing that large was put there.
        """
        content = io.BytesIO()
        await self.download_to(path, content, at_most=MOST_IN_MEMORY)
        return content.getvalue()

    async def download_to(self, path: str, target: IO[bytes], *, at_most: int) -> None:
        """The same into an open file, with no more than one block in memory at a time."""
        outcome = await self.send(size_of(path))
        said = outcome.stdout.strip()
        is_number = said.isascii() and said.isdecimal() and len(said) <= MOST_DIGITS
        self.demand(outcome, is_number, that="wc -c prints one number", observed=outcome.came)
        size = int(said)
        self.demand(
            outcome, size <= at_most, that=f"the file {path} has at most {at_most:,} bytes", observed=f"{size:,} bytes"
        )
        came, number = 0, 0
        while came < size:
            outcome = await self.send(block_of(path, number))
            block = self.decoded(outcome)
            came, number = came + len(block), number + 1
            if came <= size:
                target.write(block)
            self.demand(
                outcome,
                came == size or (came < size and len(block) == BLOCK_BYTES),
                that=f"the blocks of a file of {said} bytes have that many bytes together",
                observed=f"{came} bytes, the last block {len(block)} of them",
                advice="Return stdout whole; 4.3 MB in one call are usual for the host.",
            )

    async def upload_tree(self, archive: str, tree: Tree) -> Outcome:
        """Write an archive of a tree, owned by whoever the host runs as."""
        return await self.upload(archive, pack(tree, owner=os.getuid()))

    async def put_directory(self, folder: str, tree: Tree) -> Outcome:
        """Replace a directory by a tree."""
        archive = f"{folder}.paperclip-syncin.tar.{self.provider.new_id()}"
        await self.upload_tree(archive, tree)
        return await self.send(unpack_directory(folder, archive))

    async def take_directory(self, folder: str, *exclude: str) -> Tree:
        """Read a directory as the host reads the workspace."""
        archive = f"{folder}.{self.provider.new_id()}/workspace-download.tar"
        outcome = await self.send(pack_workspace(folder, archive, exclude))
        content = await self.download(archive)
        await self.send(remove(folder_of(archive)))
        try:
            return unpack(content)
        except UnreadableArchiveError as error:
            self.demand(outcome, holds=False, that="the host can read the archive", observed=str(error))
            raise

    def decoded(self, outcome: Outcome) -> bytes:
        """What a command printed as base64; white space in it does not count."""
        try:
            return _decode(outcome.stdout)
        except ValueError as error:
            self.demand(outcome, holds=False, that="stdout is base64 and nothing else", observed=f"{error}")
            raise


def _decode(text: str) -> bytes:
    try:
        # Line ends are all that base64 prints beside its letters; they go faster than all kinds of white space, and
        # faster from bytes than from text.
        return pybase64.b64decode(text.encode("ascii").replace(b"\n", b""), validate=True)
    except ValueError:
        return pybase64.b64decode("".join(text.split()), validate=True)
