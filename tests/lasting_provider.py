"""The reference provider that says late what it has done at once, and starts what outlives it; a script, for `cmd:`."""

import subprocess
import sys
import time
from typing import Any

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider


class LastingProvider(ReferenceProvider):
    """Whoever kills its host while it waits leaves a sandbox of which nobody was told, or one that is gone already."""

    def initialize(self, call: Call) -> dict[str, Any]:
        """Start something that does not end with the worker, in its process group."""
        subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return super().initialize(call)

    def wait_as_configured(self, call: Call) -> None:
        """Not before the work is done."""

    def acquire_lease(self, call: Call) -> dict[str, Any]:
        """Make the sandbox, then wait."""
        answer = super().acquire_lease(call)
        time.sleep(call.config.get("delayMs", 0) / 1000)
        return answer

    def destroy_lease(self, call: Call) -> None:
        """Remove the sandbox, then wait."""
        super().destroy_lease(call)
        time.sleep(call.config.get("delayMs", 0) / 1000)


if __name__ == "__main__":
    launch(LastingProvider, sys.argv[1:])
