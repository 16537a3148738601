"""Which host call a worker message belongs to (protocol.md section 8)."""

import random
from dataclasses import dataclass

from conformance.host.tenant import random_uuid
from conformance.model import Json, JsonObject, MethodName


@dataclass(frozen=True)
class Invocation:
    """One host call as the worker may refer to it."""

    id: str
    company: str
    method: MethodName

    @property
    def beside_params(self) -> dict[str, Json]:
        """The key that travels next to `params`."""
        return {"paperclipInvocation": {"id": self.id, "scope": {"companyId": self.company}}}


class Invocations:
    """The calls that are open now, and those that were."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._open: dict[str, Invocation] = {}
        self.ended: set[str] = set()

    def start(self, method: MethodName, params: JsonObject) -> Invocation | None:
        """Open an invocation for a call; None when the params name no company."""
        company = params.get("companyId")
        if not isinstance(company, str) or not company:
            return None
        invocation = Invocation(str(random_uuid(self._source)), company, method)
        self._open[invocation.id] = invocation
        return invocation

    def end(self, invocation: Invocation) -> None:
        """The call is settled: its id is no longer valid."""
        self._open.pop(invocation.id, None)
        self.ended.add(invocation.id)

    def find(self, number: object) -> Invocation | None:
        """The open call with this id."""
        return self._open.get(number) if isinstance(number, str) else None
