"""The list of many reports: one row for each, as a page and as JSON; a bad report is a row that says so.

Rows are made from `registry-entry.json` alone, which is small, so that a thousand take a moment. A list is a list:
whether an entry may be believed is for `verify` to say.
"""

import datetime as dt
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, cast
from urllib.parse import quote

from conformance.errors import UsageFault
from conformance.model import Json, Verdict, Word
from conformance.reports.evidence import ENTRY_SCHEMA
from conformance.reports.fields import Fields
from conformance.reports.html import html_page
from conformance.reports.sanitize import clean_json, one_line
from conformance.reports.tones import Tone, tone_of_verdict, tone_of_word
from conformance.reports.write import CERTIFICATION_FILE, ENTRY_FILE, EVENTS_FILE, PAGE_FILE

INDEX_SCHEMA: Final = "sandbox-provider-conformance/index/1"
_SIZE_LIMIT: Final = 256 * 1024
"""Bytes of an entry, our choice: a real one has one or two thousand."""
_TEXT: Final = 120


class Standing(StrEnum):
    """Whether an entry still stands."""

    CURRENT = "current"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    UNDATED = "undated"


@dataclass(frozen=True, slots=True)
class Entry:
    """One provider of the list. `folder` is where its report lies, seen from the list."""

    folder: str
    name: str
    version: str
    digest: str | None
    digest_of: str | None
    revision: str
    verdict: Verdict
    standing: Standing
    issued: str | None
    expires: str | None
    profiles: dict[str, Verdict]
    capabilities: dict[str, Word]
    page: str | None
    """Address of its page, seen from the list; None when it has none."""

    @property
    def stale(self) -> bool:
        """Whether it should no longer be relied on."""
        return self.standing is not Standing.CURRENT


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A report that could not be listed, and why."""

    folder: str
    problem: str


@dataclass(frozen=True, slots=True)
class Place:
    """What the list is made from, and by what its entries are measured. `base` is the folder it will stand in."""

    root: Path
    base: Path
    today: dt.date
    current_revision: str
    order: Sequence[str]
    """All revisions of the contract, oldest first."""


def read_index(place: Place) -> list[Entry | Unreadable]:
    """Read every report below a folder, in the order of their names."""
    found = [_read(place, folder) for folder in _report_folders(place.root)]
    return sorted(found, key=lambda each: (isinstance(each, Unreadable), _sort_key(each)))


def _sort_key(row: Entry | Unreadable) -> tuple[str, str]:
    return (row.name.lower(), row.folder) if isinstance(row, Entry) else ("", row.folder)


def _report_folders(root: Path) -> list[Path]:
    names = (ENTRY_FILE, CERTIFICATION_FILE, EVENTS_FILE)
    return sorted({path.parent for name in names for path in root.rglob(name)})


def _read(place: Place, folder: Path) -> Entry | Unreadable:
    shown = one_line(folder.relative_to(place.root).as_posix(), _TEXT)
    try:
        return _entry(place, folder, shown)
    except UsageFault as fault:
        return Unreadable(shown, one_line(fault.problem.replace(str(folder), "."), 300))
    except OSError as error:
        return Unreadable(shown, f"The file {ENTRY_FILE} cannot be read: {error.strerror or type(error).__name__}.")
    except (ValueError, RecursionError):
        return Unreadable(shown, f"The file {ENTRY_FILE} is not JSON.")


def _entry(place: Place, folder: Path, shown: str) -> Entry:
    path = folder / ENTRY_FILE
    if path.exists() and not path.is_file():
        # Such as a pipe, which would keep the whole list waiting.
        raise UsageFault(f"The file {ENTRY_FILE} is no file.")
    if path.stat().st_size > _SIZE_LIMIT:
        raise UsageFault(f"The file {ENTRY_FILE} is too large to be one.")
    value = cast("Json", json.loads(path.read_bytes()))
    if not isinstance(value, dict) or value.get("schema") != ENTRY_SCHEMA:
        raise UsageFault(f"The file {ENTRY_FILE} is of a format that this kit does not know.")
    entry = Fields(value, ENTRY_FILE)
    subject = entry.inner("subject")
    digest = subject.inner("digest")
    revision = one_line(entry.text("revision"), _TEXT)
    profiles, capabilities = entry.inner("profiles"), entry.inner("capabilities")
    return Entry(
        folder=shown,
        name=one_line(subject.maybe_text("name") or "unnamed provider", _TEXT),
        version=one_line(subject.maybe_text("version") or "", 40),
        digest=digest.maybe_label("value"),
        digest_of=digest.maybe_label("of"),
        revision=revision,
        verdict=entry.word("verdict", Verdict),
        standing=_standing(place, entry, revision),
        issued=entry.maybe_label("issued"),
        expires=entry.maybe_label("expires"),
        profiles={one_line(name, _TEXT): profiles.word(name, Verdict) for name in profiles.values},
        capabilities={one_line(name, _TEXT): capabilities.word(name, Word) for name in capabilities.values},
        page=_address(folder, place.base),
    )


def _address(folder: Path, base: Path) -> str | None:
    page = folder / PAGE_FILE
    if not page.is_file():
        return None
    # Quoted, and never without a dot in front, so that no name of a folder is taken for something else.
    return f"./{quote(os.fsencode(os.path.relpath(page, base)))}"


def _standing(place: Place, entry: Fields, revision: str) -> Standing:
    until = entry.maybe_text("expires")
    try:
        last = None if until is None else dt.date.fromisoformat(until)
    except ValueError:
        last = None
    if last is None:
        return Standing.UNDATED
    if last < place.today:
        return Standing.EXPIRED
    order = place.order
    old = revision in order and order.index(revision) < order.index(place.current_revision)
    return Standing.SUPERSEDED if old else Standing.CURRENT


def index_json(rows: Iterable[Entry | Unreadable], today: dt.date) -> str:
    """Write the list for programs."""
    listed = list(rows)
    document: Json = {
        "schema": INDEX_SCHEMA,
        "made": today.isoformat(),
        "entries": [_entry_json(each) for each in listed if isinstance(each, Entry)],
        "unreadable": [
            {"folder": each.folder, "problem": each.problem} for each in listed if isinstance(each, Unreadable)
        ],
    }
    return json.dumps(clean_json(document), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _entry_json(entry: Entry) -> Json:
    return {
        "folder": entry.folder,
        "name": entry.name,
        "version": entry.version,
        "digest": None if entry.digest is None else {"of": entry.digest_of, "value": entry.digest},
        "revision": entry.revision,
        "verdict": entry.verdict,
        "standing": entry.standing,
        "issued": entry.issued,
        "expires": entry.expires,
        "profiles": dict(entry.profiles),
        "capabilities": dict(entry.capabilities),
    }


def index_html(rows: Iterable[Entry | Unreadable], today: dt.date) -> str:
    """Write the list for people: one table, filterable by capability and by what still stands, without scripts."""
    listed = list(rows)
    entries = [each for each in listed if isinstance(each, Entry)]
    keys = sorted({key for each in entries for key in each.capabilities})
    numbers = {key: number for number, key in enumerate(keys)}
    style = "".join(
        f"main:has(#capability-{number}:checked) .entry:not(.c{number}){{display:none}}\n"
        for number in numbers.values()
    )
    return html_page(
        "index.html",
        style=style + "main:has(#standing-current:checked) .entry.stale{display:none}\n",
        entries=[(each, _classes(each, numbers), _tone(each)) for each in entries],
        unreadable=[each for each in listed if isinstance(each, Unreadable)],
        keys=keys,
        today=today,
        certified=sum(each.verdict is Verdict.CERTIFIED and not each.stale for each in entries),
        good={key: sum(_has(each, key) for each in entries) for key in keys},
        tone_of_word=tone_of_word,
        tone_of_verdict=tone_of_verdict,
    )


def _tone(entry: Entry) -> Tone:
    return Tone.QUIET if entry.stale else tone_of_verdict(entry.verdict)


def _has(entry: Entry, key: str) -> bool:
    return entry.capabilities.get(key) in {Word.CERTIFIED, Word.CERTIFIED_BY_DISCOVERY}


def _classes(entry: Entry, numbers: dict[str, int]) -> str:
    shown = " ".join(f"c{number}" for key, number in numbers.items() if _has(entry, key))
    return f"entry {shown}{' stale' if entry.stale else ''}"
