"""Canaries: files on the host that stand around a mapped path and must stay as they are, whatever a sandbox holds."""

from dataclasses import dataclass, field
from pathlib import Path

from conformance.evidence import Evidence
from conformance.expect import expect
from conformance.files.compare import differences, told
from conformance.files.disk import build, listing
from conformance.files.tree import File, Folder, Tree, tree_of

SCRATCH_MARK = b".paperclip-upload"
"""What a provider's scratch files are called (contract); one that is left behind breaks another rule."""


@dataclass(frozen=True)
class Surroundings:
    """A fresh directory of the host: `mapped` is for the sync, everything else in it is not.

    `secret` is a file outside of every mapping that holds `marker`, which nobody can guess.
    """

    folder: Path
    marker: str
    before: Tree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Put the canaries in their places."""
        canary = self.marker.encode()
        build(
            tree_of(
                {
                    "canary": canary,
                    "outside/canary": canary,
                    "outside/private/key": File(canary, 0o600),
                    "inside/canary": canary,
                    "inside/mapped-too/canary": canary,
                    "inside/mappe": canary,
                    "inside/empty": Folder(),
                }
            ),
            self.folder / "around",
        )
        object.__setattr__(self, "before", self._around())

    @property
    def mapped(self) -> Path:
        """The one path that the sync may write; nothing is there yet."""
        return self.folder / "around" / "inside" / "mapped"

    @property
    def outside(self) -> Path:
        """A directory of the host that no mapping names."""
        return self.folder / "around" / "outside"

    @property
    def secret(self) -> Path:
        """A file of the host that no mapping names, with the marker in it."""
        return self.outside / "canary"

    def changes(self) -> list[str]:
        """What is no longer as it was around the mapped path, in sentences."""
        return differences(self.before, self._around())

    def _around(self) -> Tree:
        seen = listing(self.folder).without([b"around/inside/mapped"])
        return seen.without([path for path in seen.entries if SCRATCH_MARK in path])


def expect_untouched(evidence: Evidence, surroundings: Surroundings, *, advice: str = "") -> None:
    """Demand that nothing around the mapped path was added, changed or removed."""
    found = surroundings.changes()
    expect(
        evidence,
        not found,
        that="everything on the host outside targetPath is as it was before",
        observed=told(found),
        advice=advice,
    )


def holds_marker(tree: Tree, marker: str) -> list[str]:
    """Paths of the files that hold a marker."""
    return [
        path.decode("utf-8", "backslashreplace")
        for path, entry in tree.entries.items()
        if isinstance(entry, File) and marker.encode() in entry.content
    ]
