"""Writes every output that is a pure function of the event stream into one folder."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from conformance.events import read_events
from conformance.reports import badge, certification, ctrf, evidence, junit, markdown, page, page_view, statement
from conformance.reports.badge_png import png
from conformance.reports.frames import FrameExcerpt, read_frames
from conformance.reports.report import Report
from conformance.reports.tally import tally

EVENTS_FILE = "events.jsonl"
TRANSCRIPT_FILE = "transcript.jsonl"
CERTIFICATION_FILE = "certification.json"
PAGE_FILE = "report.html"
EVIDENCE_FILE = "badge-evidence.json"
ENTRY_FILE = "registry-entry.json"
STATEMENT_FILE = "statement.json"
SIGNED_FILE = "statement.dsse.json"

OUTPUT_PATTERNS: Final = (
    CERTIFICATION_FILE,
    PAGE_FILE,
    EVIDENCE_FILE,
    ENTRY_FILE,
    STATEMENT_FILE,
    SIGNED_FILE,
    "junit.xml",
    "ctrf.json",
    "summary.md",
    "badge*.svg",
    "badge*.png",
    "badge*.json",
)
"""Names of everything that is written here or signed later, for whoever has to clear a folder before a new run."""

_NO_FRAMES: Final[Mapping[int, FrameExcerpt]] = {}


def write_all(events_path: Path, folder: Path) -> list[Path]:
    """Rebuild the outputs from a stream and return their paths.

    Raises `StreamError` before anything is written, so that a damaged stream leaves no half-made report.
    """
    report = tally(read_events(events_path))
    return write_report(report, folder, events_path.with_name(TRANSCRIPT_FILE))


def write_report(
    report: Report, folder: Path, transcript: Path | None = None, *, hide: Callable[[str], str] | None = None
) -> list[Path]:
    """Write the outputs of a counted run; each file appears whole or not at all.

    The page shows excerpts of `transcript`, if there is one; by default it is looked for in `folder`. `hide` takes
    secrets out of each text that is about to be written: the stream holds none, so it should find none.
    """
    source = folder / TRANSCRIPT_FILE if transcript is None else transcript
    frames = read_frames(source, page_view.wanted_frames(report))
    made = documents(report, frames)
    folder.mkdir(parents=True, exist_ok=True)
    return [
        write_file(folder / name, data if hide is None or name.endswith(".png") else hide(data.decode()).encode())
        for name, data in made.items()
    ]


def documents(report: Report, frames: Mapping[int, FrameExcerpt] = _NO_FRAMES) -> dict[str, bytes]:
    """Make every output of a counted run, by file name."""
    return {name: make() for name, make in makers(report, frames).items()}


def makers(report: Report, frames: Mapping[int, FrameExcerpt] = _NO_FRAMES) -> dict[str, Callable[[], bytes]]:
    """Give the maker of every output by file name, for whoever needs one of them."""
    whole = certification.render(report).encode()
    made: dict[str, Callable[[], bytes]] = {
        CERTIFICATION_FILE: lambda: whole,
        PAGE_FILE: lambda: page.render(report, frames).encode(),
        "junit.xml": lambda: junit.render(report).encode(),
        "ctrf.json": lambda: ctrf.render(report).encode(),
        "summary.md": lambda: markdown.render(report).encode(),
        EVIDENCE_FILE: lambda: evidence.badge_evidence(report, whole).encode(),
        ENTRY_FILE: lambda: evidence.registry_entry(report, whole).encode(),
    }
    stated = statement.render(report, whole)
    if stated is not None:
        made[STATEMENT_FILE] = stated.encode
    for each in badge.badges(report):
        made[f"{each.name}.svg"] = badge.svg(each).encode
        made[f"{each.name}.png"] = partial(png, each)
        made[f"{each.name}.json"] = badge.shields(each).encode
    return made


def write_file(path: Path, data: bytes) -> Path:
    """Write one output as a whole or not at all."""
    # A reader, or a second `report` beside us, must never see half a document.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
