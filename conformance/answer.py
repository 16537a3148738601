"""What became of one call, as evidence."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from conformance.errors import KitError, ProviderFault, RpcError
from conformance.evidence import Trace, cut, show
from conformance.host.invocation import Invocation
from conformance.host.worker import Notice, Worker
from conformance.model import FrameNumber, Json, JsonObject, MethodName, object_of


@dataclass(frozen=True)
class Answer:
    """What became of one call: a result, or the fault that came instead. Evidence for a check."""

    trace: Trace = field(repr=False)
    method: MethodName
    params: JsonObject = field(repr=False)
    frames: tuple[FrameNumber, ...]
    seconds: float
    result: Json
    fault: ProviderFault | None
    invocation: Invocation | None
    worker: Worker = field(repr=False)

    @property
    def sent(self) -> str:
        """The request in short."""
        return f"{self.method} {cut(show(telling(self.params)), 300)}"

    @property
    def came(self) -> str:
        """The answer in short."""
        return self.fault.sentence() if self.fault is not None else f"a result: {cut(show(self.result), 300)}"

    @property
    def fields(self) -> Mapping[str, Any]:
        """The result as an object; empty when it is none."""
        return cast("Mapping[str, Any]", self.result) if isinstance(self.result, Mapping) else {}

    @property
    def error_code(self) -> int | float | None:
        """The code of the error answer; None for a result and for any other fault."""
        return self.fault.code if isinstance(self.fault, RpcError) else None

    @property
    def notices(self) -> list[Notice]:
        """Notifications that carried the invocation id of this call."""
        if self.invocation is None:
            return []
        return [notice for notice in self.worker.notices if notice.invocation == self.invocation.id]


async def answer_of(call: Awaitable[Answer]) -> Answer:
    """The answer of a call, whether it is a result or a fault. Says nothing about which."""
    try:
        return await call
    except ProviderFault as fault:
        return evidence_of(fault)


def evidence_of(fault: ProviderFault) -> Answer:
    """The answer that a fault raised by a `Provider` call stands for."""
    answer = fault.__dict__.get("answer")
    if not isinstance(answer, Answer):
        raise KitError(f"A fault was not raised by a call: {fault}") from fault
    return answer


_IN_EVERY_CALL = frozenset({"driverKey", "companyId", "environmentId", "issueId", "config", "leaseMetadata"})


def telling(params: JsonObject) -> JsonObject:
    """The params that tell one call from another; what travels with every call is in the transcript."""
    told = {key: value for key, value in params.items() if key not in _IN_EVERY_CALL}
    lease = object_of(told.get("lease")).get("providerLeaseId")
    return ({**told, "lease": lease} if "lease" in told else told) or params
