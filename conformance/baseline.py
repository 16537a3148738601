"""What the author of a provider expects to be broken for now: `conformance-baseline.toml` beside the package.

[[expected]]
id = "LEASE-028"
check = "resuming_a_destroyed_lease_brings_no_sandbox_back"    # where the rule has several checks
state = "fail"                                                 # or "warn", or "skip"
reason = "The backend keeps names for a minute."
owner = "sandbox team"
link = "https://example.com/issues/17"
expires = 2027-03-31
"""

import datetime as dt
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from conformance.checks import Check
from conformance.errors import UsageFault
from conformance.host.digest import digest_of_bytes
from conformance.model import Json, Level
from conformance.nearest import nearest

_KEYS = frozenset({"id", "check", "state", "reason", "owner", "link", "expires"})
_STATES = ("fail", "warn", "skip")


@dataclass(frozen=True)
class Expected:
    """One entry: how one check is expected to end, why, whose task it is, and until when that is accepted."""

    id: str
    check: str
    state: str
    reason: str
    owner: str
    link: str
    expires: dt.date

    def as_json(self) -> dict[str, Json]:
        """For the report."""
        return {
            "id": self.id,
            "check": self.check,
            "state": self.state,
            "reason": self.reason,
            "owner": self.owner,
            "link": self.link,
            "expires": self.expires.isoformat(),
        }


@dataclass(frozen=True)
class Baseline:
    """A file of them."""

    file: str
    digest: str
    entries: tuple[Expected, ...]

    def as_json(self) -> dict[str, Json]:
        """For the report."""
        return {"file": self.file, "digest": self.digest, "entries": [entry.as_json() for entry in self.entries]}

    def of(self, check: Check) -> Expected | None:
        """The entry of a check."""
        named = ((entry.id, entry.check) for entry in self.entries)
        return dict(zip(named, self.entries, strict=True)).get((check.requirement, check.name))


def read_baseline(path: Path, checks: Iterable[Check], today: dt.date) -> Baseline:
    """Read the file. Raises `UsageFault` for anything in it that is unknown, incomplete or expired."""
    try:
        data = path.read_bytes()
        tables: Mapping[str, Any] = tomllib.loads(data.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageFault(f"{path} cannot be read: {error}.", "Correct it, or name another with --baseline.") from error
    listed: Any = tables.get("expected", [])
    if set(tables) - {"expected"} or not isinstance(listed, list):
        raise UsageFault(f"{path}: it holds nothing but entries, each written below [[expected]].")
    by_id: dict[str, list[Check]] = {}
    for check in checks:
        by_id.setdefault(check.requirement, []).append(check)
    entries = tuple(_entry(path.name, number, each, by_id) for number, each in enumerate(cast("list[Any]", listed), 1))
    for entry in entries:
        where = f"{path.name}: the entry of {entry.id} {entry.check}"
        if sum((other.id, other.check) == (entry.id, entry.check) for other in entries) > 1:
            raise UsageFault(f"{where} stands there twice.")
        if entry.expires < today:
            advice = (
                f"Ask its owner, {entry.owner}, whether it is mended; then remove it, or accept it until a later day."
            )
            raise UsageFault(f"{where} has expired on {entry.expires.isoformat()}.", advice)
    return Baseline(path.name, digest_of_bytes(data), entries)


def _entry(file: str, number: int, table: Any, by_id: Mapping[str, Sequence[Check]]) -> Expected:
    where = f"{file}: entry {number}"
    if not isinstance(table, dict):
        raise UsageFault(f"{where} must be a table, written below [[expected]].")
    values = cast("dict[str, Any]", table)
    for key in values:
        if key not in _KEYS:
            hint = nearest(key, _KEYS)
            raise UsageFault(
                f"{where}: the key {key} is unknown.",
                f"Did you mean {hint!r}?" if hint else f"Known: {', '.join(sorted(_KEYS))}.",
            )
    texts = {key: _text(where, values, key) for key in ("id", "state", "reason", "owner", "link")}
    check = _check(where, texts["id"], values.get("check"), by_id)
    expires: Any = values.get("expires")
    if not isinstance(expires, dt.date) or isinstance(expires, dt.datetime):
        raise UsageFault(f"{where}: expires must be a day.", "Write it without quotes: expires = 2027-03-31.")
    if texts["state"] not in _STATES:
        raise UsageFault(f"{where}: state must be {', '.join(_STATES[:-1])} or {_STATES[-1]}, not {texts['state']!r}.")
    worst = "fail" if check.declaration.level is Level.MUST else "warn"
    if texts["state"] not in {worst, "skip"}:
        raise UsageFault(f"{where}: {check.name} is graded {check.declaration.level}, so it can only {worst}.")
    return Expected(check=check.name, expires=expires, **texts)


def _text(where: str, values: Mapping[str, Any], key: str) -> str:
    value: Any = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageFault(f"{where}: {key} is missing.", "Each entry has id, state, reason, owner, link and expires.")
    return value


def _check(where: str, number: str, name: Any, by_id: Mapping[str, Sequence[Check]]) -> Check:
    if number not in by_id:
        hint = nearest(number, by_id)
        guess = f"Did you mean {hint}?" if hint else "`provider-conformance list` shows them."
        raise UsageFault(f"{where}: no rule with checks is called {number}.", guess)
    found = {check.name: check for check in by_id[number]}
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is None:
        raise UsageFault(f"{where}: {number} has several checks; `check` says which.", f"They are {', '.join(found)}.")
    if name not in found:
        raise UsageFault(f"{where}: {number} has no check {name!r}.", f"Its checks: {', '.join(found)}.")
    return found[name]
