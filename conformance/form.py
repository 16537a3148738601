"""What can be put into the fields of a driver's `configSchema`: values of a wrong type, and other values that fit.

The schema is all that the kit knows of a provider's settings, so a value that fits it may still name an image or a
region that does not exist.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry

from conformance.model import Json, JsonObject, items_of, object_of
from conformance.subject import Subject

WORD = "conformance"
"""A text that is a legal name almost anywhere."""

LONGEST_TEXT = 4096
"""Longest text that is made for a field with a `minLength` (our choice)."""

_WRONG: Mapping[str, Json] = {
    "string": {"not": "a text"},
    "boolean": "neither true nor false",
    "number": "not a number",
    "integer": "not a number",
    "array": "not a list",
    "object": "not an object",
}


def own_fields(subject: Subject) -> Mapping[str, JsonObject]:
    """The provider's own settings that have a type: neither secrets nor keys of the host."""
    others = {*subject.secret_names, *subject.contract.host_keys}
    return {name: rule for name, rule in subject.typed_properties.items() if name not in others}


def required_fields(subject: Subject) -> tuple[str, ...]:
    """Properties without which a config is not complete."""
    schema = object_of(subject.driver.get("configSchema"))
    listed = [name for name in items_of(schema.get("required")) if isinstance(name, str)]
    return tuple(name for name in listed if name in subject.properties and name not in subject.contract.host_keys)


def defaults(subject: Subject) -> dict[str, Json]:
    """What the settings form is filled with before the operator changes anything."""
    return {
        name: rule["default"]
        for name, rule in subject.properties.items()
        if "default" in rule and name not in subject.secret_names
    }


def wrong_value(rule: JsonObject) -> Json:
    """A value of another type than the field's. For a field without a type that the kit knows, null."""
    return _WRONG.get(str(rule.get("type")))


def other_value(rule: JsonObject, now: Json) -> Json:
    """A value that fits the field and is neither `now` nor its default; None where none can be made."""
    taken = (now, rule.get("default"))
    fitting = (value for value in _candidates(rule) if value is not None and allows(rule, value))
    return next((value for value in fitting if not any(_same(value, other) for other in taken)), None)


def unnamed_values(subject: Subject) -> dict[str, Json]:
    """For each own field that is a number, a switch or a choice, another value that fits it.

    A text is left out: it may name an image or a region, and whether that exists is not to be seen in the config.
    """
    fields = {
        name: rule
        for name, rule in own_fields(subject).items()
        if "enum" in rule or rule.get("type") in {"boolean", "integer", "number"}
    }
    others = {name: other_value(rule, subject.stored_config.get(name)) for name, rule in fields.items()}
    return {name: value for name, value in others.items() if value is not None}


def allows(rule: JsonObject, value: Json) -> bool:
    """Whether a property allows a value. A rule that cannot be applied allows everything: the host applies none."""
    try:
        # An empty registry: a $ref to another place must not make the kit fetch it.
        validator: Any = Draft202012Validator(dict(rule), registry=Registry())
        return bool(validator.is_valid(value))
    except Exception:  # noqa: BLE001 - the schema is a stranger's, and its faults have no common family
        return True


def _candidates(rule: JsonObject) -> Iterable[Json]:
    if "enum" in rule:
        return items_of(rule["enum"])
    match rule.get("type"):
        case "boolean":
            return (True, False)
        case "integer" | "number":
            return _numbers(rule)
        case "string":
            return _texts(rule)
        case _:
            return ()


def _numbers(rule: JsonObject) -> Iterable[int]:
    bounds = [number for name in ("minimum", "exclusiveMinimum") if (number := _number(rule, name)) is not None]
    least = max((int(bound) for bound in bounds), default=0)
    # Small ones first: where a setting is a delay, an answer must not be held back for longer than the host waits.
    return (1, 2, 10, 60, 1000, 60_000, least, least + 1, least + 2)


def _texts(rule: JsonObject) -> Iterable[str]:
    if "format" in rule:
        # What a format asks for is not looked at by a JSON Schema validator, but may be by the provider.
        return
    least, most = _number(rule, "minLength") or 0, _number(rule, "maxLength")
    for text in (WORD, f"{WORD}-2"):
        long_enough = text + "x" * max(0, int(min(least, LONGEST_TEXT)) - len(text))
        yield long_enough if most is None else long_enough[: max(0, int(most))]


def _number(rule: JsonObject, name: str) -> float | None:
    value = rule.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
