"""Reading a data file so that every slip is named by file and key, and no unknown key passes unseen."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import cast

from conformance.contract.errors import ContractDataError

Raw = Mapping[str, object]


@dataclass(frozen=True)
class Table:
    """One table of a data file, with the way to it."""

    file: str
    at: str
    values: Raw

    def error(self, key: str, reason: str) -> ContractDataError:
        """Say what is wrong with a key of this table."""
        return ContractDataError(self.file, f"{self.at}.{key}".strip("."), reason)

    def only(self, *known: str) -> None:
        """Refuse a key that the reader would never look at."""
        for key in self.values:
            if key not in known:
                raise self.error(key, f"unknown key; known are {', '.join(sorted(known))}")

    def text(self, key: str) -> str:
        """A text that must be there and say something."""
        value = self.values.get(key)
        if value is None:
            raise self.error(key, "missing")
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, "must be a text that is not blank")
        return value

    def optional_text(self, key: str) -> str | None:
        """A text, or None where the key is absent."""
        return self.text(key) if key in self.values else None

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false; without a default the key must be there."""
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, "missing")
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return value

    def number(self, key: str) -> float:
        """A number that must be there."""
        value = self.values.get(key)
        if value is None:
            raise self.error(key, "missing")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, "must be a number")
        return float(value)

    def integer(self, key: str) -> int:
        """A whole number that must be there."""
        value = self.number(key)
        if not value.is_integer():
            raise self.error(key, "must be a whole number")
        return int(value)

    def texts(self, key: str, *, optional: bool = False) -> tuple[str, ...]:
        """A list of texts, none twice."""
        value = self.values.get(key, () if optional else None)
        if value is None:
            raise self.error(key, "missing")
        if not isinstance(value, list | tuple):
            raise self.error(key, "must be a list of texts")
        items = cast("list[object] | tuple[object, ...]", value)
        texts = tuple(item for item in items if isinstance(item, str) and item)
        if len(texts) != len(items):
            raise self.error(key, "must be a list of texts")
        if len(set(texts)) != len(texts):
            raise self.error(key, "holds a value twice")
        return texts

    def word(self, key: str, legal: tuple[str, ...]) -> str:
        """One of a closed set of words."""
        value = self.text(key)
        if value not in legal:
            raise self.error(key, f"{value!r} is not one of {', '.join(legal)}")
        return value

    def table(self, key: str) -> "Table":
        """A table inside this one."""
        value = self.values.get(key)
        if value is None:
            raise self.error(key, "missing")
        if not isinstance(value, Mapping):
            raise self.error(key, "must be a table")
        return Table(self.file, f"{self.at}.{key}".strip("."), cast("Raw", value))

    def rows(self, key: str) -> Iterator["Table"]:
        """The tables of a list of tables, in order."""
        value = self.values.get(key)
        if value is None:
            raise self.error(key, "missing")
        if not isinstance(value, list):
            raise self.error(key, "must be a list of tables")
        for number, row in enumerate(cast("list[object]", value)):
            if not isinstance(row, Mapping):
                raise self.error(f"{key}[{number}]", "must be a table")
            yield Table(self.file, f"{self.at}.{key}[{number}]".strip("."), cast("Raw", row))

    def items(self) -> Iterator[tuple[str, "Table"]]:
        """The named tables inside this one, in the order of the file."""
        for key in self.values:
            yield key, self.table(key)


def read_toml(file: Traversable) -> Table:
    """Read a TOML file as one table."""
    try:
        return Table(file.name, "", tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ContractDataError(file.name, "file", str(error)) from error


def read_schema(file: Traversable) -> Mapping[str, object]:
    """Read a JSON Schema file; its content is checked when a validator is made of it."""
    try:
        schema: object = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ContractDataError(file.name, "file", str(error)) from error
    if not isinstance(schema, Mapping):
        raise ContractDataError(file.name, "file", "must be a JSON object")
    return cast("Mapping[str, object]", schema)
