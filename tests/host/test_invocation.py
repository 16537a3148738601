"""The table of invocation scopes: for which company a worker's message may speak."""

import random

import pytest

from conformance.host.invocation import Invocation, Invocations
from conformance.host.scope import Scope, Wanted, wanted
from conformance.model import JsonObject, MethodName

OURS, OTHER = "company-1", "company-2"
EXECUTE = MethodName("environmentExecute")


def invocations() -> Invocations:
    return Invocations(random.Random(1))  # noqa: S311 - ids of nobody


def started(known: Invocations, company: str = OURS) -> Invocation:
    invocation = known.start(EXECUTE, {"companyId": company})
    assert invocation is not None
    return invocation


def message(number: object = None, **params: object) -> JsonObject:
    beside = {} if number is None else {"paperclipInvocationId": number}
    return {"method": "metrics.write", "params": params, **beside}  # type: ignore[dict-item]


def test_a_call_for_a_company_has_an_id_and_its_scope_beside_the_params() -> None:
    invocation = started(invocations())

    assert invocation.beside_params == {
        "paperclipInvocation": {"id": invocation.id, "scope": {"companyId": OURS}},
    }


@pytest.mark.parametrize("params", [{}, {"companyId": ""}, {"companyId": None}, {"companyId": 5}])
def test_a_call_for_no_company_has_none(params: JsonObject) -> None:
    assert invocations().start(EXECUTE, params) is None


def test_ids_are_new_for_each_call() -> None:
    known = invocations()

    assert len({started(known).id for _ in range(50)}) == 50


def test_the_id_of_an_open_call_speaks_for_its_company() -> None:
    known = invocations()
    ours, other = started(known), started(known, OTHER)

    assert known.scope(message(ours.id), ()) == Scope(OURS)
    assert known.scope(message(other.id), ()) == Scope(OTHER)


def test_the_id_of_a_settled_call_is_invalid() -> None:
    known = invocations()
    invocation = started(known)
    known.end(invocation)

    assert known.scope(message(invocation.id), (OURS,)) == Scope(None, invalid=True)
    assert invocation.id in known.ended


@pytest.mark.parametrize("number", ["made-up", "", 5, True, ["x"]])
def test_an_id_that_is_none_is_invalid(number: object) -> None:
    known = invocations()
    started(known)

    assert known.scope(message(number, companyId=OURS), (OURS,)) == Scope(None, invalid=True)


def test_without_an_id_and_with_a_call_open_it_could_belong_to_any() -> None:
    known = invocations()
    started(known)

    assert known.scope(message(), ()) == Scope(None, invalid=True)
    assert known.scope(message(companyId=OURS), ()) == Scope(None, invalid=True)


def test_without_an_id_and_with_nothing_open_it_speaks_for_nobody() -> None:
    assert invocations().scope(message(companyId=OURS), ()) == Scope(None)


@pytest.mark.parametrize("open_calls", [0, 1])
def test_without_an_id_it_may_speak_for_the_company_that_it_names_and_that_has_stored_settings(open_calls: int) -> None:
    known = invocations()
    for _ in range(open_calls):
        started(known, OTHER)

    assert known.scope(message(companyId=OURS), (OURS,)) == Scope(OURS)


@pytest.mark.parametrize(
    ("method", "params", "about"),
    [
        ("metrics.write", {}, Wanted.NO_COMPANY),
        ("metrics.write", {"companyId": OURS}, OURS),
        ("metrics.write", {"companyId": f" {OURS} "}, OURS),
        ("metrics.write", {"companyId": " "}, Wanted.NO_COMPANY),
        ("state.get", {"scopeKind": "instance"}, Wanted.NO_COMPANY),
        ("state.get", {"scopeKind": "company", "scopeId": OURS}, OURS),
        ("state.get", {"scopeKind": "company"}, Wanted.EVERY_COMPANY),
        ("state.get", {"scopeKind": "issue", "scopeId": OURS}, Wanted.NO_COMPANY),
        ("events.subscribe", {"filter": {"companyId": OURS}}, OURS),
        ("events.subscribe", {}, Wanted.NO_COMPANY),
        ("companies.list", {}, Wanted.EVERY_COMPANY),
    ],
)
def test_what_a_request_is_about(method: str, params: JsonObject, about: str | Wanted) -> None:
    assert wanted(method, params) == about
