"""Reports as people name them: a report folder, its event stream, or its certification document."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from conformance.errors import UsageFault
from conformance.events import read_events
from conformance.model import Json
from conformance.reports import certification
from conformance.reports.fields import Fields
from conformance.reports.tally import tally
from conformance.reports.write import CERTIFICATION_FILE, EVENTS_FILE

SIZE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a document that is read whole, our choice: far above the largest real one."""

_GIVE: Final = "Give a report folder, an events.jsonl or a certification.json."


@dataclass(frozen=True, slots=True)
class Loaded:
    """A certification document. `counted`: it was counted from its stream just now, and not taken at its word."""

    path: Path
    document: Fields
    counted: bool


def load_report(path: Path) -> Loaded:
    """Load a report; the stream is preferred to what was written from it. Raises `UsageFault` or `StreamError`."""
    if path.is_dir():
        stream, written = path / EVENTS_FILE, path / CERTIFICATION_FILE
        return load_report(stream if stream.is_file() else written)
    if path.suffix == ".jsonl" and (path.is_file() or not path.exists()):
        document = certification.document(tally(read_events(path)))
        return Loaded(path, Fields(cast("dict[str, Json]", document), str(path)), counted=True)
    value = read_json(path)
    if not isinstance(value, dict) or value.get("schema") != certification.CERTIFICATION_SCHEMA:
        raise UsageFault(f"{path}: this is no certification document that this kit knows.", _GIVE)
    return Loaded(path, Fields(value, str(path)), counted=False)


def read_json(path: Path) -> Json:
    """Read a JSON document of bounded size. Raises `UsageFault` with what is wrong."""
    try:
        if path.exists() and not path.is_file():
            raise UsageFault(f"{path}: this is no file.", _GIVE)
        if path.stat().st_size > SIZE_LIMIT:
            raise UsageFault(f"{path}: the file is too large to be a report.", _GIVE)
        return cast("Json", json.loads(path.read_bytes()))
    except OSError as error:
        raise UsageFault(f"{path}: {error.strerror or 'the file cannot be read'}.", _GIVE) from error
    except (ValueError, RecursionError) as error:
        raise UsageFault(f"{path}: the file is not JSON.", _GIVE) from error
