"""The reference provider without live output, and honest about it; a script, for `cmd:`."""

import sys
from typing import Any

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider


class QuietProvider(ReferenceProvider):
    """Sends what a command printed with its result, and not before."""

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        """Decline the capability."""
        manifest = super().manifest()
        manifest["environmentDrivers"][0]["sandboxCapabilities"]["incrementalSessionOutput"] = False
        return manifest

    def on_output(self, call: Call, stream: str, text: str) -> None:
        """Say nothing."""


if __name__ == "__main__":
    launch(QuietProvider, sys.argv[1:])
