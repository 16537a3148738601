"""`provider-conformance index DIR`: a page and a JSON document that list all reports below a folder."""

import argparse
import datetime as dt
from pathlib import Path

from conformance.commands.parts import Commands, add_command
from conformance.contract import load_contract
from conformance.errors import UsageFault
from conformance.model import ExitCode
from conformance.reports.index import Place, Unreadable, index_html, index_json, read_index
from conformance.reports.write import write_file
from conformance.settings import DEFAULT_REVISION


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "index",
        _index,
        "List all reports below a folder: writes index.html and index.json. Stale ones are marked.",
        "provider-conformance index reports/",
        "provider-conformance index reports/ --to public/",
    )
    parser.add_argument("folder", type=Path, help="folder with report folders in it, at any depth")
    parser.add_argument("--to", type=Path, metavar="DIR", help="where to write (default: into the folder itself)")


def _index(options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        raise UsageFault(f"{options.folder}: there is no such folder.", "Give a folder with report folders in it.")
    today = dt.datetime.now(dt.UTC).date()
    order = load_contract(DEFAULT_REVISION).order
    target = options.folder if options.to is None else options.to
    target.mkdir(parents=True, exist_ok=True)
    rows = read_index(Place(options.folder, target, today, DEFAULT_REVISION, order))
    for name, text in (("index.html", index_html(rows, today)), ("index.json", index_json(rows, today))):
        print(write_file(target / name, text.encode()))
    unreadable = [each for each in rows if isinstance(each, Unreadable)]
    stale = sum(1 for each in rows if not isinstance(each, Unreadable) and each.stale)
    print(f"{len(rows) - len(unreadable)} listed, {stale} of them stale; {len(unreadable)} could not be read")
    return ExitCode.CERTIFIED
