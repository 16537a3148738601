"""Who the host acts for: the identifiers that travel with every call."""

import random
from dataclasses import dataclass
from uuid import UUID


def random_uuid(source: random.Random) -> UUID:
    """A version 4 UUID from a seeded source, so that a run can be repeated."""
    return UUID(int=source.getrandbits(128), version=4)


@dataclass(frozen=True)
class Tenant:
    """One company with one environment, issue, agent and execution workspace. All opaque to a provider."""

    company: str
    environment: str
    issue: str
    agent: str
    execution_workspace: str
    plugin_row: UUID

    @classmethod
    def make(cls, source: random.Random) -> "Tenant":
        """A tenant with fresh identifiers."""
        company, environment, issue, agent, workspace = (str(random_uuid(source)) for _ in range(5))
        return cls(company, environment, issue, agent, workspace, random_uuid(source))
