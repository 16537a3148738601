"""What a worker may ask of its host (protocol.md section 9), with the host's gates in the host's order."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from conformance.contract import Contract
from conformance.host.fetch import fetch
from conformance.host.invocation import Invocations
from conformance.model import FrameNumber, Json, JsonObject, object_of

_NEED_A_SCOPE = frozenset({"config.get", "secrets.resolve"})
_STORED_NOWHERE = frozenset({"log", "metrics.write", "span.record", "activity.log", "telemetry.track", "events.emit"})


@dataclass(frozen=True)
class Served:
    """One request of the worker and what the host answered; `error_code` is None for a result."""

    method: str
    frame: FrameNumber
    invocation: Json
    error_code: int | None


class HostServices:
    """Answers worker requests for one worker.

    `secrets` maps the ids of secrets to values. `error_for_all`, while set, is the error code given to every request.
    """

    def __init__(
        self, contract: Contract, capabilities: frozenset[str], invocations: Invocations, secrets: Mapping[str, str]
    ) -> None:
        self._contract = contract
        self._capabilities = capabilities
        self._invocations = invocations
        self._secrets = secrets
        self._state: dict[str, Json] = {}
        self._entities: list[Json] = []
        self.served: list[Served] = []
        self.error_for_all: int | None = None

    def answer(self, message: JsonObject, frame: FrameNumber, send: Callable[[JsonObject], None]) -> None:
        """Answer one request through `send`, now or, for a fetch, when it is done."""
        method = str(message.get("method"))
        outcome = self._outcome(method, message)
        if isinstance(outcome, Awaitable):
            task = asyncio.ensure_future(self._answer_later(outcome, message, method, frame, send))
            task.add_done_callback(lambda done: done.exception())
            return
        self._send(outcome, message, method, frame, send)

    async def _answer_later(
        self,
        outcome: Awaitable[JsonObject],
        message: JsonObject,
        method: str,
        frame: FrameNumber,
        send: Callable[[JsonObject], None],
    ) -> None:
        self._send(await outcome, message, method, frame, send)

    def _send(
        self,
        outcome: JsonObject,
        message: JsonObject,
        method: str,
        frame: FrameNumber,
        send: Callable[[JsonObject], None],
    ) -> None:
        code = cast("int | None", object_of(outcome.get("error")).get("code"))
        self.served.append(Served(method, frame, message.get("paperclipInvocationId"), code))
        send({"jsonrpc": "2.0", "id": message.get("id"), **outcome})

    def _outcome(self, method: str, message: JsonObject) -> "JsonObject | Awaitable[JsonObject]":
        if self.error_for_all is not None:
            return _error(self.error_for_all, "the host refuses this request on purpose")
        if method not in self._contract.worker_methods:
            return self._named_error("METHOD_NOT_FOUND", f"unknown method {method}")
        needed = self._contract.worker_methods[method]
        if needed is not None and needed not in self._capabilities:
            return self._named_error("CAPABILITY_DENIED", f"{method} needs the manifest capability {needed}")
        raw: Any = message.get("params")
        params: Mapping[str, Any] = cast("Mapping[str, Any]", raw) if isinstance(raw, Mapping) else {}
        invocation = self._invocations.find(message.get("paperclipInvocationId"))
        company = params.get("companyId")
        if invocation is None and (method in _NEED_A_SCOPE or "paperclipInvocationId" in message):
            return self._named_error("INVOCATION_SCOPE_DENIED", "company context is required")
        if invocation is not None and company is not None and company != invocation.company:
            return self._named_error("INVOCATION_SCOPE_DENIED", "this call is for another company")
        return self._serve(method, params)

    def _serve(self, method: str, params: Mapping[str, Any]) -> "JsonObject | Awaitable[JsonObject]":
        area, _, verb = method.partition(".")
        if method in _STORED_NOWHERE:
            return {"result": None}
        if area == "state":
            return self._serve_state(verb, params)
        match method:
            case "config.get":
                return {"result": {}}
            case "secrets.resolve":
                return self._resolve_secret(params)
            case "http.fetch":
                return self._fetch(params)
            case "entities.upsert":
                self._entities.append(dict(params))
                return {"result": dict(params)}
            case "entities.list":
                return {"result": list(self._entities)}
            case "events.subscribe":
                return {"result": None}
            case _:
                return self._serve_empty_instance(method, verb)

    def _serve_empty_instance(self, method: str, verb: str) -> JsonObject:
        # The kit's company has no issues, projects, agents or folders: lists are empty, single things are not there.
        last = verb.rpartition(".")[2]
        if last.startswith("list") or last == "declarations":
            return {"result": []}
        if last.startswith("get"):
            return {"result": None}
        return self._named_error("WORKER_ERROR", f"{method} has nothing to act on: this host holds no such data")

    def _serve_state(self, verb: str, params: Mapping[str, Any]) -> JsonObject:
        key = json.dumps([params.get(name) for name in ("scopeKind", "scopeId", "namespace", "stateKey")])
        match verb:
            case "get":
                return {"result": self._state.get(key)}
            case "set":
                self._state[key] = params.get("value")
            case _:
                self._state.pop(key, None)
        return {"result": None}

    def _resolve_secret(self, params: Mapping[str, Any]) -> JsonObject:
        reference = params.get("secretRef")
        known = isinstance(reference, Mapping) and cast("Mapping[str, Any]", reference).get("type") == "secret_ref"
        identifier = cast("Mapping[str, Any]", reference).get("secretId") if known else None
        value = self._secrets.get(identifier) if isinstance(identifier, str) else None
        if value is None:
            return self._named_error("WORKER_ERROR", "this secret is not bound to the plugin")
        return {"result": value}

    async def _fetch(self, params: Mapping[str, Any]) -> JsonObject:
        try:
            return {"result": await asyncio.to_thread(fetch, params.get("url"), params.get("init"))}
        except (OSError, ValueError) as error:
            return self._named_error("WORKER_ERROR", f"the fetch failed: {error}")

    def _named_error(self, name: str, text: str) -> JsonObject:
        return _error(self._contract.error_codes[name], text)


def _error(code: int, text: str) -> JsonObject:
    return {"error": {"code": code, "message": text}}
