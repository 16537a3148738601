"""One revision of the contract, as everything else in the kit asks it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.contract.crossfield import ManifestRule
from conformance.contract.dialect import SchemaSet
from conformance.contract.records import (
    CapabilityRule,
    Limit,
    MethodRule,
    NarrowingRule,
    Problem,
    ProfileRule,
    Requirement,
)
from conformance.contract.wording import in_order, problems
from conformance.model import CapabilityKey, Json, MethodName, RequirementId

_MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Contract:
    """What the host promises and demands in one revision.

    `order` lists all revisions, oldest first. `requirements` holds the rows of every revision; ask `applies`.
    `capabilities` stand in the order of declaration. `worker_methods` maps what a worker may ask of the host to the
    manifest capability it needs, or None. `digest` is taken over all data files of the revision and the catalogue.
    """

    revision: str
    package_version: str
    digest: str
    order: tuple[str, ...]
    capabilities: Mapping[CapabilityKey, CapabilityRule]
    narrowings: tuple[NarrowingRule, ...]
    methods: Mapping[MethodName, MethodRule]
    error_codes: Mapping[str, int]
    limits: Mapping[str, Limit]
    requirements: Mapping[RequirementId, Requirement]
    host_keys: tuple[str, ...]
    internal_keys: tuple[str, ...]
    reserved_metadata_keys: tuple[str, ...]
    worker_methods: Mapping[str, str | None]
    profiles: Mapping[str, ProfileRule]
    manifest_schemas: SchemaSet = field(repr=False)
    manifest_rules: tuple[ManifestRule, ...] = field(repr=False)
    method_schemas: SchemaSet = field(repr=False)

    def applies(self, requirement: Requirement) -> bool:
        """Whether the requirement holds in this revision."""
        here = self.order.index(self.revision)
        last = len(self.order) if requirement.until is None else self.order.index(requirement.until)
        return self.order.index(requirement.since) <= here <= last

    def manifest_problems(self, manifest: Json) -> tuple[Problem, ...]:
        """Every rule that the manifest breaks: the host's, and those that only the kit checks.

        A length between the limit in characters and the limit in UTF-16 units is a warning, because hosts differ.
        """
        found = problems(self.manifest_schemas, _MANIFEST, manifest)
        if isinstance(manifest, Mapping):
            found += tuple(problem for rule in self.manifest_rules for problem in rule.problems(manifest))
        return in_order(found)

    def manifest_rejected(self, manifest: Json) -> bool:
        """Whether the host's validator refuses the manifest: exactly its verdict, nothing added by the kit."""
        validator = cast("Any", self.manifest_schemas.validator(_MANIFEST))
        if not validator.is_valid(manifest):
            return True
        rules = (rule for rule in self.manifest_rules if rule.host)
        return any(True for rule in rules for _ in rule.broken_at(manifest))

    def params_problems(self, method: MethodName, params: Json) -> tuple[Problem, ...]:
        """Every rule that the params of a request break. Unknown keys are problems: the host sends none.

        Raises KeyError for a method that this revision does not have.
        """
        return self._call_problems(method, "params", params)

    def result_problems(self, method: MethodName, result: Json) -> tuple[Problem, ...]:
        """Every rule that the result of a call breaks. Unknown keys are allowed.

        Raises KeyError for a method that this revision does not have.
        """
        return self._call_problems(method, "result", result)

    def _call_problems(self, method: MethodName, part: str, document: Json) -> tuple[Problem, ...]:
        return problems(self.method_schemas, f"{self.methods[method].name}.json#/$defs/{part}", document)
