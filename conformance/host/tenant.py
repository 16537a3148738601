"""Who the host acts for: the identifiers that travel with every call."""

import random
import time
from dataclasses import dataclass
from uuid import NAMESPACE_OID, UUID, uuid5


def random_uuid(source: random.Random) -> UUID:
    """A version 4 UUID from a seeded source, so that a run can be repeated."""
    return UUID(int=source.getrandbits(128), version=4)


def secret_id(name: str) -> str:
    """The id under which the host stores the secret of a config field."""
    return str(uuid5(NAMESPACE_OID, name))


def host_time(seconds_from_now: float) -> str:
    """A moment as the host writes it: ISO, UTC, milliseconds."""
    moment = time.time() + seconds_from_now
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(moment))}.{int(moment * 1000) % 1000:03d}Z"


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
