"""Rules that tie two places of a manifest together. What they are about is data; here is what each kind means."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from conformance.contract import javascript
from conformance.contract.places import Place, Steps, first, is_filled, places
from conformance.contract.records import Problem, Severity
from conformance.contract.tables import Table
from conformance.contract.wording import path_of, shown
from conformance.model import Json, RequirementId

_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)", re.ASCII)


@dataclass(frozen=True)
class ManifestRule:
    """One named rule. `host` says whether the host's own validator enforces it, or only the kit."""

    name: str
    requirement: RequirementId | None
    message: str
    severity: Severity
    host: bool
    broken_at: Callable[[Json], Iterator[tuple[Steps, str]]]

    def problems(self, manifest: Json) -> Iterator[Problem]:
        """Every place where the manifest breaks this rule."""
        for steps, detail in self.broken_at(manifest):
            message = f"{self.message}{f' ({detail})' if detail else ''}"
            yield Problem(path_of(steps), self.name, self.requirement, message, self.severity)


def read_rule(row: Table) -> ManifestRule:
    """Read one rule of a rules file; the kind decides which further keys it takes."""
    kind = row.word("kind", tuple(_KINDS))
    common = ("rule", "kind", "requirement", "message", "severity", "host")
    make, keys = _KINDS[kind]
    row.only(*common, *keys)
    requirement = row.optional_text("requirement")
    severity: Severity = "warning" if row.optional_text("severity") == "warning" else "error"
    return ManifestRule(
        name=row.text("rule"),
        requirement=RequirementId(requirement) if requirement is not None else None,
        message=row.text("message"),
        severity=severity,
        host=row.flag("host", default=True),
        broken_at=make(row),
    )


_Finder = Callable[[Json], Iterator[tuple[Steps, str]]]


def _unique(row: Table) -> _Finder:
    """Items of the lists together, or the lists of one path each for itself, differ in the named keys."""
    lists, keys, each = row.texts("lists"), row.texts("keys", optional=True), row.optional_text("each")
    trim = row.flag("trim", default=False)

    def value_of(item: Json) -> str | None:
        parts = [first(item, key) for key in keys] if keys else [item]
        texts = [javascript.trimmed(part) if trim else part for part in parts if isinstance(part, str)]
        return " ".join(texts) if len(texts) == len(parts) else None

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for base, parent in places(manifest, each or ""):
            seen: set[str] = set()
            for steps, item in (place for path in lists for place in places(parent, f"{path}[*]", base)):
                value = value_of(item)
                if value is not None and value in seen:
                    yield (*steps, *(keys[:1])), shown(value)
                if value is not None:
                    seen.add(value)

    return find


def _needs_capabilities(row: Table) -> _Finder:
    """A section that is there and not empty needs names in `capabilities`."""
    section, needed = row.text("section"), row.texts("capabilities")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        held = _strings(first(manifest, "capabilities"))
        if is_filled(first(manifest, section)):
            yield from ((("capabilities",), name) for name in needed if name not in held)

    return find


def _value_needs_capability(row: Table) -> _Finder:
    """A value at one of the paths needs the name in `capabilities` that the table gives for it."""
    paths, table = row.texts("paths"), row.table("by_value")
    needed = {value: table.text(value) for value in table.values}

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        held = _strings(first(manifest, "capabilities"))
        for steps, value in (place for path in paths for place in places(manifest, path)):
            name = needed.get(value) if isinstance(value, str) else None
            if name is not None and name not in held:
                yield steps, f"{shown(value)} needs {name}"

    return find


def _equal(row: Table) -> _Finder:
    """Two fields are equal where both are there."""
    each, (one, other) = row.optional_text("each"), row.texts("fields")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for steps, parent in places(manifest, each or ""):
            left, right = first(parent, one), first(parent, other)
            if left is not None and right is not None and left != right:
                yield (*steps, one), f"{shown(left)} and {shown(right)}"

    return find


def _required_by(row: Table) -> _Finder:
    """A field is needed as soon as one of the sections is filled."""
    field, sections = row.text("field"), row.texts("sections")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        used = [section for section in sections if is_filled(first(manifest, section))]
        if used and not first(manifest, field):
            yield tuple(field.split(".")), f"because of {', '.join(used)}"

    return find


def _declared(row: Table) -> _Finder:
    """Each value at one path is among the values at another."""
    used, declared = row.text("used"), row.text("declared")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        known = [value for _, value in places(manifest, declared)]
        yield from ((steps, shown(value)) for steps, value in _items(manifest, used) if value not in known)

    return find


def _differs(row: Table) -> _Finder:
    """No item of a list equals a field beside it."""
    each, items, field = row.text("each"), row.text("items"), row.text("field")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for base, parent in places(manifest, each):
            other = first(parent, field)
            yield from ((steps, shown(value)) for steps, value in _items(parent, items, base) if value == other)

    return find


def _not_below(row: Table) -> _Finder:
    """A number is not smaller than another beside it."""
    each, field, floor = row.text("each"), row.text("field"), row.text("floor")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for steps, parent in places(manifest, each):
            value, least = first(parent, field), first(parent, floor)
            if _is_number(value) and _is_number(least) and cast("float", value) < cast("float", least):
                yield (*steps, field), f"{shown(value)} is below {shown(least)}"

    return find


def _one_of_options(row: Table) -> _Finder:
    """The value of a choice is one of its options, compared without outer white space of the options."""
    each, field, options = row.text("each"), row.text("field"), row.text("options")
    selector, word = row.texts("when")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for steps, parent in places(manifest, each):
            value = first(parent, field)
            known = [javascript.trimmed(text) for text in _strings(first(parent, options))]
            if first(parent, selector) == word and value is not None and value not in known:
                yield (*steps, field), shown(value)

    return find


def _some(row: Table) -> _Finder:
    """At least one item has the value."""
    path, value = row.text("path"), row.text("value")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        if all(found != value for _, found in places(manifest, path)):
            yield (path.partition("[")[0],), ""

    return find


def _never(row: Table) -> _Finder:
    """No place has one of the values."""
    path, values = row.text("path"), row.texts("values")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        yield from ((steps, shown(value)) for steps, value in places(manifest, path) if value in values)

    return find


def _known_keys(row: Table) -> _Finder:
    """The objects at a path have no key but the known ones."""
    path, known = row.text("path"), row.texts("known")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for steps, parent in places(manifest, path):
            if isinstance(parent, Mapping):
                yield from (((*steps, key), "") for key in parent if key not in known)

    return find


def _not_above_release(row: Table) -> _Finder:
    """A version that somebody demands is not above the release of this revision."""
    field, release = row.text("field"), _release(row.text("release"))

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        value = first(manifest, field)
        if isinstance(value, str) and _RELEASE.match(value) and _release(value) > release:
            yield (field,), f"{shown(value)} is above {'.'.join(map(str, release))}"

    return find


def _secret_format(row: Table) -> _Finder:
    """A property whose name sounds like a secret is a text with the format of a secret reference."""
    paths, name, wanted = row.texts("paths"), re.compile(row.text("name")), row.text("format")

    def find(manifest: Json) -> Iterator[tuple[Steps, str]]:
        for base, parent in (place for path in paths for place in places(manifest, path)):
            for key, schema in parent.items() if isinstance(parent, Mapping) else ():
                kind, form = first(schema, "type"), first(schema, "format")
                if name.search(key) and kind == "string" and form != wanted:
                    yield (*base, key), ""

    return find


_KINDS: Mapping[str, tuple[Callable[[Table], _Finder], tuple[str, ...]]] = {
    "unique": (_unique, ("lists", "keys", "each", "trim")),
    "needs-capabilities": (_needs_capabilities, ("section", "capabilities")),
    "value-needs-capability": (_value_needs_capability, ("paths", "by_value")),
    "equal": (_equal, ("each", "fields")),
    "required-by": (_required_by, ("field", "sections")),
    "declared": (_declared, ("used", "declared")),
    "differs": (_differs, ("each", "items", "field")),
    "not-below": (_not_below, ("each", "field", "floor")),
    "one-of-options": (_one_of_options, ("each", "field", "options", "when")),
    "some": (_some, ("path", "value")),
    "never": (_never, ("path", "values")),
    "known-keys": (_known_keys, ("path", "known")),
    "not-above-release": (_not_above_release, ("field", "release")),
    "secret-format": (_secret_format, ("paths", "name", "format")),
}


def _items(document: Json, path: str, base: Steps = ()) -> Iterator[Place]:
    for steps, value in places(document, path, base):
        if isinstance(value, list | tuple):
            yield from (((*steps, number), item) for number, item in enumerate(cast("Sequence[Json]", value)))


def _strings(value: Json) -> tuple[str, ...]:
    items = cast("Sequence[Json]", value) if isinstance(value, list | tuple) else ()
    return tuple(item for item in items if isinstance(item, str))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _release(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version)
    return tuple(int(part) for part in match.groups()) if match else ()
