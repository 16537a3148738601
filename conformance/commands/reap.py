"""`provider-conformance reap [LEDGER …]`: close what a run left open, later or on another machine."""

import argparse
import sys
from pathlib import Path

from conformance.account import read_account
from conformance.commands.parts import Commands, add_command
from conformance.errors import ConformanceError, EnvironmentFault, UsageFault
from conformance.model import ExitCode
from conformance.reaper.close import Reaped, reap
from conformance.reaper.earlier import WORK_PREFIX, in_use, ledgers_in
from conformance.reaper.guard import remove_work
from conformance.reaper.reference import expect_the_same_config, options_of
from conformance.settings import DEFAULT_REPORT, Options, current_environment, read_settings
from conformance.wire.leftovers import end_workers, this_boot


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "reap",
        _reap,
        "Close what a run left open: release, then destroy, in a fresh worker. Only what its ledger has opened is "
        "touched. Exit code 20 when something may still exist.",
        "provider-conformance reap",
        "provider-conformance reap downloaded-report/ledger-x3k9a_1b.jsonl --provider ./my-plugin",
    )
    parser.add_argument(
        "ledger", nargs="*", type=Path, help=f"ledger file, or a folder with some (default: {DEFAULT_REPORT})"
    )
    parser.add_argument("--provider", metavar="SOURCE", default="", help="the provider (default: that of the run)")
    parser.add_argument("--provider-manifest", metavar="FILE", help="manifest, with cmd: (default: that of the run)")
    parser.add_argument("--provider-config", metavar="JSON", help="config, or its file (default: that of the run)")
    parser.add_argument("--conformance-file", metavar="FILE", help="settings file (default: that of the run)")
    parser.add_argument("--provider-node", metavar="PROGRAM", help="Node to use (default: that of the run)")


def _reap(options: argparse.Namespace) -> int:
    given = Options(
        source=options.provider,
        manifest=options.provider_manifest,
        config=options.provider_config,
        file=options.conformance_file,
        node=options.provider_node,
    )
    paths = _ledgers(options.ledger)
    if not paths:
        print("There is no ledger, so nothing was left open.")
    codes = [_told(path, given) for path in paths]
    return next((code for code in (ExitCode.USAGE, ExitCode.ENVIRONMENT, ExitCode.INCOMPLETE) if code in codes), 0)


def _ledgers(named: list[Path]) -> list[Path]:
    found = list[Path]()
    for path in named or [Path(DEFAULT_REPORT)]:
        if path.is_dir():
            found += ledgers_in(path)
        elif path.is_file():
            found.append(path)
        elif named:
            raise UsageFault(f"{path}: there is no such file.", "Give a ledger-….jsonl, or the folder of a report.")
    return found


def _told(path: Path, given: Options) -> int:
    try:
        reaped = _reap_one(path, given)
    except EnvironmentFault as fault:
        print(f"{path}: {fault.sentence()}", file=sys.stderr)
        return ExitCode.ENVIRONMENT
    except ConformanceError as fault:
        print(f"{path}: {fault.sentence()}", file=sys.stderr)
        return ExitCode.USAGE
    print(f"{path}\n{reaped.text}")
    return ExitCode.INCOMPLETE if reaped.left else ExitCode.CERTIFIED


def _reap_one(path: Path, given: Options) -> Reaped:
    account = read_account(path)
    if account is None or account.settled:
        return Reaped()
    if in_use(path):
        raise UsageFault("Its run, or the reaper of that, still works.", "Wait for the end of it.")
    here = account.header.get("boot") == this_boot()
    if here:
        end_workers(account.workers)
    settings = read_settings(options_of(account.header, given), current_environment(), Path.cwd())
    expect_the_same_config(account.header, settings)
    reaped = reap(path, settings)
    work = Path(str(account.header.get("work")))
    if here and work.name.startswith(WORK_PREFIX):
        remove_work(work)
    return reaped
