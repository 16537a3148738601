"""The provider under test as far as its package tells: manifest, driver, declaration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.capabilities import SANDBOX_PROVIDER, Declared, declared_capabilities
from conformance.contract import Contract, Problem
from conformance.errors import UsageFault
from conformance.hooks import Hooks
from conformance.host.package import Package
from conformance.host.tenant import secret_id
from conformance.model import JsonObject, RequirementId, items_of, object_of
from conformance.nearest import nearest

NO_HOOKS = Hooks()


@dataclass(frozen=True)
class Subject:
    """A found package, one of its drivers, and every rule that its manifest breaks.

    `config` is the environment config that the author wants to be tested with, secrets filled in; `stored_config` holds
    the ids of those secrets instead, as a host saves them; `secret_ids` maps the ids to the values.
    """

    package: Package
    contract: Contract
    driver: JsonObject
    problems: tuple[Problem, ...]
    config: JsonObject = field(repr=False)
    stored_config: JsonObject
    secret_ids: Mapping[str, str] = field(repr=False)
    hooks: Hooks = NO_HOOKS

    @property
    def manifest_object(self) -> JsonObject:
        """The manifest, or an empty object when it is none."""
        return object_of(self.package.manifest)

    @property
    def driver_key(self) -> str:
        """The driver's key; empty when the manifest has none."""
        key = self.driver.get("driverKey")
        return key if isinstance(key, str) else ""

    @property
    def plugin_id(self) -> str:
        """The manifest id; empty when it has none."""
        value = self.manifest_object.get("id")
        return value if isinstance(value, str) else ""

    @property
    def declared(self) -> Declared:
        """The declaration of every capability, legacy flag folded in."""
        return declared_capabilities(self.contract, self.driver)

    def flag(self, name: str) -> bool:
        """Whether a boolean flag of the driver is true."""
        return self.driver.get(name) is True

    @property
    def flags(self) -> dict[str, bool]:
        """Every boolean flag the driver sets outside `sandboxCapabilities`."""
        return {key: value for key, value in self.driver.items() if isinstance(value, bool)}

    @property
    def properties(self) -> Mapping[str, JsonObject]:
        """Properties of `configSchema` that are objects."""
        schema = object_of(self.driver.get("configSchema"))
        return {
            name: object_of(rule)
            for name, rule in object_of(schema.get("properties")).items()
            if isinstance(rule, Mapping)
        }

    @property
    def typed_properties(self) -> Mapping[str, JsonObject]:
        """Properties with a single `type`."""
        return {name: rule for name, rule in self.properties.items() if isinstance(rule.get("type"), str)}

    @property
    def secret_fields(self) -> tuple[str, ...]:
        """Top-level properties that hold secrets."""
        return tuple(
            name
            for name, rule in self.properties.items()
            if rule.get("format") == "secret-ref" and rule.get("type") == "string"
        )

    @property
    def secret_names(self) -> frozenset[str]:
        """Every config key whose value is a secret: by the schema, or because the author gave it as one."""
        ids = list(self.secret_ids)
        return frozenset({*self.secret_fields, *(name for name, value in self.stored_config.items() if value in ids)})

    @property
    def template_field(self) -> str:
        """The config property that names the template of a sandbox; empty when the driver has none."""
        field_name = object_of(self.driver.get("templateConfigBinding")).get("field")
        return field_name if isinstance(field_name, str) else ""

    @property
    def blocking(self) -> tuple[RequirementId, str] | None:
        """The first broken rule that keeps a host from starting the worker, with its sentence."""
        for fault in self.package.faults:
            return fault.requirement, fault.sentence()
        for problem in self.problems:
            if problem.severity == "error":
                # Parts of a manifest that a sandbox provider does not need are in no row of their own.
                return problem.requirement or RequirementId("MAN-001"), f"{problem.path}: {problem.message}"
        return None


def make_subject(
    package: Package,
    contract: Contract,
    driver_key: str | None,
    config: JsonObject,
    secrets: Mapping[str, str],
    hooks: Hooks = NO_HOOKS,
) -> Subject:
    """Pick the driver and judge the manifest. Raises `UsageFault` when `driver_key` names no sandbox driver."""
    listed = items_of(object_of(package.manifest).get("environmentDrivers"))
    drivers = [object_of(driver) for driver in listed if _is_sandbox(object_of(driver))]
    if driver_key is not None:
        known = [str(driver.get("driverKey")) for driver in drivers]
        drivers = [driver for driver in drivers if driver.get("driverKey") == driver_key]
        if not drivers:
            hint = nearest(driver_key, known)
            guess = f" Did you mean {hint!r}?" if hint else ""
            raise UsageFault(
                f"The manifest has no sandbox provider with the driverKey {driver_key!r}.{guess}",
                f"Known: {', '.join(known)}." if known else "It has no sandbox provider at all.",
            )
    ids = {name: secret_id(name) for name in secrets}
    return Subject(
        package=package,
        contract=contract,
        driver=drivers[0] if drivers else {},
        problems=contract.manifest_problems(package.manifest) if package.fault("MAN-001") is None else (),
        config={**config, **secrets},
        stored_config={**config, **ids},
        secret_ids={ids[name]: value for name, value in secrets.items()},
        hooks=hooks,
    )


def _is_sandbox(driver: JsonObject) -> bool:
    return driver.get("kind") == SANDBOX_PROVIDER
