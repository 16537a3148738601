"""The ledger on the disk: what is about to be made, written down before the call is sent.

One JSON object a line, append-only; docs/ledger.md tells the format. A death of the kit can tear the last line and
nothing else. Secrets are never in it: configs hold the ids of secrets, as a host stores them, and every text goes
through the redactor.
"""

import fcntl
import json
import os
from dataclasses import asdict, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from conformance.errors import EnvironmentFault
from conformance.host.digest import digest_of_json
from conformance.host.lease import Lease
from conformance.host.tenant import host_time, secret_id
from conformance.ledger import Ending, Entry, Held
from conformance.model import Json, JsonObject, object_of
from conformance.redact import Redactor
from conformance.wire.leftovers import start_of

LEDGER_SCHEMA = "sandbox-provider-conformance/ledger/1"
"""Names the format. A reader refuses any other."""


class LineKind(StrEnum):
    """What a line tells."""

    LEDGER = "ledger"
    WORKER = "worker"
    INTENT = "intent"
    ANSWERED = "answered"
    SETTLED = "settled"
    DOUBTED = "doubted"
    REAPED = "reaped"
    END = "end"


class Journal:
    """Writes one ledger file, and holds its lock for as long as it is open.

    `redact` takes secrets out, `secret_names` are the config keys whose values are secrets. Raises
    `EnvironmentFault` when the file cannot be opened, and `BlockingIOError` when somebody else holds its lock.
    """

    def __init__(self, path: Path, redact: Redactor, secret_names: frozenset[str]) -> None:
        self.path = path
        self._redact = redact
        self._secret_names = secret_names
        self._failed: EnvironmentFault | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._fault(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._torn = not _ends_with_a_line(self._file)
            _sync_folder(path.parent)
        except BlockingIOError:
            os.close(self._file)
            raise
        except OSError as error:
            os.close(self._file)
            raise self._fault(error) from error

    def open(self, about: JsonObject) -> None:
        """Write the first line. Raises `EnvironmentFault` when it cannot be written."""
        self._write(LineKind.LEDGER, schema=LEDGER_SCHEMA, at=host_time(0), **object_of(self._redact.json(about)))  # pyright: ignore[reportArgumentType] # no key is named so

    def worker(self, process_id: int) -> None:
        """Write that a worker was started, so that it can be found when the kit dies."""
        self._try(LineKind.WORKER, pid=process_id, started=start_of(process_id))

    def intent(self, entry: Entry, params: JsonObject) -> None:
        """Write an intent with what a person needs to find at the backend what it made."""
        config = self._stored(object_of(params.get("config")))
        self._write(
            LineKind.INTENT,
            label=entry.label,
            check=entry.check,
            kind=str(entry.kind),
            at=host_time(0),
            config=digest_of_json(config),
            request={name: params.get(name) for name in ("companyId", "environmentId", "runId")},
        )

    def answered(self, entry: Entry) -> None:
        """Write what was handed out, with all that a fresh process needs to close it."""
        if entry.held is not None:
            self._try(LineKind.ANSWERED, durable=True, label=entry.label, held=self._as_json(entry.held))

    def settled(self, entry: Entry, ending: Ending) -> None:
        """Write how an entry was closed. Where that is lost, it is closed once more: that does no harm."""
        self._try(LineKind.SETTLED, label=entry.label, how=str(ending))

    def doubted(self, entry: Entry, disproved: Ending) -> None:
        """Write that an ending turned out to be false."""
        self._try(LineKind.DOUBTED, label=entry.label, disproved=str(disproved))

    def reaped(self, text: str) -> None:
        """Write what became of the entries after the run."""
        self._try(LineKind.REAPED, durable=True, at=host_time(0), text=self._redact(text))

    def end(self) -> None:
        """Write that the kit has ended in its own way: no process of it is left."""
        self._try(LineKind.END, durable=True, at=host_time(0))

    def close(self) -> None:
        """Give up the file and its lock; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _try(self, line: LineKind, /, *, durable: bool = False, **told: Json) -> None:
        # What happened has happened: the run must go on to close it, and opens nothing more.
        try:
            self._write(line, durable=durable, **told)
        except EnvironmentFault as fault:
            self._failed = fault

    def _write(self, line: LineKind, /, *, durable: bool = True, **told: Json) -> None:
        if self._failed is not None and line is LineKind.INTENT:
            raise self._failed
        text = json.dumps({"entry": str(line), **told}, separators=(",", ":")) + "\n"
        data = memoryview((("\n" if self._torn else "") + text).encode("ascii"))
        try:
            while data:
                written = os.write(self._file, data)
                data = data[written:]
                self._torn = bool(data)
            if durable:
                os.fsync(self._file)
        except OSError as error:
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> EnvironmentFault:
        return EnvironmentFault(
            f"The ledger {self.path} cannot be written: {error.strerror}.",
            "Nothing is opened that it does not hold: make room, or name another place with --report-dir.",
        )

    def _as_json(self, held: Held) -> JsonObject:
        values: dict[str, Any] = {each.name: getattr(held, each.name) for each in fields(held)}
        values["tenant"] = {**asdict(held.tenant), "plugin_row": str(held.tenant.plugin_row)}
        if isinstance(held, Lease):
            values["internal_keys"] = sorted(held.internal_keys)
            values["secrets"] = sorted(held.secrets)
        else:
            values["config"] = self._stored(held.config)
            values["secrets"] = sorted(self._secret_names & held.config.keys())
        return object_of(self._redact.json(values))

    def _stored(self, config: JsonObject) -> dict[str, Json]:
        return {key: secret_id(key) if key in self._secret_names else value for key, value in config.items()}


def _ends_with_a_line(file: int) -> bool:
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def _sync_folder(folder: Path) -> None:
    # A new file is safe on the disk only when its name is.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
