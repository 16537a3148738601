"""The reference provider with one wrong value in one field: `python wrong_field_provider.py CASE [--manifest]`.

CASE is JSON: the method, the path of the field, and the name of the value.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))  # last: of the kit itself, the installed one is meant

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider
from conformance.fixtures.reference.worker import Worker
from tests.wrong_values import VALUES, Case, put

STAND_IN = "the wrong value goes here"

METHOD, STEPS, VALUE = json.loads(sys.argv[1])
CASE = Case(METHOD, tuple(STEPS), VALUE)


class WrongFieldWorker(Worker):
    """Writes a value that no library would write."""

    def encode(self, message: dict[str, Any]) -> bytes:
        literal = VALUES[CASE.value] or "null"
        return super().encode(message).replace(json.dumps(STAND_IN).encode(), literal.encode())


class WrongField(ReferenceProvider):
    """Puts the value into each result of the method."""

    worker_class = WrongFieldWorker

    def handle(self, call: Call) -> Any:  # a result is any JSON value
        result = super().handle(call)
        return put(result, CASE, STAND_IN) if call.method == CASE.method else result


if __name__ == "__main__":
    launch(WrongField, sys.argv[2:])
