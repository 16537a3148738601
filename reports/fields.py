"""A typed look into the JSON objects of the stream; what does not fit is refused with the place where it stands.

Every text that leaves here is clean: a stream may come from a stranger, and a report holds nothing that would
have to be cleaned later.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from json import dumps
from typing import NoReturn, TypeVar

from conformance.errors import UsageFault
from conformance.events import StreamError
from conformance.model import Json, JsonObject
from conformance.reports.sanitize import clean, one_line

Word = TypeVar("Word", bound=StrEnum)

LABEL_LIMIT = 200
"""Characters kept of an id, a name or a key: our choice, far above any real one."""


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object, and where in the stream it stands."""

    values: JsonObject
    where: str
    line: int = 0

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        found = dumps(self.values.get(key))[:60]
        advice = "Read it with the version of the kit that wrote it, or run the kit again."
        problem = f"`{key}` of {self.where} should be {wanted}, and is {found}"
        if not self.line:
            # Only lines of a stream have numbers: this is another document.
            raise UsageFault(f"{problem}.", advice)
        raise StreamError(problem, advice, line=self.line)

    def text(self, key: str) -> str:
        """Read a text that must be there."""
        value = self.values.get(key)
        return clean(value) if isinstance(value, str) else self._refuse(key, "a text")

    def maybe_text(self, key: str) -> str | None:
        """Read a text that may be absent or null."""
        return None if self.values.get(key) is None else self.text(key)

    def label(self, key: str) -> str:
        """Read an id, a name or a key that must be there."""
        return one_line(self.text(key), LABEL_LIMIT)

    def maybe_label(self, key: str) -> str | None:
        """Read an id, a name or a key that may be absent or null."""
        return None if self.values.get(key) is None else self.label(key)

    def prose(self, key: str) -> str | None:
        """Read what a check said in words; anything but a text is shown as compact JSON."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return clean(value) if value else None
        return clean(dumps(value, ensure_ascii=False, separators=(",", ":")))

    def number(self, key: str) -> float | None:
        """Read a number that may be absent or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(key, "a number")
        return value

    def flag(self, key: str) -> bool | None:
        """Read true or false; None when absent or null."""
        value = self.values.get(key)
        return value if value is None or isinstance(value, bool) else self._refuse(key, "true or false")

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts; absent or null is an empty one."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._refuse(key, "a list of texts")
        return tuple(clean(each) if isinstance(each, str) else self._refuse(key, "a list of texts") for each in value)

    def integers(self, key: str) -> tuple[int, ...]:
        """Read a list of whole numbers; absent or null is an empty one."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._refuse(key, "a list of whole numbers")
        return tuple(each if isinstance(each, int) else self._refuse(key, "a list of whole numbers") for each in value)

    def word(self, key: str, words: type[Word]) -> Word:
        """Read one word of a closed set."""
        value = self.values.get(key)
        if not isinstance(value, str) or value not in {each.value for each in words}:
            self._refuse(key, f"a {words.__name__.lower()} this kit knows")
        return words(value)

    def inner(self, key: str) -> "Fields":
        """Look into an object; absent or null is an empty one."""
        value = self.values.get(key)
        if value is None:
            return Fields({}, f"`{key}` of {self.where}", self.line)
        if not isinstance(value, Mapping):
            self._refuse(key, "an object")
        return Fields(value, f"`{key}` of {self.where}", self.line)

    def entries(self, key: str) -> dict[str, "Fields"]:
        """Look into an object whose values are objects."""
        inside = self.inner(key)
        return {one_line(each, LABEL_LIMIT): inside.inner(each) for each in inside.values}

    def rows(self, key: str) -> tuple["Fields", ...]:
        """Look into a list of objects; absent or null is an empty one."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._refuse(key, "a list of objects")
        where = f"`{key}` of {self.where}"
        return tuple(
            Fields(each, where, self.line) if isinstance(each, Mapping) else self._refuse(key, "a list of objects")
            for each in value
        )

    def json(self, key: str) -> Json:
        """Read a value as it is."""
        return self.values.get(key)
