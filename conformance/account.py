"""What a ledger file says: read after any death of the kit, on this machine or another."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from conformance.errors import UsageFault
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template
from conformance.host.tenant import Tenant
from conformance.journal import LEDGER_SCHEMA, LineKind
from conformance.ledger import Ending, Entry, Held, Kind
from conformance.model import Json, JsonObject, object_of

_MAKERS: Mapping[Kind, type[Lease] | type[Setup] | type[Template]] = {
    Kind.LEASE: Lease,
    Kind.SETUP: Setup,
    Kind.TEMPLATE: Template,
}


_KNOWN = frozenset(str(kind) for kind in LineKind)
"""A newer kit of the same format may write lines that this one does not know."""


@dataclass
class Told:
    """One entry of a ledger file. `held` is as it was written: without secrets."""

    label: str
    check: str
    kind: Kind
    intent: JsonObject
    held: JsonObject | None = None
    ending: Ending | None = None
    disproved: Ending | None = None

    @property
    def is_open(self) -> bool:
        """Whether what it stands for may still exist."""
        return self.ending in {None, Ending.UNKNOWN}

    @property
    def id(self) -> str | None:
        """What the provider called it; None when no answer told."""
        told = object_of(self.held)
        name = told.get("ref") if self.kind is Kind.TEMPLATE else told.get("id")
        return name if isinstance(name, str) else None

    def restored(self, secrets: Mapping[str, Json]) -> Entry:
        """The entry as the kit holds it while it runs, with the values of its secrets."""
        held = None if self.held is None else _held(self.kind, self.held, secrets)
        return Entry(self.label, self.check, self.kind, held, self.ending, disproved=self.disproved)


@dataclass
class Account:
    """A ledger file, added up.

    `ended`: the kit ended in its own way. `damaged` counts lines that tell of others that are lost.
    """

    path: Path
    header: JsonObject
    entries: dict[str, Told] = field(default_factory=dict[str, Told])
    workers: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    ended: bool = False
    damaged: int = 0

    @property
    def open(self) -> list[Told]:
        """Entries of which something may still exist."""
        return [entry for entry in self.entries.values() if entry.is_open]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do, and nothing was lost that might tell of more."""
        return not self.open and not self.damaged


def read_account(path: Path) -> Account | None:
    """Add up a ledger file; None when not even its first line is whole, so that nothing can have been opened.

    Raises `UsageFault` for a file that is something else, and `OSError` when it cannot be read.
    """
    return add_up(path, path.read_bytes())


def add_up(path: Path, content: bytes) -> Account | None:
    """The same, for what was read from `path` already."""
    first, *lines = content.split(b"\n")
    header = _parsed(first)
    if header is None and not lines:
        return None
    if header is None or header.get("schema") != LEDGER_SCHEMA:
        raise UsageFault(f"{path} is no ledger that this kit can read.", f"It must start with {LEDGER_SCHEMA}.")
    account = Account(path, header)
    for line in lines:
        # A line that a death has torn tells nothing that matters: what it was about to say had no effect yet, or is
        # less than what was said before. A line that is whole up to its newline counts.
        told = _parsed(line)
        if told is not None and told.get("entry") in _KNOWN:
            try:
                _take(account, LineKind(str(told.get("entry"))), told)
            except ValueError:
                account.damaged += 1
    return account


def _take(account: Account, kind: LineKind, told: JsonObject) -> None:
    entry = account.entries.get(str(told.get("label")))
    match kind:
        case LineKind.LEDGER | LineKind.REAPED:
            pass
        case LineKind.WORKER:
            number, start = told.get("pid"), told.get("started")
            if isinstance(number, int) and isinstance(start, str):
                account.workers.append((number, start))
        case LineKind.INTENT:
            label = str(told.get("label"))
            account.entries[label] = Told(label, str(told.get("check")), Kind(str(told.get("kind"))), told)
        case LineKind.ANSWERED if entry is not None:
            entry.held = object_of(told.get("held"))
        case LineKind.SETTLED if entry is not None:
            entry.ending = Ending(str(told.get("how")))
        case LineKind.DOUBTED if entry is not None:
            entry.ending, entry.disproved = None, Ending(str(told.get("disproved")))
        case LineKind.END:
            account.ended = True
        case _:
            account.damaged += 1


def _parsed(line: bytes) -> JsonObject | None:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _held(kind: Kind, told: JsonObject, secrets: Mapping[str, Json]) -> Held:
    values: dict[str, Any] = dict(told)
    tenant = dict(object_of(values["tenant"]))
    values["tenant"] = Tenant(**{**tenant, "plugin_row": UUID(str(tenant["plugin_row"]))})  # type: ignore[arg-type]
    filled = {name: secrets[name] for name in values.pop("secrets") if name in secrets}
    if kind is Kind.LEASE:
        values["internal_keys"] = frozenset(values["internal_keys"])
        values["secrets"] = filled
    else:
        values["config"] = {**values["config"], **filled}
    return _MAKERS[kind](**values)
