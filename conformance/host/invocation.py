"""Which host call a worker message belongs to (protocol.md section 8)."""

import random
from collections.abc import Collection
from dataclasses import dataclass

from conformance.host.scope import Scope, wanted
from conformance.host.tenant import random_uuid
from conformance.model import Json, JsonObject, MethodName, object_of


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

    def scope(self, message: JsonObject, configured: Collection[str]) -> Scope:
        """For whom a worker's message may speak.

        With an id, for the company of that call, while it is open. Without, for the one company that it names, if that
        has stored settings of the plugin (`configured`).
        """
        number = message.get("paperclipInvocationId")
        if number is not None:
            invocation = self.find(number)
            return Scope(None, invalid=True) if invocation is None else Scope(invocation.company)
        named = wanted(str(message.get("method")), object_of(message.get("params")))
        if isinstance(named, str) and named in configured:
            return Scope(named)
        return Scope(None, invalid=bool(self._open))

    def find(self, number: object) -> Invocation | None:
        """The open call with this id."""
        return self._open.get(number) if isinstance(number, str) else None
