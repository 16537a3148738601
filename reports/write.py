"""Writes every output that is a pure function of the event stream into one folder."""

import os
from pathlib import Path

from conformance.events import read_events
from conformance.reports import badge, certification, page, page_view
from conformance.reports.frames import read_frames
from conformance.reports.report import Report
from conformance.reports.tally import tally

DEFAULT_FOLDER = "conformance-report"
"""Where a run leaves its report, from the directory it was started in."""

CERTIFICATION_FILE = "certification.json"
PAGE_FILE = "report.html"
TRANSCRIPT_FILE = "transcript.jsonl"


def write_all(events_path: Path, folder: Path) -> list[Path]:
    """Rebuild the outputs from a stream and return their paths.

    Raises `StreamError` before anything is written, so that a damaged stream leaves no half-made report.
    """
    report = tally(read_events(events_path))
    return write_report(report, folder, events_path.with_name(TRANSCRIPT_FILE))


def write_report(report: Report, folder: Path, transcript: Path | None = None) -> list[Path]:
    """Write the outputs of a counted run; each file appears whole or not at all.

    The page shows excerpts of `transcript`, if there is one; by default it is looked for in `folder`.
    """
    source = folder / TRANSCRIPT_FILE if transcript is None else transcript
    frames = read_frames(source, page_view.wanted_frames(report))
    documents = {CERTIFICATION_FILE: certification.render(report), PAGE_FILE: page.render(report, frames)}
    for each in badge.badges(report):
        documents[f"{each.name}.svg"] = badge.svg(each)
        documents[f"{each.name}.json"] = badge.shields(each)
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, text) for name, text in documents.items()]


def _write(path: Path, text: str) -> Path:
    # A reader, or a second `report` beside us, must never see half a document.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(text.encode())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
