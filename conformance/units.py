"""What parallel processes share out among them: checks that use the same leases stay together in one process.

So each shared lease is made once, however many processes there are, and a run costs the same with one and with four.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from conformance.checks import Check
from conformance.model import Cost
from conformance.room import leaves_leftover, shared_of, takes_leftover

LEFTOVER = "leftover"


def units(checks: Sequence[Check]) -> dict[Check, str]:
    """The unit of each check: those that need no lease by their area, others by the leases they have in common."""
    kinds = {check: _kinds(check) for check in checks if check.declaration.cost is not Cost.FREE}
    together: list[set[str]] = []
    for wanted in kinds.values():
        touched = [group for group in together if group & wanted]
        together = [group for group in together if not group & wanted]
        if wanted:
            together.append(wanted.union(*touched))
    names = {kind: "with " + ", ".join(sorted(group)) for group in together for kind in group}
    return {check: _name(check, kinds.get(check, set()), names) for check in checks}


def _kinds(check: Check) -> set[str]:
    shared = set(shared_of(check))
    hands_on = takes_leftover(check) or leaves_leftover(check)
    return {*shared, LEFTOVER} if hands_on else shared


def _name(check: Check, kinds: set[str], names: Mapping[str, str]) -> str:
    if check.declaration.cost is Cost.FREE:
        return f"free, {check.area}"
    return names[min(kinds)] if kinds else check.name


def keeps_units(config: Any) -> bool:
    """Whether units stay together: not where the user asked for another way, or pytest-xdist is older than 3.7."""
    return config.getoption("dist", "no") == "load" and hasattr(config.option, "loadscopereorder")


def scheduler(config: Any, log: Any, unit_by_key: Mapping[str, str]) -> object | None:
    """A scheduler of pytest-xdist that keeps units together, in the order in which they come; None where it is not to.

    `unit_by_key` tells the unit by the last part of a node id.
    """
    if not keeps_units(config):
        return None
    # Not everyone has it.
    from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    class Units(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_by_key.get(nodeid.rpartition("::")[2], nodeid.rpartition("::")[0])

    # The free verdicts come first, and cost nothing.
    config.option.loadscopereorder = False
    return cast("object", Units(config, log))
