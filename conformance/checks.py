"""How a check is declared. The decorator only attaches facts: it neither wraps nor registers."""

import inspect
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from conformance.errors import KitError
from conformance.gates import Gate
from conformance.model import CapabilityKey, Cost, Level, RequirementId

Body = Callable[..., Coroutine[Any, Any, None]]
_AnyBody = TypeVar("_AnyBody", bound=Body)

_ID = re.compile(r"[A-Z]+-\d{3}")
_ATTRIBUTE = "__conformance_check__"
WORKER_ARGUMENTS = frozenset(
    {
        "launcher",
        "provider",
        "lease",
        "acquired",
        "kept",
        "reusable",
        "released",
        "gone",
        "spare",
        "doomed",
        "tour",
        "setup",
        "login",
    }
)
"""What a check can ask for that takes a worker."""

EXCLUSIVE = frozenset({"kept", "spare", "login"})
"""What only one check at a time may have: two of the shared leases, and a worker's one login terminal."""

_ARGUMENTS = frozenset({"package", "backend", *WORKER_ARGUMENTS})

_LEASES = {Cost.FREE: 0, Cost.SHARED: 0, Cost.OWN: 1, Cost.MANY: 2, Cost.LONG: 1}
"""Leases of its own that a check has at once, where it does not say so itself."""


class Capability:
    """Keys of `sandboxCapabilities`, spelled once for the suites. The contract data says what they mean."""

    REUSABLE_LEASES = CapabilityKey("reusableLeases")
    NATIVE_SYNC_IN = CapabilityKey("nativeSyncIn")
    NATIVE_SYNC_OUT = CapabilityKey("nativeSyncOut")
    PERSISTENT_PROCESS_SESSIONS = CapabilityKey("persistentProcessSessions")
    INDEPENDENT_CONTROL_COMMANDS = CapabilityKey("independentControlCommands")
    INCREMENTAL_SESSION_OUTPUT = CapabilityKey("incrementalSessionOutput")


@dataclass(frozen=True)
class Declaration:
    """What the decorator says about a check."""

    requirement: RequirementId
    level: Level
    cost: Cost
    needs: CapabilityKey | None
    when: Gate | None
    since: str
    alone: bool
    leases: int | None = None


@dataclass(frozen=True)
class Check:
    """One check: its declaration, its function and what can be read off the function.

    `name` is a sentence about what is seen; `rule` is the docstring, the rule in the provider author's words.
    """

    declaration: Declaration
    area: str
    body: Body

    @property
    def requirement(self) -> RequirementId:
        """The obligation that this check judges."""
        return self.declaration.requirement

    @property
    def name(self) -> str:
        """The function's name; unique together with the requirement."""
        return self.body.__name__

    @property
    def rule(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.body) or ""

    @property
    def leases(self) -> int:
        """How many leases of its own it has at once: so many are set aside for it before it starts."""
        declared = self.declaration.leases
        default = max(_LEASES[self.declaration.cost], len(self.arguments & {"doomed"}))
        return default if declared is None else declared

    @property
    def arguments(self) -> frozenset[str]:
        """What the body asks for: `package`, `backend`, `launcher`, `provider`, a tour, or leases that checks share."""
        return frozenset(inspect.signature(self.body).parameters)

    def __post_init__(self) -> None:
        """Refuse a check that asks for something nobody provides, or has no rule."""
        unknown = self.arguments - _ARGUMENTS
        if unknown:
            raise KitError(f"Check {self.name} asks for {', '.join(sorted(unknown))}, which does not exist.")
        if not self.rule:
            raise KitError(f"Check {self.name} has no docstring, so its rule cannot be shown.")


def check(
    requirement: str,
    *,
    level: Level,
    cost: Cost = Cost.FREE,
    needs: CapabilityKey | None = None,
    when: Gate | None = None,
    since: str = "2026.824",
    alone: bool = False,
    leases: int | None = None,
) -> Callable[[_AnyBody], _AnyBody]:
    """Declare a check of `requirement`.

    `level` may be lower than the requirement's own where a part of the rule is weaker or unclear. `needs` and `when`
    are gates, decided before the body runs: a capability that must be claimed, and a fact about the package. A check
    that judges time, or changes what the shared worker does for others, runs `alone`.
    `leases` says how many it has at once where that is not one for `OWN` and `LONG`, two for `MANY`, none for others.
    """
    if not _ID.fullmatch(requirement):
        raise KitError(f"{requirement!r} is no requirement id.")
    declaration = Declaration(RequirementId(requirement), level, cost, needs, when, since, alone, leases)

    def attach(body: _AnyBody) -> _AnyBody:
        setattr(body, _ATTRIBUTE, declaration)
        return body

    return attach


def declaration_of(value: object) -> Declaration | None:
    """The declaration attached to a function, or None for anything else."""
    return cast("Declaration | None", getattr(value, _ATTRIBUTE, None)) if inspect.isfunction(value) else None
