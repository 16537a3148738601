"""Each broken rule of a manifest is named with its place and its requirement, and the measured cases hold."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.contract import Contract, load_contract
from tests.contract.edges import EMOJI
from tests.contract.manifests import everything, sandbox_provider

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


def put(path: str, value: object) -> Change:
    """A change that sets one place; `d` stands for the first driver."""

    def change(manifest: dict[str, Any]) -> None:
        place: Any = manifest
        steps = path.replace("d.", "environmentDrivers.0.", 1).split(".")
        for step in steps[:-1]:
            place = place[int(step)] if step.isdigit() else place[step]
        place[int(steps[-1]) if steps[-1].isdigit() else steps[-1]] = value

    return change


def spelled(path: str) -> str:
    """The JSON path that stands behind a short one; `d` is the first driver."""
    return f"$.environmentDrivers[0].{path[2:]}" if path.startswith("d.") else path


def drop(path: str) -> Change:
    """A change that removes one key."""

    def change(manifest: dict[str, Any]) -> None:
        place: Any = manifest["environmentDrivers"][0] if path.startswith("d.") else manifest
        del place[path.removeprefix("d.")]

    return change


BROKEN: tuple[tuple[str, Change, str, str, str | None], ...] = (
    ("id", put("id", "@acme/x"), "$.id", "bad-form", "MAN-002"),
    ("id-line-end", put("id", "acme\n"), "$.id", "bad-form", "MAN-002"),
    ("no-id", drop("id"), "$.id", "missing", "MAN-002"),
    ("api-version", put("apiVersion", "1"), "$.apiVersion", "wrong-value", "MAN-003"),
    ("api-version-true", put("apiVersion", value=True), "$.apiVersion", "wrong-value", "MAN-003"),
    ("version", put("version", "v1.0.0"), "$.version", "bad-form", "MAN-004"),
    ("version-digits", put("version", "\u0661.0.0"), "$.version", "bad-form", "MAN-004"),
    ("name", put("displayName", "a" * 101), "$.displayName", "too-long", "MAN-005"),
    ("author", put("author", ""), "$.author", "too-short", "MAN-005"),
    ("author-null", put("author", None), "$.author", "null-field", "MAN-005"),
    ("categories", put("categories", []), "$.categories", "too-few", "MAN-006"),
    ("category", put("categories", ["sandbox"]), "$.categories[0]", "unknown-value", "MAN-006"),
    ("capability", put("capabilities.1", "metrics"), "$.capabilities[1]", "unknown-value", "MAN-007"),
    ("no-register", put("capabilities", ["metrics.write"]), "$.capabilities", "driver-without-capability", "MAN-007"),
    ("no-worker", put("entrypoints", {}), "$.entrypoints.worker", "missing", "MAN-008"),
    ("worker", put("entrypoints.worker", ""), "$.entrypoints.worker", "too-short", "MAN-008"),
    ("minimum", put("minimumHostVersion", "2026.824"), "$.minimumHostVersion", "bad-form", "MAN-009"),
    (
        "two-minimums",
        put("minimumPaperclipVersion", "1.0.0"),
        "$.minimumHostVersion",
        "minimum-versions-differ",
        "MAN-009",
    ),
    ("kind", put("environmentDrivers.1.kind", "sandbox"), "$.environmentDrivers[1].kind", "unknown-value", "MAN-010"),
    ("driver-key", put("d.driverKey", "Acme"), "d.driverKey", "bad-form", "MAN-011"),
    (
        "same-key",
        put("environmentDrivers.1.driverKey", "acme"),
        "$.environmentDrivers[1].driverKey",
        "duplicate-driver-key",
        "MAN-011",
    ),
    ("no-schema", drop("d.configSchema"), "d.configSchema", "missing", "MAN-012"),
    ("null-schema", put("d.configSchema", None), "d.configSchema", "null-field", "MAN-012"),
    ("list-schema", put("d.configSchema", []), "d.configSchema", "wrong-type", "MAN-012"),
    ("bare-schema", put("d.configSchema", {"properties": {}}), "d.configSchema", "not-a-schema", "MAN-012"),
    ("type-list", put("d.configSchema", {"type": ["object"]}), "d.configSchema", "not-a-schema", "MAN-012"),
    (
        "key",
        put("d.sandboxCapabilities.duplexCommandStream", value=True),
        "d.sandboxCapabilities.duplexCommandStream",
        "unknown-key",
        "MAN-014",
    ),
    (
        "value",
        put("d.sandboxCapabilities.nativeSyncIn", "true"),
        "d.sandboxCapabilities.nativeSyncIn",
        "wrong-type",
        "MAN-014",
    ),
    (
        "binding-provider",
        put("d.templateConfigBinding.field", "provider"),
        "d.templateConfigBinding.field",
        "provider-replaced",
        "MAN-017",
    ),
    ("binding-key", put("d.templateConfigBinding.x", 1), "d.templateConfigBinding.x", "unknown-key", "MAN-017"),
    (
        "binding-same",
        put("d.templateConfigBinding.unsetFields", ["snapshot"]),
        "d.templateConfigBinding.unsetFields[0]",
        "binding-unsets-what-it-sets",
        "MAN-017",
    ),
    (
        "binding-twice",
        put("d.templateConfigBinding.unsetFields", ["a", "a"]),
        "d.templateConfigBinding.unsetFields[1]",
        "duplicate-unset-field",
        "MAN-017",
    ),
    (
        "binding-21",
        put("d.templateConfigBinding.unsetFields", [f"a{n}" for n in range(21)]),
        "d.templateConfigBinding.unsetFields",
        "too-many",
        "MAN-017",
    ),
    (
        "11-types",
        put("d.interactiveSetupConnectionTypes", ["ssh"] * 11),
        "d.interactiveSetupConnectionTypes",
        "too-many",
        "MAN-017",
    ),
    ("21-paths", put("d.templateIdentityPaths", ["a"] * 21), "d.templateIdentityPaths", "too-many", "MAN-017"),
    ("ref-kind", put("d.templateRefKind", ""), "d.templateRefKind", "too-short", "MAN-017"),
    ("null-flag", put("d.supportsTemplateDelete", None), "d.supportsTemplateDelete", "null-field", "MAN-018"),
    ("null-section", put("jobs", None), "$.jobs", "null-field", "MAN-018"),
    ("empty-slots", put("ui", {"slots": []}), "$.ui.slots", "too-few", None),
)


@pytest.mark.parametrize(
    ("change", "path", "rule", "requirement"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_broken_rule_is_named_with_its_place(
    contract: Contract, change: Change, path: str, rule: str, requirement: str | None
) -> None:
    manifest = sandbox_provider()
    change(manifest)

    assert contract.manifest_rejected(manifest)
    errors = [problem for problem in contract.manifest_problems(manifest) if problem.severity == "error"]
    assert [(problem.path, problem.rule, problem.requirement) for problem in errors] == [
        (spelled(path), rule, requirement)
    ]
    assert str(errors[0]).startswith(f"{spelled(path)}: ")


ACCEPTED: tuple[tuple[str, Change], ...] = (
    ("unknown-top-key", put("extra", 1)),
    ("unknown-entrypoint", put("entrypoints.extra", 1)),
    ("no-driver-description", drop("d.description")),
    ("long-driver-key", put("d.driverKey", "a" * 300)),
    ("blank-name", put("displayName", " ")),
    ("no-capabilities-declared", put("d.sandboxCapabilities", {})),
    ("same-capability-twice", put("capabilities", ["environment.drivers.register"] * 2)),
    ("same-category-twice", put("categories", ["ui", "ui"])),
    ("leading-zero", put("version", "01.0.0")),
    ("one-as-float", put("apiVersion", 1.0)),
    ("empty-schema", put("d.configSchema", {})),
    ("odd-type", put("d.configSchema", {"type": "bogus"})),
    ("null-ref", put("d.configSchema", {"$ref": None})),
    ("one-of-nothing", put("d.configSchema", {"oneOf": []})),
    ("empty-ui", put("ui", {})),
    ("same-minimums", put("minimumPaperclipVersion", "2026.824.0")),
)


@pytest.mark.parametrize("change", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_what_looks_wrong_and_is_accepted(contract: Contract, change: Change) -> None:
    manifest = sandbox_provider()
    change(manifest)

    assert not contract.manifest_rejected(manifest)
    assert [problem for problem in contract.manifest_problems(manifest) if problem.severity == "error"] == []


KIT_ONLY: tuple[tuple[str, Change, str, str, str | None, str], ...] = (
    ("no-kind", drop("d.kind"), "$.environmentDrivers", "no-sandbox-provider", "MAN-010", "error"),
    ("no-drivers", put("environmentDrivers", []), "$.environmentDrivers", "no-sandbox-provider", "MAN-010", "error"),
    ("fake", put("d.driverKey", "fake"), "d.driverKey", "built-in-driver-key", "MAN-011", "error"),
    (
        "newer",
        put("minimumHostVersion", "2026.831.1"),
        "$.minimumHostVersion",
        "minimum-version-above-host",
        "MAN-009",
        "error",
    ),
    (
        "dropped",
        put("d.supportsLoginPty", value=True),
        "d.supportsLoginPty",
        "dropped-driver-key",
        "MAN-015",
        "warning",
    ),
)


@pytest.mark.parametrize(
    ("change", "path", "rule", "requirement", "severity"),
    [row[1:] for row in KIT_ONLY],
    ids=[row[0] for row in KIT_ONLY],
)
def test_what_only_the_kit_objects_to(
    contract: Contract, change: Change, path: str, rule: str, requirement: str | None, severity: str
) -> None:
    manifest = sandbox_provider()
    manifest["environmentDrivers"][0]["configSchema"] = {}
    change(manifest)

    assert not contract.manifest_rejected(manifest)
    found = [(p.path, p.rule, p.requirement, p.severity) for p in contract.manifest_problems(manifest)]
    assert found == [(spelled(path), rule, requirement, severity)]


def test_a_plain_secret_field_is_a_warning(contract: Contract) -> None:
    [problem] = contract.manifest_problems(sandbox_provider())

    assert (problem.path, problem.requirement) == (spelled("d.configSchema.properties.apiKey"), "MAN-013")
    assert problem.severity == "warning"


def test_a_length_on_which_hosts_differ_is_a_warning_and_still_refused_here(contract: Contract) -> None:
    manifest = {**sandbox_provider(), "displayName": EMOJI * 60}

    rules = {problem.rule: problem.severity for problem in contract.manifest_problems(manifest)}

    assert rules["too-long-in-units"] == "warning"
    assert contract.manifest_rejected(manifest)


@pytest.mark.parametrize("document", [None, True, 1, "x", []])
def test_what_is_no_object_is_one_problem(contract: Contract, document: Any) -> None:
    [problem] = contract.manifest_problems(document)

    assert (problem.path, problem.rule) == ("$", "wrong-type")
    assert contract.manifest_rejected(document)


def test_the_full_manifest_lacks_only_capabilities_of_the_interface(contract: Contract) -> None:
    errors = {problem.rule for problem in contract.manifest_problems(everything()) if problem.severity == "error"}

    assert errors == {"interface-without-capability"}


def test_a_hostile_value_is_cut_and_escaped(contract: Contract) -> None:
    manifest = {**sandbox_provider(), "version": "\x1b[31m" + "x" * 10_000}

    [problem, *_] = [problem for problem in contract.manifest_problems(manifest) if problem.path == "$.version"]

    assert "\x1b" not in problem.message
    assert len(problem.message) < 300
