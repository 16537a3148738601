"""The reference provider on a backend that counts: each sandbox made or removed is a line in a file, with the time.

python counting_provider.py ACQUIRE CALL [--manifest]: so many seconds are added to each acquire and to each call, as
on a backend far away. The file is `counted`, beside the directory of the sandboxes.
"""

import os
import sys
import time
from typing import Any

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider
from conformance.fixtures.reference.store import Record, Sandbox, Store


class CountingStore(Store):
    """Tells of each sandbox before it is made and after it is gone."""

    def create(self, record: Record) -> Sandbox:
        self.ensure_root()
        self.count("+")
        return super().create(record)

    def remove(self, sandbox: Sandbox) -> None:
        super().remove(sandbox)
        self.count("-", sandbox.id)

    def count(self, sign: str, name: str = "") -> None:
        """One line, whole whoever else writes."""
        with open(os.path.join(os.path.dirname(self.root), "counted"), "ab", buffering=0) as file:  # noqa: PTH118, PTH120, PTH123
            file.write(f"{sign} {time.monotonic():.6f} {name}\n".encode())


class Counting(ReferenceProvider):
    """Counts its sandboxes, and is as slow as it is told to be."""

    def store(self, config: dict[str, Any]) -> Store:
        return CountingStore(super().store(config).root)

    def wait_as_configured(self, call: Call) -> None:
        super().wait_as_configured(call)
        if call.method.startswith("environment") and isinstance(call.params.get("config"), dict):
            acquire, each = float(sys.argv[1]), float(sys.argv[2])
            self.stopping.wait(each + (acquire if call.method == "environmentAcquireLease" else 0.0))


if __name__ == "__main__":
    launch(Counting, sys.argv[3:])
