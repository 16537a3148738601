"""What a worker may ask of the host, and what it is told: gates in the host's order, codes, and the stored things."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.answer import answer_of
from conformance.contract import load_contract
from conformance.host.invocation import Invocation, Invocations
from conformance.host.services import SECRETS_WINDOW_S, HostServices
from conformance.host.store import HostStore
from conformance.model import FrameNumber, JsonObject, MethodName
from tests.host.live import live_provider

OURS, OTHER = "company-1", "company-2"
CONTRACT = load_contract("2026.824")
EVERYTHING = frozenset(name for name in CONTRACT.worker_methods.values() if name is not None)
GATED = sorted((method, need) for method, need in CONTRACT.worker_methods.items() if need is not None)
OPEN = sorted(method for method, need in CONTRACT.worker_methods.items() if need is None)

UNKNOWN_METHOD, CAPABILITY_DENIED, SCOPE_DENIED, FAILED = -32601, -32001, -32005, -32002


@dataclass
class Host:
    """One side of a conversation with a host's services."""

    capabilities: Iterable[str] = EVERYTHING
    store: HostStore = field(default_factory=HostStore)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.invocations = Invocations(random.Random(1))  # noqa: S311 - ids of nobody
        self.services = HostServices(
            CONTRACT,
            frozenset(self.capabilities),
            self.invocations,
            {"id-of-a-secret": "its value"},
            self.store,
            clock=lambda: self.now,
        )

    def call(self, company: str = OURS) -> Invocation:
        """A call of the host that is open from now on."""
        invocation = self.invocations.start(MethodName("environmentExecute"), {"companyId": company})
        assert invocation is not None
        return invocation

    def ask(self, method: str, params: JsonObject | None = None, during: Invocation | str | None = None) -> Any:
        """The answer to one request, without the envelope."""
        answers: list[JsonObject] = []
        number = during.id if isinstance(during, Invocation) else during
        beside = {} if number is None else {"paperclipInvocationId": number}
        message: JsonObject = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}, **beside}
        self.services.answer(message, FrameNumber(1), answers.append)
        (answer,) = answers
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        return answer

    def result(self, method: str, params: JsonObject | None = None, during: Invocation | str | None = None) -> Any:
        return self.ask(method, params, during)["result"]

    def code(self, method: str, params: JsonObject | None = None, during: Invocation | str | None = None) -> Any:
        return self.ask(method, params, during).get("error", {}).get("code")


# -- gates


@pytest.mark.parametrize("method", ["no.such.method", "state", "state.clear", "initialize", "environmentExecute", ""])
def test_a_method_that_the_host_does_not_have_is_unknown(method: str) -> None:
    assert Host().code(method) == UNKNOWN_METHOD


@pytest.mark.parametrize(("method", "need"), GATED)
def test_a_gated_method_needs_its_capability(method: str, need: str) -> None:
    host = Host(EVERYTHING - {need})
    assert host.code(method, {"companyId": OURS}, host.call()) == CAPABILITY_DENIED


@pytest.mark.parametrize(("method", "need"), [pair for pair in GATED if pair[0] != "http.fetch"])
def test_its_own_capability_is_enough(method: str, need: str) -> None:
    host = Host({need})
    assert host.code(method, {"companyId": OURS}, host.call()) not in {UNKNOWN_METHOD, CAPABILITY_DENIED, SCOPE_DENIED}


@pytest.mark.parametrize("method", OPEN)
def test_the_other_methods_need_none(method: str) -> None:
    host = Host(())
    assert host.code(method, {}, host.call()) is None


def test_the_capability_is_looked_at_before_the_scope() -> None:
    assert Host(()).code("secrets.resolve", {"companyId": OURS}, "made-up") == CAPABILITY_DENIED


# -- scopes


@pytest.mark.parametrize("method", ["config.get", "secrets.resolve"])
def test_settings_and_secrets_always_need_a_company(method: str) -> None:
    host = Host()

    assert host.code(method) == SCOPE_DENIED
    assert host.code(method, {"companyId": OURS}) == SCOPE_DENIED
    assert host.code(method, {}, host.call()) != SCOPE_DENIED
    assert host.code(method, {"companyId": OURS}, host.call()) != SCOPE_DENIED


@pytest.mark.parametrize("method", ["config.get", "secrets.resolve", "activity.log", "metrics.write", "projects.list"])
def test_a_request_may_speak_for_the_company_of_its_call_only(method: str) -> None:
    host = Host()
    ours, _ = host.call(), host.call(OTHER)

    assert host.code(method, {"companyId": OTHER}, ours) == SCOPE_DENIED


@pytest.mark.parametrize("method", ["config.get", "activity.log", "metrics.write", "issues.list", "events.emit"])
def test_a_request_for_a_company_needs_an_open_call(method: str) -> None:
    host = Host()
    settled = host.call()
    host.invocations.end(settled)

    for during in (None, "made-up", settled):
        assert host.code(method, {"companyId": OURS}, during) == SCOPE_DENIED


@pytest.mark.parametrize("method", ["log", "metrics.write", "state.get", "entities.list", "telemetry.track"])
def test_a_request_for_no_company_needs_no_call(method: str) -> None:
    host = Host()

    assert host.code(method) is None
    assert host.code(method, {}, "made-up") is None


def test_state_of_a_company_is_the_company_of_the_call() -> None:
    host = Host()
    ours = host.call()

    assert host.code("state.get", {"scopeKind": "company", "scopeId": OURS, "stateKey": "k"}, ours) is None
    assert host.code("state.get", {"scopeKind": "company", "scopeId": OTHER, "stateKey": "k"}, ours) == SCOPE_DENIED
    assert host.code("state.get", {"scopeKind": "company", "stateKey": "k"}, ours) == SCOPE_DENIED


def test_the_list_of_companies_is_refused_only_when_the_sender_is_in_doubt() -> None:
    host = Host()
    assert host.code("companies.list") is None

    ours = host.call()

    assert host.code("companies.list", {}, ours) is None
    assert host.code("companies.list") == SCOPE_DENIED
    assert host.code("companies.list", {}, "made-up") == SCOPE_DENIED


def test_a_company_with_stored_settings_may_be_named_outside_any_call() -> None:
    host = Host()
    host.store.configs[OURS] = {"region": "eu"}

    assert host.result("config.get", {"companyId": OURS}) == {"region": "eu"}
    assert host.code("config.get", {"companyId": OTHER}) == SCOPE_DENIED


# -- what is answered


def test_settings_are_empty_until_a_company_stores_some() -> None:
    host = Host()
    ours = host.call()

    assert host.result("config.get", {}, ours) == {}
    host.store.configs[OURS] = {"region": "eu"}
    assert host.result("config.get", {}, ours) == {"region": "eu"}


def test_state_is_kept_by_all_four_parts_of_its_key() -> None:
    host = Host()
    key: JsonObject = {"scopeKind": "run", "scopeId": "r1", "namespace": "n", "stateKey": "k"}

    assert host.result("state.set", {**key, "value": {"a": [1]}}) is None
    assert host.result("state.get", key) == {"a": [1]}
    for other in ({"scopeKind": "issue"}, {"scopeId": "r2"}, {"namespace": "m"}, {"stateKey": "l"}):
        assert host.result("state.get", {**key, **other}) is None
    assert host.result("state.delete", key) is None
    assert host.result("state.get", key) is None
    assert host.result("state.delete", key) is None


def test_state_is_there_for_the_next_worker() -> None:
    store = HostStore()
    key: JsonObject = {"scopeKind": "instance", "stateKey": "k"}
    Host(store=store).result("state.set", {**key, "value": 5})

    assert Host(store=store).result("state.get", key) == 5


def test_entities_are_replaced_by_type_scope_and_external_id() -> None:
    host = Host()
    named: JsonObject = {"entityType": "sandbox", "scopeKind": "instance", "externalId": "sb-1", "data": {"n": 1}}
    first = host.result("entities.upsert", named)
    second = host.result("entities.upsert", {**named, "data": {"n": 2}})
    host.result("entities.upsert", {**named, "externalId": "sb-2"})

    found = host.result("entities.list", {"externalId": "sb-1"})
    assert first["id"] == second["id"]
    assert [entity["data"] for entity in found] == [{"n": 2}]
    assert len(host.result("entities.list")) == 2
    assert len(host.result("entities.list", {"offset": 1})) == 1
    assert len(host.result("entities.list", {"limit": 1})) == 1


def test_entities_without_an_external_id_are_all_new() -> None:
    host = Host()
    named: JsonObject = {"entityType": "sandbox", "scopeKind": "instance", "data": {}}

    assert host.result("entities.upsert", named)["id"] != host.result("entities.upsert", named)["id"]


def test_a_secret_is_given_for_a_reference_object_only() -> None:
    host = Host()
    ours = host.call()

    def code(reference: Any) -> Any:
        return host.code("secrets.resolve", {"secretRef": reference}, ours)

    reference = {"type": "secret_ref", "secretId": "id-of-a-secret"}
    assert host.result("secrets.resolve", {"secretRef": reference}, ours) == "its value"
    assert host.result("secrets.resolve", {"secretRef": {**reference, "version": 2}}, ours) == "its value"
    for refused in ("id-of-a-secret", None, {}, {**reference, "type": "secret"}, {**reference, "secretId": "other"}):
        assert code(refused) == FAILED


def test_too_many_secrets_within_a_minute_are_refused_until_it_is_over() -> None:
    host = Host()
    ours = host.call()
    params: JsonObject = {"secretRef": {"type": "secret_ref", "secretId": "id-of-a-secret"}}

    for _ in range(int(CONTRACT.limits["secret_requests"].value)):
        assert host.code("secrets.resolve", params, ours) is None
    assert host.code("secrets.resolve", params, ours) == FAILED

    host.now = SECRETS_WINDOW_S
    assert host.code("secrets.resolve", params, ours) is None


@pytest.mark.parametrize("method", ["log", "metrics.write", "span.record", "telemetry.track", "events.subscribe"])
def test_what_is_only_taken_note_of_is_answered_with_null(method: str) -> None:
    assert Host().result(method) is None


@pytest.mark.parametrize(("method", "nothing"), [("projects.list", []), ("issues.get", None), ("goals.list", [])])
def test_the_company_of_the_kit_has_no_issues_projects_or_goals(method: str, nothing: object) -> None:
    host = Host()

    assert host.result(method, {"companyId": OURS}, host.call()) == nothing


def test_what_would_act_on_them_fails() -> None:
    host = Host()

    assert host.code("issues.create", {"companyId": OURS}, host.call()) == FAILED


def test_every_request_is_on_record_with_its_outcome() -> None:
    host = Host(())
    ours = host.call()
    host.ask("log", {}, ours)
    host.ask("metrics.write")

    assert [(each.method, each.invocation, each.error_code) for each in host.services.served] == [
        ("log", ours.id, None),
        ("metrics.write", None, CAPABILITY_DENIED),
    ]


def test_a_host_may_refuse_everything_on_purpose() -> None:
    host = Host()
    host.services.error_for_all = FAILED

    assert host.code("log") == FAILED
    assert host.code("no.such.method") == FAILED


def test_a_fetch_is_answered_when_it_is_done() -> None:
    async def ask() -> JsonObject:
        host = Host()
        answered: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        message: JsonObject = {"id": 7, "method": "http.fetch", "params": {"url": "file:///etc/hostname"}}
        host.services.answer(message, FrameNumber(1), answered.set_result)
        assert not answered.done()
        return await asyncio.wait_for(answered, 30)

    error: Any = asyncio.run(ask())["error"]
    assert error["code"] == FAILED


@pytest.mark.asyncio
async def test_the_reference_gets_its_metric_through_all_of_this() -> None:
    async with live_provider() as provider:
        await provider.acquire()

        (served,) = [each for each in provider.worker.services.served if each.method == "metrics.write"]
        assert served.error_code is None
        assert served.invocation in provider.worker.invocations.ended


@pytest.mark.asyncio
async def test_settings_that_a_worker_was_told_of_can_be_asked_for() -> None:
    async with live_provider() as provider:
        await answer_of(provider.config_changed({"region": "eu"}))

        assert provider.launch.store.configs == {provider.tenant.company: {"region": "eu"}}
