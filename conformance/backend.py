"""The backend as the author's hooks show it: direct evidence of what a provider made and removed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.errors import EnvironmentFault
from conformance.evidence import Trace, Undecided
from conformance.hooks import Hooks
from conformance.host.lease import Lease
from conformance.host.setup import Setup
from conformance.ledger import Ledger
from conformance.model import FrameNumber


@dataclass(frozen=True)
class Listing:
    """The sandboxes that were alive at one moment, as evidence for a check."""

    trace: Trace
    sandboxes: frozenset[str]

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """The hook is on no wire."""
        return ()

    @property
    def sent(self) -> str:
        """What was asked."""
        return "ran the inventory hook"

    def told(self, lease: Lease) -> str:
        """What it says of a lease, in words."""
        return f"{lease.id} is {'' if self.shows(lease) else 'not '}among the sandboxes listed"

    def shows(self, lease: Lease) -> bool:
        """Whether the sandbox of a lease is listed."""
        return str(lease.id) in self.sandboxes


@dataclass(frozen=True)
class Backend:
    """What the hooks can do, in the hands of one check. Each call raises `EnvironmentFault` when its hook fails."""

    trace: Trace
    hooks: Hooks
    environment: Mapping[str, str] = field(repr=False)

    async def look(self) -> Listing:
        """What is alive now."""
        return Listing(self.trace, await asyncio.to_thread(self.hooks.list_sandboxes, self.environment))

    async def look_for(self, lease: Lease) -> Listing:
        """What is alive now, a living lease among it; else the list speaks of other names, and nothing can be said."""
        listing = await self.look()
        if not listing.shows(lease):
            raise Undecided(
                f"The inventory hook does not list the live lease {lease.id}: it has to print providerLeaseIds."
            )
        return listing

    async def remove(self, lease: Lease) -> None:
        """Remove the sandbox of a live lease behind the provider's back, and see that it is gone."""
        await self.look_for(lease)
        await asyncio.to_thread(self.hooks.remove_sandbox, str(lease.id), self.environment)
        if (await self.look()).shows(lease):
            raise EnvironmentFault(
                f"The kill hook succeeded, and the inventory still lists {lease.id}.", "Correct hooks.kill."
            )


def new_since(before: Listing, now: Listing, ledger: Ledger) -> list[str]:
    """Sandboxes that have appeared since, and that are none of the run's own leases and setups."""
    own = {str(entry.held.id) for entry in ledger.entries if isinstance(entry.held, Lease | Setup)}
    return sorted(now.sandboxes - before.sandboxes - own)
