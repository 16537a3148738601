"""Every field of every result, and every value that may stand in it in place of the right one.

The fields come from the schemas of the contract. A value is written as it goes over the wire, because some of them no
JSON library would write.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from conformance.contract import Contract
from conformance.model import items_of, object_of

Path = tuple[str | int, ...]
"""Keys and indices from the result to a field; none for the result itself."""

ABSENT = "absent"
EXTRA = "an unknown key beside it"


def _nested(opening: str, inside: str, closing: str, depth: int) -> str:
    return opening * depth + inside + closing * depth


VALUES: Mapping[str, str | None] = {
    ABSENT: None,
    EXTRA: None,
    "null": "null",
    "true": "true",
    "false": "false",
    "zero": "0",
    "minus one": "-1",
    "half": "0.5",
    "1e308": "1e308",
    "1e400": "1e400",
    "a number of 5000 digits": "9" * 5000,
    "an empty text": '""',
    "a blank text": '" "',
    "a word": '"a word"',
    "a number as text": '"0"',
    "a long text": json.dumps("long " * 60_000),
    "a lone surrogate": '"\\ud800"',
    "control characters": '"\\u0000\\u001b[31m\\u202e\\ufeff"',
    "an empty list": "[]",
    "a list of null": "[null]",
    "a list of many kinds": '[0, "a", {}, [], true]',
    "an empty object": "{}",
    "an object with odd keys": '{"": null, "__proto__": {"a": 1}, "constructor": 1, "\\ud800": "\\u0000"}',
    "lists 300 deep": _nested("[", "", "]", 300),
    "objects 300 deep": _nested('{"a":', "1", "}", 300),
    "lists 900 deep": _nested("[", "", "]", 900),
    "objects 975 deep": _nested('{"a":', "1", "}", 975),
    "lists 100000 deep": _nested("[", "", "]", 100_000),
}
"""By name, as JSON; None for what is no value."""


READ_BY_THE_HOST: Mapping[str, tuple[Path, ...]] = dict.fromkeys(
    ("environmentAcquireLease", "environmentResumeLease"),
    tuple(("metadata", key) for key in ("remoteCwd", "shellCommand", "provider", "isolation")),
)
"""Fields that no schema names, for metadata may hold anything; the kit reads them as the host does."""


@dataclass(frozen=True, order=True)
class Case:
    """One method whose results have one wrong value in one field."""

    method: str
    path: Path
    value: str

    @property
    def field(self) -> str:
        """The field as a finding would name it."""
        return next((str(step) for step in reversed(self.path) if isinstance(step, str)), "result")

    @property
    def name(self) -> str:
        """The case as a test is named."""
        return f"{self.method}-{'.'.join(map(str, self.path)) or 'result'}-{self.value}"


def fields_of(contract: Contract, method: str) -> list[Path]:
    """Every field that the result of a method may have, with the first item of each list, the result itself first."""
    found = dict.fromkeys(_paths(contract, f"{method}.json#/$defs/result", ()))
    return [(), *(path for path in found if path), *READ_BY_THE_HOST.get(method, ())]


def cases(contract: Contract) -> list[Case]:
    """Every field of every method with every value."""
    return [
        Case(method, path, value)
        for method in contract.methods
        for path in fields_of(contract, method)
        for value in VALUES
        if path or value != ABSENT
    ]


def sample_of(contract: Contract, method: str) -> Any:
    """A right result of a method with every field that may stand in it, except those that must not."""
    return _sample(contract, f"{method}.json#/$defs/result")


def types_at(contract: Contract, case: Case) -> frozenset[str]:
    """The JSON types that the schema allows in the field of a case; none where it does not say."""
    reference = f"{case.method}.json#/$defs/result"
    for step in case.path:
        reference = next(iter(_inside_of(contract, reference, step)), "")
        if not reference:
            return frozenset()
    types = [node["type"] for node in contract.method_schemas.nodes(reference, []) if "type" in node]
    return frozenset(str(name) for given in types for name in ([given] if isinstance(given, str) else items_of(given)))


def _sample(contract: Contract, reference: str) -> Any:
    nodes = contract.method_schemas.nodes(reference, [])
    said = {key: value for node in nodes for key, value in node.items()}
    if "const" in said or "enum" in said:
        return said["const"] if "const" in said else items_of(said["enum"])[0]
    given = said.get("type")
    match given if isinstance(given, str) else str(next(iter(items_of(given)), "null")):
        case "object":
            made = {
                name: _sample(contract, next(iter(_inside_of(contract, reference, name))))
                for name, rule in object_of(said.get("properties")).items()
                if "not" not in object_of(rule)
            }
            return {**made, **({"command": "ssh user@host", "type": "ssh"} if "command" in made else {})}
        case "array":
            return [_sample(contract, next(iter(_inside_of(contract, reference, 0))))]
        case "string":
            return "2100-01-01T00:00:00.000Z" if said.get("format") == "javascript-date" else "text"
        case "boolean":
            return True
        case "integer" | "number":
            return 0
        case _:
            return None


def put(result: Any, case: Case, stand_in: Any) -> Any:
    """The result with `stand_in` in the field of the case; as it was where it has no place for that field."""
    if case.value == EXTRA:
        fields = object_of(result)
        return {**fields, "notInAnySchema": {"a": [1]}} if fields else result
    if not case.path:
        return stand_in
    copy = json.loads(json.dumps(result))
    parent = copy
    for step in case.path[:-1]:
        parent = _step(parent, step)
    last = case.path[-1]
    if isinstance(last, str) and isinstance(parent, dict):
        if case.value == ABSENT:
            cast("dict[str, Any]", parent).pop(last, None)
        else:
            parent[last] = stand_in
    elif isinstance(parent, list) and isinstance(last, int) and len(cast("list[Any]", parent)) > last:
        if case.value == ABSENT:
            del parent[last]
        else:
            parent[last] = stand_in
    return copy


def _step(parent: Any, step: str | int) -> Any:
    if isinstance(step, str):
        return object_of(parent).get(step)
    items = items_of(parent)
    return items[step] if step < len(items) else None


def _paths(contract: Contract, reference: str, path: Path) -> Iterator[Path]:
    yield path
    steps: dict[str | int, None] = {}
    for node in contract.method_schemas.nodes(reference, []):
        steps.update(dict.fromkeys(object_of(node.get("properties"))))
        if "items" in node:
            steps[0] = None
    for step in steps:
        for inner in _inside_of(contract, reference, step):
            yield from _paths(contract, inner, (*path, step))


def _inside_of(contract: Contract, reference: str, step: str | int) -> Iterator[str]:
    """Where the schema of a property, or of the items, of a schema stands; references are followed."""
    place = f"properties/{step}" if isinstance(step, str) else "items"
    while True:
        node = contract.method_schemas.nodes(reference, [])[0]
        if step in object_of(node.get("properties")) or (step == 0 and "items" in node):
            yield f"{reference}/{place}"
        target = node.get("$ref")
        if not isinstance(target, str):
            return
        reference = f"{reference.partition('#')[0]}{target}" if target.startswith("#") else target
