"""`provider-conformance replay REPORT CHECK`: one check of a report once more, with what was recorded of its run."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.collection import load_checks
from conformance.commands.parts import Commands, add_command
from conformance.contract import revisions
from conformance.errors import UsageFault
from conformance.model import object_of
from conformance.nearest import nearest
from conformance.reports.again import Comparison, Outcome, compare
from conformance.reports.collect import WIRE_CHECK
from conformance.reports.fields import Fields
from conformance.reports.findings import speaks_for_itself
from conformance.reports.load import load_report
from conformance.reports.sanitize import clean, one_line
from conformance.reports.script import read_script
from conformance.reports.write import EVENTS_FILE, TRANSCRIPT_FILE

_HIDDEN = "[redacted"
_MORE = "one more option of the run, such as --with=--provider-inventory=./list.sh; may be repeated"


@dataclass(frozen=True, slots=True)
class Target:
    """A check as the report has it. `runs` are the names of the checks that have to run for it."""

    row: Fields
    runs: tuple[str, ...]

    @property
    def id(self) -> str:
        """Id of the requirement."""
        return self.row.label("id")

    @property
    def name(self) -> str:
        """Name of the check."""
        return self.row.label("name")

    @property
    def told(self) -> str:
        """The check in words."""
        return f"{self.id} {self.name.replace('_', ' ')}"


def add(commands: Commands) -> None:
    """Put the command into the parser."""
    parser = add_command(
        commands,
        "replay",
        _replay,
        "Run one check of a report again, as it was run, and say whether it is fixed, still failing or different.",
        "provider-conformance replay conformance-report LEASE-028",
        "provider-conformance replay conformance-report LEASE-028 --provider ./my-plugin-1.2.1.tgz",
        "provider-conformance replay conformance-report LEASE-028 --script | node dist/worker.js",
    )
    add_option = parser.add_argument
    add_option("report", type=Path, help="report folder, events.jsonl or certification.json")
    add_option("check", help="id of a rule, such as LEASE-028, or the name of a check")
    add_option("--provider", metavar="SOURCE", help="what to run it on (default: where the report says it was)")
    add_option("--provider-manifest", metavar="FILE", help="manifest as JSON; goes with --provider 'cmd:…'")
    add_option("--provider-config", metavar="JSON", help="environment config (default: the recorded one)")
    add_option("--provider-node", metavar="PROGRAM", help="Node to use")
    add_option("--conformance-file", metavar="FILE", help="settings file with the config and the names of secrets")
    add_option("--report-dir", type=Path, metavar="DIR", help="keep the report of this one check there")
    add_option("--script", action="store_true", help="run nothing: print what was sent to the worker, a message a line")
    add_option("--with", dest="more", action="append", default=[], metavar="OPTION", help=_MORE)
    add_option("--worker", type=int, metavar="N", help="with --script: which of the workers that the check started")


def _replay(options: argparse.Namespace) -> int:
    document = load_report(options.report).document
    rows = _rows(document, options.check)
    if options.script:
        return _script(options, rows)
    targets = [_target(row) for row in rows]
    new = _run(options, document, [name for target in targets for name in target.runs])
    if isinstance(new, int):
        return new
    found = [_compared(target, new) for target in targets]
    aside = "; ".join(_unlike(document, new))
    for each in found:
        print(each.sentence + (f" ({aside})" if aside else ""))
    return max((each.code for each in found), default=0)


# -- which check


def _rows(document: Fields, asked: str) -> list[Fields]:
    rows = document.rows("checks")
    wanted = asked.strip()
    found = [row for row in rows if wanted.upper() == row.label("id").upper() or wanted == row.label("name")]
    if found:
        return found
    known = [word for row in rows for word in (row.label("id"), row.label("name"))]
    hint = nearest(wanted, known) or nearest(wanted.upper(), known)
    guess = (
        f"Did you mean {hint}?" if hint else f"It has {len(rows)} checks; its page and certification.json list them."
    )
    raise UsageFault(f"The report has no check {one_line(asked, 80)!r}.", guess)


def _target(row: Fields) -> Target:
    seen_by = row.maybe_label("seen_by")
    runs = tuple(dict.fromkeys(name for name in (row.label("name"), seen_by) if name and name != WIRE_CHECK))
    known = {check.name for check in load_checks()}
    for name in runs:
        if name not in known:
            advice = "Replay it with the version that made the report, or run everything again."
            raise UsageFault(f"This kit has no check {one_line(name, 120)!r} to run again.", advice)
    return Target(row, runs)


# -- the script


def _script(options: argparse.Namespace, rows: Sequence[Fields]) -> int:
    if len(rows) > 1:
        names = ", ".join(row.label("name") for row in rows)
        raise UsageFault(f"{rows[0].label('id')} has more checks than one.", f"Name the one: {names}.")
    row = rows[0]
    span = row.integers("span")
    if len(span) != 2:  # noqa: PLR2004 - the first and the last line
        raise UsageFault(f"The report knows no lines that {row.label('name')} sent.", "It spoke to no worker.")
    folder = options.report if options.report.is_dir() else options.report.parent
    script = read_script(folder / TRANSCRIPT_FILE, span, decided=row.integers("frames"), worker=options.worker)
    for line in script.lines:
        # What a stranger put into a transcript must not act on a terminal; a worker gets it as it was.
        print(clean(line, len(line)) if sys.stdout.isatty() else line)
    if len(script.workers) > 1:
        _note(f"This is what worker {script.worker} was told; the check spoke to {script.workers}: see --worker.")
    if script.hidden:
        _note(f"Put the values of these secrets in place of [redacted:NAME]: {', '.join(script.hidden)}.")
    if script.handed_out:
        _note(f"Lease ids of that run, for which a worker started now gives its own: {', '.join(script.handed_out)}.")
    return 0


def _note(text: str) -> None:
    # Beside the lines, so that they can be piped.
    print(one_line(text, 2_000), file=sys.stderr)


# -- the run


def _run(options: argparse.Namespace, document: Fields, names: Sequence[str]) -> Fields | int:
    """Run the checks in a process of their own and load the report; the exit code, told, if there came none."""
    if options.report_dir is not None and _same_folder(options.report_dir, options.report):
        raise UsageFault("--report-dir names the report itself, which would be lost.", "Name another folder.")
    with tempfile.TemporaryDirectory(prefix="provider-conformance-replay-") as made:
        folder = Path(made)
        report = folder / "report" if options.report_dir is None else options.report_dir.absolute()
        arguments = _arguments(options, document, names, folder, report)
        # The settings of the project around us must not choose checks or options.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            env={**inherited, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if not (report / EVENTS_FILE).is_file():
            print(f"provider-conformance: {_last_words(done.stdout, done.stderr)}", file=sys.stderr)
            return done.returncode
        return load_report(report).document


def _same_folder(one: Path, other: Path) -> bool:
    return one.resolve() == (other if other.is_dir() else other.parent).resolve()


def _arguments(
    options: argparse.Namespace, document: Fields, names: Sequence[str], folder: Path, report: Path
) -> list[str]:
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="ascii")
    run, driver = document.inner("run"), document.inner("subject").maybe_text("driver_key")
    seed = run.number("seed")
    given = {
        "--provider": options.provider if options.provider is not None else _source(document),
        "--provider-manifest": options.provider_manifest,
        "--provider-node": options.provider_node,
        "--provider-driver": driver or None,
        "--provider-config": _config(options, run, folder),
        "--conformance-file": options.conformance_file,
        "--contract": _revision(document),
        "--conformance-seed": None if seed is None else str(int(seed)),
        "--report-dir": str(report),
        "--rootdir": str(folder),
        "-c": str(folder / "pytest.ini"),
        "-k": " or ".join(dict.fromkeys(names)),
    }
    options_given = [word for name, value in given.items() if value is not None for word in (name, value)]
    return ["-p", "no:cacheprovider", "-q", *options_given, *_limits(run), *options.more]


def _source(document: Fields) -> str:
    source = document.inner("subject").text("source")
    if not speaks_for_itself(source):
        # A report may come from a stranger, and this would run what it says.
        told = f"The report was made on {one_line(source, 200)}."
        raise UsageFault(told, "A report alone is no reason to run a program: name it again with --provider.")
    return source


def _config(options: argparse.Namespace, run: Fields, folder: Path) -> str | None:
    if options.provider_config is not None or options.conformance_file is not None:
        return options.provider_config
    config = object_of(run.json("config"))
    text = json.dumps(config)
    if _HIDDEN in text:
        names = ", ".join(one_line(name, 60) for name, value in config.items() if _HIDDEN in json.dumps(value))
        advice = "Give it again with --provider-config, or better its name with --conformance-file."
        raise UsageFault(f"The report holds no secrets, and the config needs: {names}.", advice)
    if not config:
        return None
    (folder / "config.json").write_text(text, encoding="ascii")
    return str(folder / "config.json")


def _revision(document: Fields) -> str:
    revision = document.inner("revision").text("id")
    if revision not in revisions():
        known = f"It has: {', '.join(revisions())}."
        raise UsageFault(f"This kit does not know the contract revision {one_line(revision, 40)}.", known)
    return revision


def _limits(run: Fields) -> list[str]:
    changed = {name: limit for name, limit in run.entries("limits").items() if limit.flag("changed")}
    return [word for name, limit in changed.items() for word in ("--provider-limit", f"{name}={limit.number('value')}")]


def _last_words(stdout: str, stderr: str) -> str:
    lines = [line for line in (stderr.strip() or stdout.strip()).splitlines() if line.strip()]
    said = lines[-1] if lines else "pytest ended without a word."
    return one_line(said.removeprefix("ERROR: ").removeprefix("Exit: "), 1_000)


# -- what came of it


def _compared(target: Target, new: Fields) -> Comparison:
    rows = [row for row in new.rows("checks") if row.label("id") == target.id]
    same = [row for row in rows if target.name in {WIRE_CHECK, row.label("name")}]
    # Where only the wire looks for a breach of the rule, no row means that there was none.
    after = Outcome.of(same[0]) if same else Outcome(None)
    return compare(target.told, Outcome.of(target.row), after)


def _unlike(old: Fields, new: Fields) -> Iterator[str]:
    if old.inner("kit").json("checks_digest") != new.inner("kit").json("checks_digest"):
        yield "with other checks than those of the report"
    if old.inner("run").json("config_digest") != new.inner("run").json("config_digest"):
        yield "with another config"
