"""The time limits of a run: the contract's, with what the user changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.contract import Contract, Limit
from conformance.errors import UsageFault
from conformance.host.pace import Pace
from conformance.model import JsonObject, MethodName
from conformance.nearest import nearest


@dataclass(frozen=True)
class Limits:
    """Every limit by name. `changed` maps the names the user set to their values; such a run is a custom run."""

    contract: Contract
    changed: Mapping[str, float] = field(default_factory=dict[str, float])
    pace: Pace = field(default_factory=Pace, compare=False)

    def __post_init__(self) -> None:
        """Refuse names that the contract does not have."""
        for name, value in self.changed.items():
            if name not in self.contract.limits:
                hint = nearest(name, self.contract.limits)
                guess = f" Did you mean {hint!r}?" if hint else ""
                known = ", ".join(sorted(self.contract.limits))
                raise UsageFault(f"There is no limit named {name!r}.{guess}", f"Known limits: {known}.")
            if not value > 0:
                raise UsageFault(f"The limit {name} must be more than 0, not {value:g}.")

    def __getitem__(self, name: str) -> Limit:
        limit = self.contract.limits[name]
        return replace(limit, value=self.changed[name]) if name in self.changed else limit

    def of_call(self, method: MethodName, params: JsonObject) -> tuple[str, float]:
        """Name of the limit of a call, and its length in seconds."""
        rule = self.contract.methods.get(method)
        name = rule.limit if rule is not None else "default"
        return name, self[name].seconds_for(params)

    def seconds(self, name: str) -> float:
        """Length of a fixed limit in seconds, on this backend; one that the user has set is what the user has set."""
        limit = self[name]
        seconds = limit.seconds_for({})
        return seconds if name in self.changed else self.pace.stretch(limit, seconds)

    def as_json(self) -> dict[str, dict[str, object]]:
        """For the report: value, unit, default and whether it was changed."""
        return {
            name: {
                "value": self[name].value,
                "unit": limit.unit,
                "default": limit.value,
                "changed": name in self.changed,
                "chosen_by": limit.chosen_by,
            }
            for name, limit in self.contract.limits.items()
        }
