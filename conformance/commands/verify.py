"""`provider-conformance verify THING`: whether a report, a badge or a statement may be believed, without a network."""

import argparse
import datetime as dt
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from PIL import Image

from conformance.commands.measure import measure_of
from conformance.commands.parts import Commands, add_command
from conformance.commands.sign import signing
from conformance.errors import UsageFault
from conformance.events import StreamError, read_events
from conformance.host.digest import digest_of_file, digest_of_tree
from conformance.model import JsonObject, object_of
from conformance.record import kit_version
from conformance.reports import page_view
from conformance.reports.frames import read_frames
from conformance.reports.load import read_json
from conformance.reports.report import ProfileResult, Report, text_of
from conformance.reports.sanitize import one_line
from conformance.reports.tally import tally
from conformance.reports.verify import Answer, Cause, Held, judge
from conformance.reports.write import (
    EVENTS_FILE,
    OUTPUT_PATTERNS,
    PAGE_FILE,
    SIGNED_FILE,
    STATEMENT_FILE,
    TRANSCRIPT_FILE,
    makers,
)

Makers: TypeAlias = Mapping[str, Callable[[], bytes]]

_LARGEST_BYTES = 64 * 1024 * 1024
"""Largest output that is compared (our choice): real ones are far smaller."""


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "verify",
        _verify,
        "Say whether a report, a badge or a statement may be believed. Each cause against it has its own exit code.",
        "provider-conformance verify conformance-report --package my-plugin-1.2.0.tgz",
        "provider-conformance verify conformance-report/badge-core.svg",
        "provider-conformance verify badge.png --report conformance-report",
        "provider-conformance verify conformance-report/statement.dsse.json --key key.pub",
    )
    parser.add_argument("thing", type=Path, help="report folder, or any file that a run or `sign` wrote")
    parser.add_argument("--report", type=Path, metavar="DIR", help="folder with the events.jsonl behind it")
    parser.add_argument("--package", type=Path, metavar="PATH", help="tarball or package directory to compare with")
    parser.add_argument("--key", type=Path, metavar="FILE", help="public key in PEM: the report must be signed with it")
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def _verify(options: argparse.Namespace) -> int:
    today = dt.datetime.now(dt.UTC).date()
    answer = verify(options.thing, today, report=options.report, package=options.package, key=options.key)
    if options.json:
        words = answer.cause.name.lower().replace("_", "-")
        print(json.dumps({"cause": words, "code": int(answer.cause), "sentence": answer.sentence}))
    else:
        print(answer.sentence)
    return int(answer.cause)


def verify(
    thing: Path, today: dt.date, *, report: Path | None = None, package: Path | None = None, key: Path | None = None
) -> Answer:
    """Verify a folder or a file of a report. Raises `UsageFault` for what cannot be read."""
    if not thing.exists():
        raise UsageFault(f"{thing}: there is no such file.", "Give a report folder, or a file that a run wrote.")
    held = _held(package)
    near = thing if thing.is_dir() else thing.parent
    folder = near if report is None else report
    stream = folder / EVENTS_FILE
    if not stream.is_file():
        return Answer(
            Cause.NO_EVIDENCE,
            f"There is no {EVENTS_FILE} beside it, so nothing can be counted again: name its folder with --report.",
        )
    try:
        events = read_events(stream)
        counted, header = tally(events), next(iter(events)).fields
    except StreamError as error:
        return Answer(Cause.DAMAGED, error.sentence())
    made = _outputs(counted, folder)
    name = _name(thing, made)
    against = _signature(thing, folder, made, key) or _files(thing, name, folder, made, counted)
    if against is not None:
        return against
    measure = measure_of(text_of(counted.revision, "id"))
    return _with_trust(judge(counted, header, measure, today, held, _profile(name, counted)), key)


def _outputs(report: Report, folder: Path) -> Makers:
    """List every output as it should be."""
    return makers(report, read_frames(folder / TRANSCRIPT_FILE, page_view.wanted_frames(report)))


def _signature(thing: Path, folder: Path, made: Makers, key: Path | None) -> Answer | None:
    signed = thing if thing.name.endswith(".dsse.json") else folder / SIGNED_FILE
    if key is None:
        if signed is not thing:
            return None
        return Answer(
            Cause.UNSIGNED, "Whose signature this is cannot be said without a key: give the public one with --key."
        )
    if not signed.is_file():
        return Answer(Cause.UNSIGNED, f"The report is not signed: there is no {SIGNED_FILE}.")
    dsse = signing()
    try:
        payload = dsse.opened(_envelope(signed), key)
    except dsse.SignatureRefused:
        return Answer(Cause.SIGNATURE, "The signature is not one of the given key over this statement.")
    if STATEMENT_FILE not in made or payload != made[STATEMENT_FILE]():
        return Answer(Cause.EDITED, "The signed statement is not what the stream of this report gives.")
    return None


def _envelope(path: Path) -> JsonObject:
    try:
        return object_of(read_json(path))
    except UsageFault:
        # What is no JSON carries no signature.
        return {}


def _files(thing: Path, name: str, folder: Path, made: Makers, report: Report) -> Answer | None:
    """Compare what lies there with what the stream gives: one file, or all that a folder holds."""
    if thing.is_dir():
        foreign = sorted(
            {each.name for pattern in OUTPUT_PATTERNS for each in thing.glob(pattern)} - {*made, SIGNED_FILE}
        )
        if foreign:
            return Answer(Cause.EDITED, f"{one_line(foreign[0], 100)} is nothing that this run wrote.")
        there = {each: thing / each for each in made if (thing / each).exists()}
    elif name == EVENTS_FILE or name.endswith(".dsse.json"):
        there = {}
    elif name in made:
        there = {name: thing}
    else:
        known = ", ".join(sorted(each for each in made if not each.startswith("badge-")))
        raise UsageFault(f"{thing}: this is no file that the run wrote.", f"Known: {known}, and badges of profiles.")
    wrong = [each for each, path in there.items() if not _same(path, made[each]())]
    if not wrong:
        return None
    if (
        wrong == [PAGE_FILE]
        and not (folder / TRANSCRIPT_FILE).is_file()
        and any(check.frames for check in report.checks)
    ):
        # It may quote what is gone, or may have been dressed up: nobody can tell.
        sentence = f"{PAGE_FILE} quotes {TRANSCRIPT_FILE}, which is not there: bring it along, or make the page again."
        return Answer(Cause.NO_EVIDENCE, sentence)
    written_by = text_of(report.kit, "version")
    if written_by != kit_version():
        return Answer(Cause.OTHER_KIT, f"Another version of the kit wrote this report: verify it with {written_by}.")
    return Answer(Cause.EDITED, f"{wrong[0]} is not what the stream gives: it was edited, or is of another run.")


def _name(thing: Path, made: Makers) -> str:
    """Give the name under which the run wrote a file; a badge may have been renamed where it is shown."""
    if thing.name in made or thing.is_dir() or thing.suffix not in {".svg", ".png"}:
        return thing.name
    alike = (name for name in made if Path(name).suffix == thing.suffix and _same(thing, made[name]()))
    return next(alike, "")


def _same(path: Path, expected: bytes) -> bool:
    if not path.is_file() or path.stat().st_size > _LARGEST_BYTES:
        return False
    data = path.read_bytes()
    return data == expected or (path.suffix == ".png" and _pixels(data) == _pixels(expected))


def _pixels(data: bytes) -> tuple[object, ...] | None:
    # The same picture may be packed in several ways; what is no picture equals nothing that we draw.
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            return picture.size, picture.info.get("Title"), picture.convert("RGBA").tobytes()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None


def _profile(name: str, report: Report) -> ProfileResult | None:
    """Find the profile that a badge speaks of; None for everything else."""
    return next((each for each in report.profiles if Path(name).stem == f"badge-{each.name}"), None)


def _held(package: Path | None) -> Held | None:
    if package is None:
        return None
    if package.is_dir():
        return Held("tree_digest", digest_of_tree(package))
    if not package.is_file():
        raise UsageFault(f"{package}: there is no such package.", "Give the tarball or the package directory.")
    return Held("tarball_digest", digest_of_file(package))


def _with_trust(answer: Answer, key: Path | None) -> Answer:
    if answer.cause is not Cause.VERIFIED:
        return answer
    trust = "It is not signed: nothing says who ran it." if key is None else "It is signed with the given key."
    return Answer(answer.cause, f"{answer.sentence} {trust}")
