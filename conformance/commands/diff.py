"""`provider-conformance diff OLD NEW`: what the newer version of a provider broke, mended or dropped."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from conformance.commands.parts import Commands, add_command
from conformance.model import ExitCode
from conformance.reports.diff import Change, Difference, compare
from conformance.reports.load import load_report
from conformance.reports.sanitize import one_line


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "diff",
        _diff,
        "Compare two reports: what got better, worse, is new or gone. Exit code 1 when something got worse.",
        "provider-conformance diff released/conformance-report conformance-report",
        "provider-conformance diff old/events.jsonl new/events.jsonl --json",
    )
    parser.add_argument("old", type=Path, help="report folder, events.jsonl or certification.json")
    parser.add_argument("new", type=Path, help="the same, of the newer run")
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def _diff(options: argparse.Namespace) -> int:
    difference = compare(load_report(options.old).document, load_report(options.new).document)
    if options.json:
        print(json.dumps({**asdict(difference), "regressions": len(difference.regressions)}, indent=2))
    else:
        print(told(difference))
    return ExitCode.FAILED if difference.regressions else ExitCode.CERTIFIED


def told(difference: Difference) -> str:
    """Write the difference for people, regressions first."""
    count = len(difference.regressions)
    head = f"{count} regression{'' if count == 1 else 's'}, {len(difference.changes)} changes"
    lines = [head if difference.changes else "Nothing changed."]
    lines += [f"  not alike: {one_line(each, 200)}" for each in difference.unlike]
    lines += [_line(each) for each in difference.changes]
    return "\n".join(lines)


def _line(change: Change) -> str:
    ways = {(True, True): f"{change.before} -> {change.after}", (True, False): f"was {change.before}"}
    way = ways.get((change.before is not None, change.after is not None), f"is {change.after}")
    mark = "!" if change.regression else " "
    return f"{mark} {change.turn:<7} {change.kind:<11} {one_line(change.key, 120)}: {way}"
