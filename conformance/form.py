"""What can be put into the fields of a driver's `configSchema`: values of a wrong type, and other values that fit.

The schema is all that the kit knows of a provider's settings, so a value that fits it may still name an image or a
region that does not exist.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

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

_UNKNOWN_LIMITS = frozenset({"pattern", "format", "const", "not", "anyOf", "allOf", "oneOf", "$ref", "if"})
"""Keywords that this module does not read: a field that has one gets no other value."""


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
    fitting = (value for value in _candidates(rule) if not any(_same(value, other) for other in taken))
    return next(fitting, None)


def _candidates(rule: JsonObject) -> Iterator[Json]:
    if rule.keys() & _UNKNOWN_LIMITS:
        return
    if "enum" in rule:
        yield from (value for value in items_of(rule["enum"]) if value is not None and _has_type(value, rule))
        return
    match rule.get("type"):
        case "boolean":
            yield from (True, False)
        case "integer" | "number":
            yield from _numbers(rule)
        case "string":
            yield from _texts(rule)
        case _:
            return


def _has_type(value: Json, rule: JsonObject) -> bool:
    match rule.get("type"):
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case _:
            return False


def _numbers(rule: JsonObject) -> Iterator[int]:
    bounds = [number for name in ("minimum", "exclusiveMinimum") if (number := _number(rule, name)) is not None]
    least = max((int(bound) + 1 for bound in bounds), default=1)
    step = _number(rule, "multipleOf") or 1
    # Small ones first: where a setting is a delay, an answer must not be held back for longer than the host waits.
    near = chain((1, 2, 10, 60, 1000, 60_000), range(least, least + 3))
    yield from (number for number in near if in_bounds(number, rule) and number % step == 0)


def in_bounds(number: float, rule: JsonObject) -> bool:
    """Whether a number is neither too small nor too large for a field."""
    low, high = _number(rule, "minimum"), _number(rule, "maximum")
    above, below = _number(rule, "exclusiveMinimum"), _number(rule, "exclusiveMaximum")
    fits_closed = (low is None or number >= low) and (high is None or number <= high)
    return fits_closed and (above is None or number > above) and (below is None or number < below)


def _texts(rule: JsonObject) -> Iterator[str]:
    least, most = _number(rule, "minLength") or 0, _number(rule, "maxLength")
    if least > min(LONGEST_TEXT, LONGEST_TEXT if most is None else most):
        return
    for text in (WORD, f"{WORD}-2"):
        long_enough = text + "x" * max(0, int(least) - len(text))
        yield long_enough if most is None else long_enough[: int(most)]


def _number(rule: JsonObject, name: str) -> float | None:
    value = rule.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _same(one: Json, other: Json) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
