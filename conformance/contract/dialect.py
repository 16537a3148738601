"""JSON Schema as JavaScript would apply it: Draft 2020-12, with lengths, patterns and numbers of the host.

Standard keywords keep their meaning, with these exact readings: lengths count UTF-16 units, patterns are JavaScript's,
``1.0`` is an integer and a boolean is no number. The dialect adds

* ``trimmed``: a schema for the text without its outer white space;
* ``format: "date"`` (a day of the calendar, ``YYYY-MM-DD``) and ``format: "javascript-date"``;
* annotations that other modules read: ``x-requirement``, ``x-rule``, ``x-says``, ``x-severity``.

Missing and unknown keys are reported one by one, at the path of the key itself.
"""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from conformance.contract import javascript
from conformance.contract.errors import ContractDataError

Errors = Iterator[ValidationError]
Schema = Mapping[str, object]
Names = list[str]

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LAST_OF_FEBRUARY_IN_LEAP_YEAR_ZERO = "0000-02-29"


def _is_object(_checker: object, value: object) -> bool:
    return isinstance(value, Mapping)


def _is_array(_checker: object, value: object) -> bool:
    return isinstance(value, list | tuple)


def _is_number(_checker: object, value: object) -> bool:
    return javascript.is_number(value)


def _is_integer(_checker: object, value: object) -> bool:
    return javascript.is_integer(value)


def _min_length(_validator: Validator, limit: int, value: object, _schema: Schema) -> Errors:
    if isinstance(value, str) and javascript.length_in_units(value) < limit:
        yield ValidationError("too short")


def _max_length(_validator: Validator, limit: int, value: object, _schema: Schema) -> Errors:
    if isinstance(value, str) and javascript.length_in_units(value) > limit:
        yield ValidationError("too long")


def _pattern(_validator: Validator, pattern: str, value: object, _schema: Schema) -> Errors:
    if isinstance(value, str) and javascript.compiled(pattern).search(value) is None:
        yield ValidationError("pattern")


def _required(_validator: Validator, names: Names, value: object, _schema: Schema) -> Errors:
    if isinstance(value, Mapping):
        for name in names:
            if name not in value:
                yield ValidationError("missing", path=[name])


def _additional_properties(validator: Validator, rest: object, value: object, schema: Schema) -> Errors:
    if not isinstance(value, Mapping):
        return
    known = cast("Mapping[str, object]", schema.get("properties", {}))
    for name, item in cast("Mapping[str, object]", value).items():
        if name in known:
            continue
        if rest is False:
            yield ValidationError("unknown key", path=[name])
        else:
            yield from cast("Any", validator).descend(item, rest, path=name)


def _trimmed(validator: Validator, inner: Schema, value: object, _schema: Schema) -> Errors:
    if isinstance(value, str):
        yield from cast("Any", validator).descend(javascript.trimmed(value), inner)


def _is_day(value: object) -> bool:
    if not isinstance(value, str):
        return True
    if not _DAY.fullmatch(value):
        return False
    # Python's calendar begins with the year 1, JavaScript's check with the year 0, which is a leap year.
    if value.startswith("0000-"):
        return value == _LAST_OF_FEBRUARY_IN_LEAP_YEAR_ZERO or _is_day(f"0001{value[4:]}")
    try:
        dt.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_javascript_date(value: object) -> bool:
    return not isinstance(value, str) or javascript.is_date(value)


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    checker.checks("date")(_is_day)
    checker.checks("javascript-date")(_is_javascript_date)
    return checker


_Dialect: Any = cast("Any", validators).extend(
    Draft202012Validator,
    validators={
        "minLength": _min_length,
        "maxLength": _max_length,
        "pattern": _pattern,
        "required": _required,
        "additionalProperties": _additional_properties,
        "trimmed": _trimmed,
    },
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"object": _is_object, "array": _is_array, "number": _is_number, "integer": _is_integer}
    ),
)


class SchemaSet:
    """The schema files of one folder, which may refer to one another by file name."""

    def __init__(self, folder: str, files: Mapping[str, Schema]) -> None:
        self.folder = folder
        # With `$schema` in it, a file that another refers to would be read by the plain validator of that draft.
        plain = {name: {key: schema[key] for key in schema if key != "$schema"} for name, schema in files.items()}
        resources = [(name, Resource(schema, DRAFT202012)) for name, schema in plain.items()]
        self._registry: Registry[Any] = _empty_registry().with_resources(resources)
        self._formats = _formats()
        for name, schema in files.items():
            self._check(name, schema)

    def validator(self, reference: str) -> Validator:
        """A validator for a place such as ``driver.json#/$defs/driver``."""
        try:
            self._registry.resolver().lookup(reference)
        except Unresolvable as error:
            raise ContractDataError(self.folder, reference, "there is no such schema") from error
        made: Validator = _Dialect({"$ref": reference}, registry=self._registry, format_checker=self._formats)
        return made

    def nodes(self, reference: str, steps: list[str | int]) -> list[Schema]:
        """The schemas that are passed on the way `steps` from a reference, outermost first, references followed."""
        found: list[Schema] = []
        here = self._registry.resolver().lookup(reference)
        node, resolver = here.contents, here.resolver
        for step in [*steps, None]:
            while isinstance(node, Mapping) and "$ref" in node and (step is None or step not in node):
                found.append(cast("Schema", node))
                here = resolver.lookup(cast("Mapping[str, str]", node)["$ref"])
                node, resolver = here.contents, here.resolver
            if isinstance(node, Mapping):
                found.append(cast("Schema", node))
            if step is not None:
                node = cast("Any", node)[step]
        return found

    def _check(self, name: str, schema: Schema) -> None:
        meta: Any = Draft202012Validator(Draft202012Validator.META_SCHEMA)
        for error in meta.iter_errors(schema):
            key = "/".join(str(step) for step in error.absolute_path) or "file"
            raise ContractDataError(name, key, f"is no JSON Schema: {error.message[:200]}")
        for reference in _references(schema):
            target = reference if not reference.startswith("#") else f"{name}{reference}"
            try:
                self._registry.resolver().lookup(target)
            except Unresolvable as error:
                raise ContractDataError(name, "$ref", f"{reference} leads nowhere") from error


def _empty_registry() -> Any:
    # The annotations of the library leave the kind of resource open here, and an open kind spreads.
    return cast("Any", Registry)()


def _references(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in cast("Mapping[str, object]", node).items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for item in cast("list[object]", node):
            yield from _references(item)
