"""The records that the contract is made of: requirements, capabilities, methods, limits, profiles, problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from conformance.model import CapabilityKey, Json, JsonObject, Level, MethodName, RequirementId, Situation

Severity: TypeAlias = Literal["error", "warning"]
Chooser: TypeAlias = Literal["contract", "kit"]
Growth: TypeAlias = Literal["fixed", "largest", "first"]


@dataclass(frozen=True)
class Requirement:
    """One obligation of a provider, as its author should read it.

    `since` and `until` name revisions, both inclusive. `not_observable` is the reason why no check can exist;
    `why` says what breaks for a user, `usually` what commonly breaks it.
    """

    id: RequirementId
    level: Level
    area: str
    statement: str
    source: str
    observed_by: str
    since: str
    until: str | None
    profile: str
    not_observable: str | None
    why: str | None
    usually: str | None


@dataclass(frozen=True)
class CapabilityRule:
    """What one key of `sandboxCapabilities` asks for.

    An `opt_in` key is never granted by omission. `legacy_flag` is a flag of the driver that is folded into the key when
    the key itself is absent. `pair` is the key that must be there, or absent, together with this one.
    """

    key: CapabilityKey
    prerequisites: tuple[MethodName, ...]
    opt_in: bool
    legacy_flag: str | None
    pair: CapabilityKey | None
    profile: str
    title: str


@dataclass(frozen=True)
class NarrowingRule:
    """Which capabilities a situation takes away. A situation can only remove, never add."""

    situation: Situation
    removes: frozenset[CapabilityKey]
    when: str


@dataclass(frozen=True)
class MethodRule:
    """How the host uses one method.

    `called_unlisted`: the host calls it without looking at `supportedMethods`. `optional`: a provider may lack it.
    `invocation`: a request with a `companyId` carries a `paperclipInvocation`. `limit` names an entry of the limits.
    `flag` is the driver flag of the manifest that promises the method.
    """

    name: MethodName
    direction: Literal["host-to-worker"]
    called_unlisted: bool
    optional: bool
    invocation: bool
    limit: str
    flag: str | None


@dataclass(frozen=True)
class Limit:
    """A time, a size or a count, with who chose it and why.

    `grows_with` lists parameters in milliseconds, as dotted paths into the params of a call, that are added to
    `value`: the largest of them, or the first that is set, as `growth` says.
    """

    name: str
    value: float
    unit: str
    chosen_by: Chooser
    reason: str
    growth: Growth = "fixed"
    grows_with: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """A limit that cannot bound anything is a mistake in the data."""
        if self.value <= 0:
            message = f"limit {self.name} must be positive"
            raise ValueError(message)
        if (self.growth == "fixed") != (not self.grows_with):
            message = f"limit {self.name}: growth and grows_with belong together"
            raise ValueError(message)
        if self.grows_with and self.unit != "seconds":
            message = f"limit {self.name}: only a time can grow with a parameter"
            raise ValueError(message)

    def seconds_for(self, params: JsonObject) -> float:
        """How long the host waits for a call with these params, in seconds."""
        if self.unit != "seconds":
            message = f"limit {self.name} is counted in {self.unit}, not in seconds"
            raise ValueError(message)
        asked = [ms for path in self.grows_with if (ms := _positive_number(params, path)) is not None]
        if not asked:
            return self.value
        return self.value + (max(asked) if self.growth == "largest" else asked[0]) / 1000


@dataclass(frozen=True)
class ProfileRule:
    """A profile: a name, one plain sentence, and ids it requires beside those whose home it is."""

    name: str
    title: str
    requirements: tuple[RequirementId, ...]


@dataclass(frozen=True)
class Problem:
    """One broken rule at one place of a JSON document.

    `path` is a JSON path such as ``$.environmentDrivers[0].driverKey``. `requirement` is None where a rule of the host
    stands in no requirement.
    """

    path: str
    rule: str
    requirement: RequirementId | None
    message: str
    severity: Severity

    def __str__(self) -> str:
        """The path and what is wrong there."""
        return f"{self.path}: {self.message}"


def _positive_number(params: JsonObject, path: str) -> float | None:
    value: Json = params
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or isinstance(value, Sequence):
        return None
    return float(value) if 0 < value < float("inf") else None
