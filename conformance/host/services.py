"""What a worker may ask of its host (protocol.md section 9), with the host's gates in the host's order."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast
from uuid import uuid4

from conformance.contract import Contract
from conformance.host.fetch import fetch
from conformance.host.invocation import Invocations
from conformance.host.scope import Scope, denial
from conformance.host.store import HostStore
from conformance.host.tenant import host_time
from conformance.model import FrameNumber, Json, JsonObject, object_of

SECRETS_WINDOW_S = 60.0
"""The time over which the contract counts requests for secrets."""

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
        self,
        contract: Contract,
        capabilities: frozenset[str],
        invocations: Invocations,
        secrets: Mapping[str, str],
        store: HostStore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._contract = contract
        self._capabilities = capabilities
        self._invocations = invocations
        self._secrets = secrets
        self._store = store
        self._clock = clock
        self._secrets_asked: list[float] = []
        self._fetching: set[asyncio.Task[None]] = set()
        self.served: list[Served] = []
        self.error_for_all: int | None = None

    def answer(self, message: JsonObject, frame: FrameNumber, send: Callable[[JsonObject], None]) -> None:
        """Answer one request through `send`, now or, for a fetch, when it is done."""
        method = str(message.get("method"))
        outcome = self._outcome(method, message)
        if isinstance(outcome, Awaitable):
            # The loop itself keeps no hold on a task.
            task = asyncio.ensure_future(self._answer_later(outcome, message, method, frame, send))
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)
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
            return self._named_error("method_not_found", f"unknown method {method}")
        needed = self._contract.worker_methods[method]
        if needed is not None and needed not in self._capabilities:
            return self._named_error("capability_denied", f"{method} needs the manifest capability {needed}")
        params = object_of(message.get("params"))
        scope = self._invocations.scope(message, self._store.configs)
        reason = denial(method, params, scope)
        if reason is not None:
            return self._named_error("invocation_scope_denied", reason)
        return self._serve(method, params, scope)

    def _serve(self, method: str, params: JsonObject, scope: Scope) -> "JsonObject | Awaitable[JsonObject]":
        area, _, verb = method.partition(".")
        if method in _STORED_NOWHERE:
            return {"result": None}
        if area == "state":
            return self._serve_state(verb, params)
        match method:
            case "config.get":
                return {"result": dict(self._store.configs.get(scope.company or "", {}))}
            case "secrets.resolve":
                return self._resolve_secret(params)
            case "http.fetch":
                return self._fetch(params)
            case "entities.upsert":
                return {"result": self._store.upsert_entity(params, str(uuid4()), host_time(0))}
            case "entities.list":
                return {"result": self._store.entities(params)}
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
        return self._named_error("worker_error", f"{method} has nothing to act on: this host holds no such data")

    def _serve_state(self, verb: str, params: JsonObject) -> JsonObject:
        match verb:
            case "get":
                return {"result": self._store.state(params)}
            case "set":
                self._store.set_state(params)
            case _:
                self._store.delete_state(params)
        return {"result": None}

    def _resolve_secret(self, params: JsonObject) -> JsonObject:
        now = self._clock()
        self._secrets_asked = [moment for moment in self._secrets_asked if moment > now - SECRETS_WINDOW_S]
        if len(self._secrets_asked) >= self._contract.limits["secret_requests"].value:
            return self._named_error("worker_error", "too many requests for secrets within a minute")
        self._secrets_asked.append(now)
        # A plain id is refused, although the type declarations allow it: so does the host.
        reference = object_of(params.get("secretRef"))
        identifier = reference.get("secretId") if reference.get("type") == "secret_ref" else None
        value = self._secrets.get(identifier) if isinstance(identifier, str) else None
        if value is None:
            return self._named_error("worker_error", "this secret is not bound to the plugin")
        return {"result": value}

    async def _fetch(self, params: JsonObject) -> JsonObject:
        try:
            return {"result": await asyncio.to_thread(fetch, params.get("url"), params.get("init"))}
        except (OSError, ValueError) as error:
            return self._named_error("worker_error", f"the fetch failed: {error}")

    def _named_error(self, name: str, text: str) -> JsonObject:
        return _error(self._contract.error_codes[name], text)


def _error(code: int, text: str) -> JsonObject:
    return {"error": {"code": code, "message": text}}
