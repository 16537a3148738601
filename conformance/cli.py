"""The command `provider-conformance`: everything that is pleasant to have beside `pytest --provider`."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from conformance.catalogue import Row, catalogue
from conformance.commands import diff, index, reap, replay, sign, verify
from conformance.commands.parts import Command, Commands, add_command
from conformance.contract import load_contract, revisions
from conformance.errors import ConformanceError, UsageFault
from conformance.events import read_events
from conformance.fixtures.mutants import all_mutants
from conformance.matrix import markdown
from conformance.model import ExitCode
from conformance.nearest import nearest
from conformance.record import kit_version
from conformance.reports.tally import tally
from conformance.reports.terminal import summary
from conformance.reports.write import write_report
from conformance.settings import DEFAULT_REVISION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    command: Command = options.command
    try:
        return command(options)
    except UsageFault as fault:
        print(f"provider-conformance: {fault.sentence()}", file=sys.stderr)
        return ExitCode.USAGE
    except ConformanceError as fault:
        print(f"provider-conformance: {fault.sentence()}", file=sys.stderr)
        return ExitCode.KIT
    except BrokenPipeError:
        return ExitCode.CERTIFIED
    except OSError as error:
        print(f"provider-conformance: {error.filename or 'a file'}: {error.strerror or error}.", file=sys.stderr)
        return ExitCode.USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="provider-conformance",
        description="Certify Paperclip sandbox providers, and look at what the kit judges and found.",
        epilog=_examples(
            "provider-conformance run reference",
            "provider-conformance explain LEASE-028",
            "provider-conformance list --area lease",
            "provider-conformance report conformance-report/events.jsonl",
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"provider-conformance {kit_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands)
    _add_list(commands)
    _add_explain(commands)
    _add_report(commands)
    diff.add(commands)
    replay.add(commands)
    sign.add(commands)
    verify.add(commands)
    index.add(commands)
    reap.add(commands)
    return parser


def _add_run(commands: Commands) -> None:
    parser = add_command(
        commands,
        "run",
        _run,
        "Certify a provider: pytest with --provider SOURCE, and whatever else you give it.",
        "provider-conformance run reference",
        "provider-conformance run ./my-plugin -k LEASE --report-dir out",
    )
    parser.add_argument(
        "source", help="a plugin package directory, a .tgz, npm:NAME@VERSION, 'cmd:COMMAND', or reference"
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="options of pytest and of the kit (see pytest --help)")


def _add_list(commands: Commands) -> None:
    parser = add_command(
        commands,
        "list",
        _list,
        "List every rule of the contract, with the checks that judge it and the mutants that prove them.",
        "provider-conformance list --area lease",
        "provider-conformance list --json > rules.json",
        "provider-conformance list --mutants",
    )
    _add_contract(parser)
    parser.add_argument("--area", metavar="AREA", help="only this area, such as lease or execute")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="as JSON, for programs")
    what.add_argument("--markdown", action="store_true", help="as the page docs/rules.md")
    what.add_argument("--mutants", action="store_true", help="list the broken providers that prove the kit instead")
    what.add_argument("--limits", action="store_true", help="list the limits that --provider-limit can change instead")


def _add_explain(commands: Commands) -> None:
    parser = add_command(
        commands,
        "explain",
        _explain,
        "Explain one rule: what it says, why it exists, how it is checked, and what usually breaks it.",
        "provider-conformance explain LEASE-028",
    )
    _add_contract(parser)
    parser.add_argument("id", help="id of a rule, such as LEASE-028")


def _add_report(commands: Commands) -> None:
    parser = add_command(
        commands,
        "report",
        _report,
        "Rebuild every output from the event stream of a run, and say its verdict again.",
        "provider-conformance report conformance-report/events.jsonl",
        "provider-conformance report events.jsonl --to public/",
    )
    parser.add_argument("events", type=Path, help="events.jsonl of a run")
    parser.add_argument("--to", type=Path, metavar="DIR", help="where to write (default: beside the stream)")


def _add_contract(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(revisions())
    parser.add_argument("--contract", metavar="REVISION", default=DEFAULT_REVISION, help=f"revision: {known}")


def _examples(*lines: str) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)


def _run(options: argparse.Namespace) -> int:
    arguments = [sys.executable, "-m", "pytest", "--provider", options.source, *options.rest]
    # Without this Python puts the current directory first on its path, where folders of the provider may hide modules.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    return subprocess.run(arguments, check=False, env=environment).returncode


def _list(options: argparse.Namespace) -> int:
    contract = load_contract(options.contract)
    if options.mutants:
        for name, mutant in sorted(all_mutants().items()):
            print(f"{name:<48} {', '.join(mutant.breaks):<22} {(mutant.__doc__ or '').strip()}")
        return ExitCode.CERTIFIED
    if options.limits:
        for name, limit in contract.limits.items():
            print(f"{name:<20} {limit.value:>12g} {limit.unit:<10} {limit.chosen_by:<9} {limit.reason}")
        return ExitCode.CERTIFIED
    rows = [row for row in catalogue(contract) if options.area in {None, row.area}]
    if not rows:
        known = sorted({row.area for row in catalogue(contract)})
        hint = nearest(str(options.area), known)
        guess = f" Did you mean {hint!r}?" if hint else ""
        raise UsageFault(f"There is no area {options.area!r}.{guess}", f"Known: {', '.join(known)}.")
    if options.markdown:
        print(markdown(contract.revision, rows), end="")
        return ExitCode.CERTIFIED
    if options.json:
        print(json.dumps([row.as_json() for row in rows], indent=2))
        return ExitCode.CERTIFIED
    for row in rows:
        print(f"{row.id:<12} {row.level:<6} {_how(row):<16} {row.statement}")
    return ExitCode.CERTIFIED


def _how(row: Row) -> str:
    if row.checks:
        return f"{len(row.checks)} check{'s' if len(row.checks) > 1 else ''}"
    if not row.applies:
        return "other revision"
    return "not yet" if row.not_observable is None else "not observable"


def _explain(options: argparse.Namespace) -> int:
    contract = load_contract(options.contract)
    rows = {row.id: row for row in catalogue(contract)}
    row = rows.get(options.id.upper())
    if row is None:
        hint = nearest(options.id.upper(), rows)
        guess = f"Did you mean {hint}?" if hint else "`provider-conformance list` shows all of them."
        raise UsageFault(f"There is no rule {options.id!r}.", guess)
    print(explain(row, shutil.get_terminal_size((100, 24)).columns))
    return ExitCode.CERTIFIED


def explain(row: Row, width: int) -> str:
    """The page about one rule, at most `width` columns wide."""
    parts = [f"{row.id}  {row.level}  area {row.area}, profile {row.profile}, since {row.since}", ""]
    parts += _paragraph("Rule", row.statement, width)
    parts += _paragraph("Why", row.why, width)
    parts += _paragraph("Source", row.source, width)
    parts += _paragraph("Observed", row.observed_by, width)
    parts += _paragraph("Not observable", row.not_observable, width)
    for check in row.checks:
        parts += _paragraph("Check", f"{check.name} ({check.level}, {check.cost}): {check.rule}", width)
    parts += _paragraph("Usually", row.usually, width)
    for mutant in row.mutants:
        parts += _paragraph("Mutant", f"{mutant.name}: {mutant.misdeed}", width)
    if row.mutants:
        parts += ["", f"See it fail:  pytest --provider mutant:{row.mutants[0].name} -k {row.id}"]
    return "\n".join(parts)


def _paragraph(label: str, text: str | None, width: int) -> list[str]:
    if not text:
        return []
    head = f"{label:<16}"
    return textwrap.wrap(
        " ".join(text.split()), max(40, min(width, 110)), initial_indent=head, subsequent_indent=" " * 16
    )


def _report(options: argparse.Namespace) -> int:
    if not options.events.is_file():
        raise UsageFault(f"{options.events}: there is no such file.", "Give the events.jsonl of a run.")
    report = tally(read_events(options.events))
    folder = options.events.parent if options.to is None else options.to
    write_report(report, folder, options.events.with_name("transcript.jsonl"))
    columns = shutil.get_terminal_size((100, 24)).columns
    print(summary(report, columns, color=sys.stdout.isatty(), folder=str(folder)), end="")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
