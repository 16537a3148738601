"""The reference provider, as slow as a cloud: `python slow_provider.py [--manifest]`."""

import sys

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider

ACQUIRE_S = 3.0
CALL_S = 0.2
AT_ONCE = frozenset({"initialize", "health", "shutdown"})


class SlowProvider(ReferenceProvider):
    """Makes every answer late that a backend would have to give."""

    def wait_as_configured(self, call: Call) -> None:
        if call.method not in AT_ONCE:
            self.stopping.wait(ACQUIRE_S if call.method == "environmentAcquireLease" else CALL_S)
        super().wait_as_configured(call)


if __name__ == "__main__":
    launch(SlowProvider, sys.argv[1:])
