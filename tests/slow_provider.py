"""Providers whose fault takes more than a minute to show: `python slow_provider.py NAME [--manifest]`."""

import sys
from typing import Any

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider
from conformance.fixtures.reference.store import Sandbox

DEFAULT_SECONDS = 60.0


class HiddenMinute(ReferenceProvider):
    """A client on the way has a limit of its own, a minute, and takes longer ones for a mistake."""

    def budget_seconds(self, sandbox: Sandbox, call: Call) -> float | None:
        seconds = super().budget_seconds(sandbox, call)
        return DEFAULT_SECONDS if seconds is None else min(seconds, DEFAULT_SECONDS)


class Patient(ReferenceProvider):
    """Waits as long as it is told to."""


PROVIDERS: dict[str, Any] = {kind.__name__: kind for kind in (HiddenMinute, Patient)}

if __name__ == "__main__":
    launch(PROVIDERS[sys.argv[1]], sys.argv[2:])
