"""Finding places in a JSON document by a path such as ``environmentDrivers[*].driverKey``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from conformance.model import Json

Steps: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = tuple[Steps, Json]


def places(document: Json, path: str, base: Steps = ()) -> Iterator[Place]:
    """Every place of the document that the path names; a place that is absent is left out, not an error."""
    if not path:
        yield base, document
        return
    name, _, rest = path.partition(".")
    key = name.removesuffix("[*]")
    if not isinstance(document, Mapping) or key not in document:
        return
    value = document[key]
    if key == name:
        yield from places(value, rest, (*base, key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(cast("Sequence[Json]", value)):
            yield from places(item, rest, (*base, key, number))


def first(document: Json, path: str) -> Json:
    """The value at the first place that the path names, or None."""
    return next((value for _, value in places(document, path)), None)


def is_filled(value: Json) -> bool:
    """Whether a section is there and not an empty list."""
    return value is not None and not (isinstance(value, list | tuple) and not value)
