"""Turning what a schema refused into problems that an author can act on."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from jsonschema import ValidationError

from conformance.contract import javascript
from conformance.contract.dialect import Schema, SchemaSet
from conformance.contract.records import Problem, Severity
from conformance.model import Json, RequirementId
from conformance.nearest import nearest

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN = 80  # characters of a provider's value in a message; enough to recognise it, too few to flood a report

_LISTED = 20  # words that a message may list; the host knows some eighty capabilities

_RULES = {
    "type": "wrong-type",
    "required": "missing",
    "additionalProperties": "unknown-key",
    "minLength": "too-short",
    "maxLength": "too-long",
    "pattern": "bad-form",
    "format": "bad-form",
    "enum": "unknown-value",
    "const": "wrong-value",
    "minItems": "too-few",
    "maxItems": "too-many",
    "uniqueItems": "duplicate",
    "minimum": "too-small",
    "maximum": "too-large",
    "contains": "lacks-value",
}
_KINDS = {"integer": "a whole number", "object": "an object", "array": "an array", "null": "null"}


def problems(schemas: SchemaSet, reference: str, document: Json) -> tuple[Problem, ...]:
    """Every rule of the schema that the document breaks, in the order of its paths."""
    validator = schemas.validator(reference)
    found = [_problem(schemas, reference, error) for error in cast("Any", validator).iter_errors(document)]
    return in_order(found)


def in_order(found: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems sorted by path and rule, none twice."""
    return tuple(sorted(set(found), key=lambda problem: (problem.path, problem.rule, problem.message)))


def path_of(steps: Iterable[str | int]) -> str:
    """A JSON path such as ``$.environmentDrivers[0].driverKey``."""
    path = "$"
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            path += f".{step}"
        else:
            path += f"[{json.dumps(step)}]"
    return path


def shown(value: object) -> str:
    """A value as it goes into a message: JSON in ASCII, cut."""
    text = json.dumps(value, default=_plain)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _plain(value: object) -> object:
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else str(value)


def _problem(schemas: SchemaSet, reference: str, error: ValidationError) -> Problem:
    keyword = str(error.validator)
    steps = list(error.absolute_schema_path)
    nodes = schemas.nodes(reference, steps[:-1])
    if keyword == "required":
        nodes = [*nodes, *_property_nodes(schemas, reference, steps[:-1], str(error.path[-1]))]
    node = nodes[-1]
    rule = _RULES.get(keyword, "not-allowed")
    severity: Severity = "warning" if _nearest(nodes, "x-severity") == "warning" else "error"
    requirement = _nearest(nodes, "x-requirement")
    if keyword == "type" and error.instance is None and len(error.absolute_path) > 0:
        rule = "null-field"
        requirement = _null_requirement(nodes, str(error.absolute_path[-1])) or requirement
    elif keyword == "maxLength" and len(str(error.instance)) <= int(cast("Any", error.validator_value)):
        # Later hosts may count characters, where this one counts UTF-16 units.
        rule, severity = "too-long-in-units", "warning"
    return Problem(
        path=path_of(error.absolute_path),
        rule=str(node.get("x-rule", rule)) if keyword not in {"required", "type"} else rule,
        requirement=RequirementId(requirement) if requirement else None,
        message=_message(keyword, error, node),
        severity=severity,
    )


def _nearest(nodes: Sequence[Schema], annotation: str) -> str | None:
    for node in reversed(nodes):
        if annotation in node:
            return str(node[annotation]) or None
    return None


def _null_requirement(nodes: Sequence[Schema], name: str) -> str | None:
    """The row on null in place of absence, where a parent carries one and the field is optional."""
    for node in reversed(nodes):
        properties = node.get("properties")
        if isinstance(properties, Mapping) and name in properties:
            needed = cast("list[str]", node.get("required", []))
            return None if name in needed else _nearest(nodes, "x-null-requirement")
    return None


def _property_nodes(schemas: SchemaSet, reference: str, steps: list[str | int], name: str) -> list[Schema]:
    properties = schemas.nodes(reference, steps)[-1].get("properties")
    if not isinstance(properties, Mapping) or name not in properties:
        return []
    return schemas.nodes(reference, [*steps, "properties", name])


def _message(keyword: str, error: ValidationError, node: Schema) -> str:
    says = _SAYINGS.get(keyword)
    if says is not None:
        return says(error.instance, error.validator_value)
    form = node.get("x-says", "does not have the form that the host demands")
    return f"{form}; got {shown(error.instance)}"


def _says_type(value: object, wanted: Any) -> str:
    kinds: list[str] = [wanted] if isinstance(wanted, str) else wanted
    named = " or ".join(_KINDS.get(kind, f"a {kind}") for kind in kinds)
    return f"must be {named}, not {shown(value)}; a value is never converted"


def _says_too_short(_value: object, wanted: Any) -> str:
    return "must not be empty" if wanted == 1 else f"must have at least {wanted} characters"


def _says_too_long(value: object, wanted: Any) -> str:
    length = javascript.length_in_units(str(value))
    return f"must have at most {wanted} characters, has {length} (counted in UTF-16 units, as the host does)"


def _says_unknown(value: object, known: list[str]) -> str:
    if len(known) <= _LISTED:
        return f"{shown(value)} is not one of {', '.join(known)}"
    guess = nearest(str(value), known)
    return f"{shown(value)} is not one of the {len(known)} words that the host knows here" + (
        f"; did you mean {shown(guess)}?" if guess else ""
    )


_SAYINGS: Mapping[str, Callable[[Any, Any], str]] = {
    "type": _says_type,
    "required": lambda _value, _wanted: "is required and missing",
    "additionalProperties": lambda _value, _wanted: "is not a key that may stand here",
    "minLength": _says_too_short,
    "maxLength": _says_too_long,
    "enum": lambda value, wanted: _says_unknown(value, [str(word) for word in wanted]),
    "const": lambda value, wanted: f"must be {shown(wanted)}, not {shown(value)}",
    "minItems": lambda value, wanted: f"must hold at least {wanted}, holds {len(value)}",
    "maxItems": lambda value, wanted: f"must hold at most {wanted}, holds {len(value)}",
    "uniqueItems": lambda _value, _wanted: "must not hold a value twice",
    "minimum": lambda value, wanted: f"must be at least {wanted}, is {shown(value)}",
    "maximum": lambda value, wanted: f"must be at most {wanted}, is {shown(value)}",
    "contains": lambda _value, wanted: f"must hold {shown(wanted.get('const'))}",
}
