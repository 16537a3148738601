"""A long-lived child that answers JSON values with the verdict of the host's own validator."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.npm import installed, node

_FOLDER = Path(__file__).parent / "oracle"
_STOP_SECONDS = 10  # the child ends as soon as its stdin does


class ManifestOracle:
    """The manifest validator of `@paperclipai/shared`, as the host of the revision calls it."""

    def __init__(self) -> None:
        folder = installed(_FOLDER)
        self._child = subprocess.Popen(
            [node(), "verdicts.mjs", "@paperclipai/shared/validators/plugin", "pluginManifestV1Schema"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
        )

    def rejects(self, text: str) -> bool:
        """Whether the host refuses the manifest that this ASCII JSON text holds."""
        stdin, stdout = self._child.stdin, self._child.stdout
        if stdin is None or stdout is None:
            message = "the oracle has no pipes"
            raise RuntimeError(message)
        stdin.write(f"{text}\n")
        stdin.flush()
        answer = stdout.readline().strip()
        if answer not in {"true", "false"}:
            message = f"the oracle died on {text[:500]}"
            raise RuntimeError(message)
        return answer == "false"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.communicate(timeout=_STOP_SECONDS)
