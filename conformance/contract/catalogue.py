"""The requirement catalogue: every obligation of every revision, one file for each area."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from types import MappingProxyType

from conformance.contract.errors import ContractDataError
from conformance.contract.records import Requirement
from conformance.contract.tables import Table, read_toml
from conformance.model import Level, RequirementId

AREAS = (
    "manifest",
    "initialize",
    "rpc",
    "capabilities",
    "config",
    "probe",
    "lease",
    "workspace",
    "execute",
    "sessions",
    "streaming",
    "sync",
    "fallback",
    "setup",
    "terminal",
    "duplex",
    "ingress",
    "security",
    "life",
)
"""The areas of the contract, in the order of a conversation; one word each, and the name of a file."""

_FILE_KEYS = ("area", "prefix", "profile", "requirement")
_ROW_KEYS = (
    "id",
    "level",
    "statement",
    "source",
    "observed_by",
    "since",
    "until",
    "profile",
    "not_observable",
    "why",
    "usually",
)


def load_catalogue(
    folder: Traversable, revisions: Sequence[str], profiles: Sequence[str]
) -> Mapping[RequirementId, Requirement]:
    """Read all areas in order. Raises `ContractDataError` at the first slip, with the file and the key."""
    found: dict[RequirementId, Requirement] = {}
    for area in AREAS:
        file = folder / f"{area}.toml"
        if not file.is_file():
            raise ContractDataError(file.name, "file", "missing: every area has its file")
        for row, requirement in _rows(read_toml(file), area, revisions, profiles):
            if requirement.id in found:
                raise row.error("id", f"{requirement.id} stands twice")
            found[requirement.id] = requirement
    for file in folder.iterdir():
        if file.name.endswith(".toml") and file.name.removesuffix(".toml") not in AREAS:
            raise ContractDataError(file.name, "file", "is the file of no area")
    return MappingProxyType(found)


def _rows(
    table: Table, area: str, revisions: Sequence[str], profiles: Sequence[str]
) -> Iterator[tuple[Table, Requirement]]:
    table.only(*_FILE_KEYS)
    table.word("area", AREAS)
    if table.text("area") != area:
        raise table.error("area", f"the file of {area} says {table.text('area')}")
    for row in table.rows("requirement"):
        row.only(*_ROW_KEYS)
        yield row, _requirement(row, table, area, revisions, profiles)


def _requirement(row: Table, table: Table, area: str, revisions: Sequence[str], profiles: Sequence[str]) -> Requirement:
    identity, prefix = row.text("id"), table.text("prefix")
    if not identity.startswith(f"{prefix}-") or not identity.removeprefix(f"{prefix}-").isdecimal():
        raise row.error("id", f"{identity!r} is no id of {area}, which are {prefix}-001 and so on")
    since = row.word("since", tuple(revisions))
    until = row.word("until", tuple(revisions)) if "until" in row.values else None
    if until is not None and revisions.index(since) > revisions.index(until):
        raise row.error("since", f"{since} comes after until, {until}")
    profile = (row if "profile" in row.values else table).word("profile", tuple(profiles))
    level = Level(row.word("level", tuple(Level)))
    requirement = Requirement(
        id=RequirementId(identity),
        level=level,
        area=area,
        statement=row.text("statement"),
        source=row.text("source"),
        observed_by=row.text("observed_by"),
        since=since,
        until=until,
        profile=profile,
        not_observable=row.optional_text("not_observable"),
        why=row.optional_text("why"),
        usually=row.optional_text("usually"),
    )
    if level is Level.MAY and requirement.not_observable is None:
        raise row.error("not_observable", "missing: nothing can be broken where a provider may choose")
    return requirement
