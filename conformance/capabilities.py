"""The host's rule, `effective = verified ∩ declared ∩ narrowing`, failing closed, as a frozen snapshot."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, cast

from conformance.contract import Contract
from conformance.model import CapabilityKey, Json, JsonObject, Situation, items_of, object_of

SANDBOX_PROVIDER = "sandbox_provider"
"""The only kind of driver that the host uses as a sandbox provider."""

Declared: TypeAlias = Mapping[CapabilityKey, bool | None]
"""Per capability: true, false, or None where the key is omitted."""


@dataclass(frozen=True)
class Snapshot(Mapping[CapabilityKey, bool]):
    """What is effective in one situation. Cannot be changed; compares by value."""

    values_by_key: tuple[tuple[CapabilityKey, bool], ...]

    def __getitem__(self, key: CapabilityKey) -> bool:
        return dict(self.values_by_key)[key]

    def __iter__(self) -> Iterator[CapabilityKey]:
        return (key for key, _ in self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)

    @property
    def effective(self) -> frozenset[CapabilityKey]:
        """The keys that are on."""
        return frozenset(key for key, on in self.values_by_key if on)


def declared_capabilities(contract: Contract, driver: JsonObject) -> Declared:
    """The declaration of one driver, with each legacy flag folded in; a nested value wins over the flag.

    A value that is no boolean counts as false: a manifest that holds one is rejected anyway.
    """
    named = object_of(driver.get("sandboxCapabilities"))
    folded: dict[CapabilityKey, bool | None] = {}
    for key, rule in contract.capabilities.items():
        if key in named:
            folded[key] = named[key] is True
        elif rule.legacy_flag is not None and rule.legacy_flag in driver:
            folded[key] = driver[rule.legacy_flag] is True
        else:
            folded[key] = None
    return MappingProxyType(folded)


def refused(contract: Contract, driver: JsonObject) -> bool:
    """Whether the host refuses any manifest with this declaration, so that no plugin is ever identified by it.

    One key that the revision does not know is enough, and so is one value that is no boolean.
    """
    nested = driver.get("sandboxCapabilities", {})
    flags = {rule.legacy_flag for rule in contract.capabilities.values()} & driver.keys()
    values = [*object_of(nested).values(), *(driver[flag] for flag in flags if flag is not None)]
    known = contract.capabilities.keys() >= object_of(nested).keys()
    return not (isinstance(nested, Mapping) and known and all(isinstance(value, bool) for value in values))


def verified_methods(supported: Json) -> frozenset[str]:
    """The methods that a `supportedMethods` value verifies. Anything but an array of strings verifies nothing."""
    if not isinstance(supported, list | tuple) or not all(isinstance(name, str) for name in supported):
        return frozenset()
    return frozenset(cast("Iterable[str]", supported))


def identify(installed: Mapping[str, Json], plugin_id: str | None, driver_key: str | None) -> JsonObject | None:
    """The driver that a lease's exact plugin declares now.

    `installed` maps plugin ids to manifests. None when the plugin is absent, when the lease names no plugin or key,
    or when the plugin no longer declares the key with kind ``sandbox_provider``.
    """
    if not plugin_id or not driver_key:
        return None
    for driver in items_of(object_of(installed.get(plugin_id)).get("environmentDrivers")):
        found = object_of(driver)
        if found.get("driverKey") == driver_key and found.get("kind") == SANDBOX_PROVIDER:
            return found
    return None


def lease_situations(metadata: JsonObject, *, reusable: bool) -> frozenset[Situation]:
    """The narrowing situations of one lease, from its policy and its metadata."""
    found = {Situation.REUSABLE_LEASE if reusable else Situation.EPHEMERAL_LEASE}
    if metadata.get("backend") == "job":
        found.add(Situation.JOB_LEASE)
    if metadata.get("nativeFileSyncUnsupported") is True:
        found.add(Situation.NATIVE_SYNC_UNSUPPORTED)
    return frozenset(found)


def resolve(
    contract: Contract, *, verified: frozenset[str], driver: JsonObject | None, situations: Iterable[Situation] = ()
) -> Snapshot:
    """The effective capabilities.

    Nothing is on when the exact plugin could not be identified: `driver` is None, or is no sandbox provider, or stands
    in a manifest that the host refuses.
    """
    asked = frozenset(situations)
    if driver is None or driver.get("kind") != SANDBOX_PROVIDER or refused(contract, driver):
        return Snapshot(tuple((key, False) for key in contract.capabilities))
    declared = declared_capabilities(contract, driver)
    removed = {key for rule in contract.narrowings if rule.situation in asked for key in rule.removes}
    return Snapshot(
        tuple(
            (key, _is_on(rule.opt_in, declared[key]) and verified.issuperset(rule.prerequisites) and key not in removed)
            for key, rule in contract.capabilities.items()
        )
    )


def every_situation(contract: Contract, *, verified: frozenset[str], driver: JsonObject) -> dict[Situation, Snapshot]:
    """One snapshot for each situation the contract names, for the table of the report."""
    return {
        situation: resolve(contract, verified=verified, driver=driver, situations=(situation,))
        for situation in Situation
    }


def claimed(contract: Contract, key: CapabilityKey, driver: JsonObject) -> bool:
    """Whether a host would use the capability if the methods were there: declared true, or omitted and deferring."""
    if driver.get("kind") != SANDBOX_PROVIDER:
        return False
    return _is_on(contract.capabilities[key].opt_in, declared_capabilities(contract, driver)[key])


def _is_on(opt_in: bool, declared: bool | None) -> bool:  # noqa: FBT001 - two facts of one key, never mixed up
    return declared if declared is not None else not opt_in
