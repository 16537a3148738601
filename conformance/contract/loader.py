"""Reading one revision of the contract from its folder."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from conformance.contract.catalogue import load_catalogue
from conformance.contract.contract import Contract
from conformance.contract.crossfield import read_rule
from conformance.contract.dialect import SchemaSet
from conformance.contract.errors import ContractDataError, UnknownRevisionError
from conformance.contract.records import (
    CapabilityRule,
    Limit,
    MethodRule,
    NarrowingRule,
    ProfileRule,
    Requirement,
)
from conformance.contract.tables import Table, read_schema, read_toml
from conformance.model import CapabilityKey, MethodName, RequirementId, Situation


def revisions() -> tuple[str, ...]:
    """The revisions that this kit can judge, oldest first."""
    return available_revisions(_data())


@cache
def load_contract(revision: str) -> Contract:
    """Everything the kit knows of one revision; read once, for it is frozen and the data does not change.

    Raises `UnknownRevisionError` for a revision without data, `ContractDataError` where the data is broken.
    """
    return load_contract_from(_data(), revision)


def available_revisions(data: Traversable) -> tuple[str, ...]:
    """The revisions for which a data folder holds a folder, in the order of the index."""
    return tuple(name for name in _index(data) if (data / "revisions" / name).is_dir())


def load_contract_from(data: Traversable, revision: str) -> Contract:
    """As `load_contract`, from a folder of one's own."""
    index, available = _index(data), available_revisions(data)
    if revision not in available:
        raise UnknownRevisionError(revision, available)
    folder = data / "revisions" / revision
    profiles = _profiles(read_toml(data / "profiles.toml"))
    requirements = load_catalogue(data / "requirements", tuple(index), tuple(profiles))
    _check_profiles(profiles, requirements)
    limits = _limits(read_toml(folder / "limits.toml"))
    methods = _methods(read_toml(folder / "methods.toml"), limits)
    capabilities = _capabilities(read_toml(folder / "capabilities.toml"), methods, profiles)
    manifest = _schemas(folder / "manifest")
    keys = read_toml(folder / "keys.toml")
    keys.only("host", "internal", "reserved_metadata")
    rules = read_toml(folder / "manifest" / "rules.toml")
    rules.only("rule")
    return Contract(
        revision=revision,
        package_version=index[revision],
        digest=_digest(data, folder),
        order=tuple(index),
        capabilities=capabilities,
        narrowings=_narrowings(read_toml(folder / "narrowings.toml"), capabilities),
        methods=methods,
        error_codes=_error_codes(read_toml(folder / "errors.toml")),
        limits=limits,
        requirements=requirements,
        host_keys=keys.texts("host"),
        internal_keys=keys.texts("internal"),
        reserved_metadata_keys=keys.texts("reserved_metadata"),
        worker_methods=_worker_methods(read_toml(folder / "worker-methods.toml")),
        profiles=profiles,
        manifest_schemas=manifest,
        manifest_rules=tuple(read_rule(row) for row in rules.rows("rule")),
        method_schemas=_method_schemas(folder / "methods", methods),
    )


def _data() -> Traversable:
    return files("conformance.contract")


def _index(data: Traversable) -> Mapping[str, str]:
    table = read_toml(data / "revisions.toml")
    table.only("revision")
    found: dict[str, str] = {}
    for row in table.rows("revision"):
        row.only("name", "package_version")
        if row.text("name") in found:
            raise row.error("name", f"{row.text('name')} stands twice")
        found[row.text("name")] = row.text("package_version")
    return found


def _profiles(table: Table) -> Mapping[str, ProfileRule]:
    found: dict[str, ProfileRule] = {}
    for name, row in table.items():
        row.only("title", "requirements")
        ids = tuple(RequirementId(text) for text in row.texts("requirements", optional=True))
        found[name] = ProfileRule(name=name, title=row.text("title"), requirements=ids)
    return MappingProxyType(found)


def _check_profiles(profiles: Mapping[str, ProfileRule], requirements: Mapping[RequirementId, Requirement]) -> None:
    for profile in profiles.values():
        for requirement in profile.requirements:
            if requirement not in requirements:
                raise ContractDataError("profiles.toml", f"{profile.name}.requirements", f"{requirement} is unknown")


def _limits(table: Table) -> Mapping[str, Limit]:
    found: dict[str, Limit] = {}
    for name, row in table.items():
        row.only("value", "unit", "chosen_by", "reason", "growth", "grows_with")
        growth = row.word("growth", ("largest", "first")) if "growth" in row.values else "fixed"
        try:
            found[name] = Limit(
                name=name,
                value=row.number("value"),
                unit=row.text("unit"),
                chosen_by="kit" if row.word("chosen_by", ("contract", "kit")) == "kit" else "contract",
                reason=row.text("reason"),
                growth="largest" if growth == "largest" else "first" if growth == "first" else "fixed",
                grows_with=row.texts("grows_with", optional=True),
            )
        except ValueError as error:
            raise row.error("value", str(error)) from error
    return MappingProxyType(found)


def _methods(table: Table, limits: Mapping[str, Limit]) -> Mapping[MethodName, MethodRule]:
    found: dict[MethodName, MethodRule] = {}
    for name, row in table.items():
        row.only("called_unlisted", "optional", "invocation", "limit", "flag")
        found[MethodName(name)] = MethodRule(
            name=MethodName(name),
            direction="host-to-worker",
            called_unlisted=row.flag("called_unlisted"),
            optional=row.flag("optional"),
            invocation=row.flag("invocation"),
            limit=row.word("limit", tuple(limits)),
            flag=row.optional_text("flag"),
        )
    return MappingProxyType(found)


def _capabilities(
    table: Table, methods: Mapping[MethodName, MethodRule], profiles: Mapping[str, ProfileRule]
) -> Mapping[CapabilityKey, CapabilityRule]:
    found: dict[CapabilityKey, CapabilityRule] = {}
    for name, row in table.items():
        row.only("title", "prerequisites", "opt_in", "legacy_flag", "pair", "profile")
        pair = row.word("pair", tuple(table.values)) if "pair" in row.values else None
        prerequisites = tuple(MethodName(method) for method in row.texts("prerequisites"))
        for method in prerequisites:
            if method not in methods:
                raise row.error("prerequisites", f"{method} is no method of this revision")
        found[CapabilityKey(name)] = CapabilityRule(
            key=CapabilityKey(name),
            prerequisites=prerequisites,
            opt_in=row.flag("opt_in"),
            legacy_flag=row.optional_text("legacy_flag"),
            pair=CapabilityKey(pair) if pair is not None else None,
            profile=row.word("profile", tuple(profiles)),
            title=row.text("title"),
        )
    return MappingProxyType(found)


def _narrowings(table: Table, capabilities: Mapping[CapabilityKey, CapabilityRule]) -> tuple[NarrowingRule, ...]:
    found: list[NarrowingRule] = []
    for name, row in table.items():
        row.only("removes", "when")
        removed = row.texts("removes")
        for key in removed:
            if key not in capabilities:
                raise row.error("removes", f"{key} is no capability of this revision")
        if name not in tuple(Situation):
            raise table.error(name, f"is no situation; known are {', '.join(Situation)}")
        keys = frozenset(CapabilityKey(key) for key in removed)
        found.append(NarrowingRule(situation=Situation(name), removes=keys, when=row.text("when")))
    missing = [situation for situation in Situation if situation not in {rule.situation for rule in found}]
    if missing:
        raise table.error(missing[0], "missing: every situation has its narrowing, if only an empty one")
    return tuple(found)


def _error_codes(table: Table) -> Mapping[str, int]:
    return MappingProxyType({name: table.integer(name) for name in table.values})


def _worker_methods(table: Table) -> Mapping[str, str | None]:
    table.only("open", "gated")
    gated = table.table("gated")
    found: dict[str, str | None] = dict.fromkeys(table.texts("open"))
    for name in gated.values:
        if name in found:
            raise gated.error(name, "cannot be open and gated")
        found[name] = gated.text(name)
    return MappingProxyType(found)


def _schemas(folder: Traversable) -> SchemaSet:
    found = {file.name: read_schema(file) for file in _sorted(folder) if file.name.endswith(".json")}
    return SchemaSet(folder.name, found)


def _method_schemas(folder: Traversable, methods: Mapping[MethodName, MethodRule]) -> SchemaSet:
    schemas = _schemas(folder)
    for method in methods:
        for part in ("params", "result"):
            schemas.validator(f"{method}.json#/$defs/{part}")
    return schemas


def _digest(data: Traversable, folder: Traversable) -> str:
    """A digest over names and bytes of all files that the contract of this revision is made of."""
    summed = hashlib.sha256()
    parts = [("revisions.toml", data / "revisions.toml"), ("profiles.toml", data / "profiles.toml")]
    parts += [*_walk("requirements", data / "requirements"), *_walk("revision", folder)]
    for name, file in sorted(parts, key=lambda part: part[0]):
        content = file.read_bytes()
        summed.update(f"{name}\0{len(content)}\0".encode())
        summed.update(content)
    return f"sha256:{summed.hexdigest()}"


def _walk(name: str, folder: Traversable) -> Iterator[tuple[str, Traversable]]:
    for entry in _sorted(folder):
        if entry.is_dir():
            yield from _walk(f"{name}/{entry.name}", entry)
        elif entry.name.endswith((".toml", ".json")):
            yield f"{name}/{entry.name}", entry


def _sorted(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda entry: entry.name)
