"""`provider-conformance sign REPORT --key KEY`: the statement of a report in a signed envelope beside it."""

import argparse
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.commands.parts import Commands, add_command
from conformance.errors import UsageFault
from conformance.events import read_events
from conformance.model import ExitCode
from conformance.reports import certification, statement
from conformance.reports.tally import tally
from conformance.reports.write import EVENTS_FILE, SIGNED_FILE, STATEMENT_FILE, write_file


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "sign",
        _sign,
        f"Count a report again from its stream, and sign its statement: writes {STATEMENT_FILE} and {SIGNED_FILE}.",
        "openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out key.pub",
        "provider-conformance sign conformance-report --key key.pem",
        "provider-conformance verify conformance-report --key key.pub",
    )
    parser.add_argument("report", type=Path, help="report folder, with the events.jsonl of the run")
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help="private key in PEM")
    parser.add_argument("--password-env", metavar="NAME", help="environment variable with the password of the key")


def signing() -> Any:
    """Load the module that signs. Raises `UsageFault` when the extra is not installed."""
    try:
        return import_module("conformance.reports.dsse")
    except ModuleNotFoundError as error:
        hint = "Install it with: pip install 'sandbox-provider-conformance[sign]'"
        raise UsageFault("Signatures need the extra `sign`, which is not installed.", hint) from error


def _sign(options: argparse.Namespace) -> int:
    report = tally(read_events(options.report / EVENTS_FILE))
    text = statement.render(report, certification.render(report).encode())
    if text is None:
        hint = "Certify a tarball or a package directory."
        raise UsageFault("The run recorded no digest of the provider, so there is nothing to sign for.", hint)
    envelope = signing().sign(text.encode(), options.key, _password(options.password_env))
    for name, data in ((STATEMENT_FILE, text), (SIGNED_FILE, envelope)):
        print(write_file(options.report / name, data.encode()))
    return ExitCode.CERTIFIED


def _password(name: str | None) -> str | None:
    if name is None:
        return None
    password = os.environ.get(name)
    if password is None:
        raise UsageFault(f"The environment variable {name} is not set.", "It should hold the password of the key.")
    return password
