"""The host's rule, `effective = verified ∩ declared ∩ narrowing`, failing closed, as a frozen snapshot."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, cast

from conformance.contract import Contract
from conformance.errors import KitError
from conformance.model import CapabilityKey, Json, JsonObject, Situation, items_of, object_of

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


def unknown_capability_keys(contract: Contract, driver: JsonObject) -> tuple[str, ...]:
    """Keys of `sandboxCapabilities` that this revision refuses; one of them rejects the whole manifest."""
    return tuple(key for key in object_of(driver.get("sandboxCapabilities")) if key not in contract.capabilities)


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
        if found.get("driverKey") == driver_key and found.get("kind") == "sandbox_provider":
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
    """The effective capabilities. `driver` is None when the exact plugin could not be identified: nothing is on."""
    asked = frozenset(situations)
    if driver is None or Situation.IDENTITY_FAILURE in asked:
        return Snapshot(tuple((key, False) for key in contract.capabilities))
    if unknown_capability_keys(contract, driver):
        # The host refuses such a manifest, so no plugin with this declaration is ever identified.
        return Snapshot(tuple((key, False) for key in contract.capabilities))
    declared = declared_capabilities(contract, driver)
    removed = _removed(contract, asked)
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
    return _is_on(contract.capabilities[key].opt_in, declared_capabilities(contract, driver)[key])


def _is_on(opt_in: bool, declared: bool | None) -> bool:  # noqa: FBT001 - two facts of one key, never mixed up
    return declared if declared is not None else not opt_in


def _removed(contract: Contract, situations: frozenset[Situation]) -> frozenset[CapabilityKey]:
    known = {rule.situation: rule.removes for rule in contract.narrowings}
    removed: frozenset[CapabilityKey] = frozenset()
    for situation in situations:
        if situation in known:
            removed |= known[situation]
        elif situation not in {Situation.PLAIN, Situation.REUSABLE_LEASE}:
            raise KitError(f"The contract data names no narrowing for the situation {situation}.")
    return removed
