"""For which company a worker's request may speak (protocol.md section 8)."""

from dataclasses import dataclass
from enum import Enum

from conformance.model import Json, JsonObject, object_of

ALWAYS_OF_A_COMPANY = frozenset({"config.get", "secrets.resolve"})
"""Requests that need a company, and take that of their invocation when they name none."""


class Wanted(Enum):
    """What a request is about, when it is not one company."""

    NO_COMPANY = "no company"
    EVERY_COMPANY = "every company"


@dataclass(frozen=True)
class Scope:
    """What the host knows about the sender of a message.

    `company` is the one it may speak for. `invalid`: the message points at a call that is not open, or at none although
    some are, so it could belong to any of them.
    """

    company: str | None
    invalid: bool = False


def wanted(method: str, params: JsonObject) -> str | Wanted:
    """The company that a request is about."""
    if method == "companies.list":
        return Wanted.EVERY_COMPANY
    company = _name(params.get("companyId"))
    if company is not None:
        return company
    if params.get("scopeKind") == "company":
        return _name(params.get("scopeId")) or Wanted.EVERY_COMPANY
    if method == "events.subscribe":
        return _name(object_of(params.get("filter")).get("companyId")) or Wanted.NO_COMPANY
    return Wanted.NO_COMPANY


def denial(method: str, params: JsonObject, scope: Scope) -> str | None:
    """Why the host refuses a request, or None where it does not."""
    about = wanted(method, params)
    if about is Wanted.NO_COMPANY and method not in ALWAYS_OF_A_COMPANY:
        return None
    if scope.invalid:
        return "the request points at no call that is open"
    if method == "companies.list":
        return None
    if scope.company is None:
        return "the request speaks for no company"
    if about is Wanted.NO_COMPANY or about == scope.company:
        return None
    return "the request is about another company than the call that it belongs to"


def _name(value: Json) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
