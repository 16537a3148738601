"""The kill matrix as a page: every rule, the checks that judge it, the mutants that prove those checks able to fail."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from conformance.catalogue import Row

_HEAD = """\
# Every rule, and what proves it

Made by `provider-conformance list --markdown`; a test holds it up to date.

A **check** judges a rule on a live provider. A **mutant** is the reference provider with one fault: it fails the rules
it names and no others, which proves that their checks can fail. See one for yourself: `pytest --provider mutant:NAME`.
`provider-conformance explain ID` tells a rule in full.
"""


def markdown(revision: str, rows: Sequence[Row]) -> str:
    """The page for one revision."""
    applicable = [row for row in rows if row.applies]
    judged = [row for row in applicable if row.checks]
    hidden = [row for row in applicable if not row.checks and row.not_observable is not None]
    waiting = [row for row in applicable if not row.checks and row.not_observable is None]
    checks = sum(len(row.checks) for row in judged)
    mutants = len({mutant.name for row in judged for mutant in row.mutants})
    counted = (
        f"Revision {revision}: {len(applicable)} rules; {len(judged)} judged by {checks} checks and {mutants} mutants, "
        f"{len(hidden)} not observable over the wire, {len(waiting)} not judged yet.\n"
    )
    parts = [_HEAD, counted]
    for area, members in groupby(judged, key=lambda row: row.area):
        parts += [f"## {area}\n", *_table(members), ""]
    parts += ["## Not observable\n", "| rule | level | why |", "| --- | --- | --- |"]
    parts += [f"| {row.id} | {row.level} | {_cell(row.not_observable or '')} |" for row in hidden]
    parts += ["", "## Not judged yet\n", "| rule | level | what it says |", "| --- | --- | --- |"]
    parts += [f"| {row.id} | {row.level} | {_cell(row.statement)} |" for row in waiting]
    return "\n".join(parts) + "\n"


def _table(rows: Iterable[Row]) -> list[str]:
    lines = ["| rule | level | checks | mutants |", "| --- | --- | --- | --- |"]
    for row in rows:
        checks = "<br>".join(_graded(row, check.name, check.level) for check in row.checks)
        mutants = "<br>".join(f"`{mutant.name}`" for mutant in row.mutants)
        lines.append(f"| **{row.id}** {_cell(row.statement)} | {row.level} | {checks} | {mutants} |")
    return lines


def _graded(row: Row, name: str, level: str) -> str:
    sentence = name.replace("_", " ")
    return sentence if level == row.level else f"{sentence} ({level})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
