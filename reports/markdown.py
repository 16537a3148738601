"""`summary.md`: the first screen of the report for the job page of a CI, small enough for any of them."""

import re
from collections.abc import Iterator
from typing import Final

from conformance.reports.findings import findings, next_steps, replay_command
from conformance.reports.identity import expires, subject_digest, subject_name
from conformance.reports.report import CheckResult, Report, text_of
from conformance.reports.sanitize import one_line
from conformance.reports.tones import tone_of_verdict, tone_of_word

SIZE_LIMIT: Final = 1_000_000
"""Bytes, a little under the 1 MiB that GitHub takes for one step; longer ones it drops as a whole."""

_FINDINGS: Final = 50
_TOLD: Final = 10
_TEXT: Final = 300
_SPECIAL: Final = re.compile(r"[^\w \-]", re.ASCII)
"""Everything that could mean something to Markdown, to HTML or to a table."""

_LINKS: Final = re.compile(r"&#64;|&#58;(?! )|\bwww(?=&#46;)", re.IGNORECASE)
"""What makes a name or an address into a link: `@`, a colon in a word, `www.`; all as entities."""


def render(report: Report) -> str:
    """Write the summary: verdicts, findings, capabilities, what to do."""
    text = "\n".join(_lines(report)) + "\n"
    # Every part is bounded, so this cuts only what a hostile stream made; a cut table is still a table.
    cut = text.encode()[:SIZE_LIMIT].decode(errors="ignore")
    return text if len(cut) == len(text) else cut[: cut.rindex("\n") + 1]


def _lines(report: Report) -> Iterator[str]:
    headline = "Invalid run" if report.invalid else report.verdict.value.capitalize()
    yield f"## {tone_of_verdict(report.verdict).sign} {headline}: {_prose(subject_name(report))}"
    yield ""
    digest, until = subject_digest(report), expires(report)
    facts = [f"contract {_code(text_of(report.revision, 'id'))}"]
    facts += [] if digest is None else [f"{_code(str(digest))} ({digest.words})"]
    facts += [] if until is None else [f"stands until {until.isoformat()}"]
    yield ", ".join(facts)
    yield ""
    yield "| profile | verdict | |"
    yield "| --- | --- | --- |"
    for each in report.selected():
        yield f"| {_prose(each.name)} | {tone_of_verdict(each.verdict).sign} {each.verdict} | {_prose(each.reason)} |"
    yield from _findings(report, findings(report))
    yield from _capabilities(report)
    yield ""
    counts = ", ".join(f"{count} {state}" for state, count in report.counts().items())
    leases = report.leases
    cost = "" if leases.cost is None else f", {_prose(leases.cost)}"
    fate = f"{leases.opened} opened, {leases.unknown} of unknown fate"
    yield f"Checks: {counts or 'none ran'}. Leases: {fate}{cost}."
    for note in report.notes:
        yield f"* {_prose(note)}"
    yield from _baseline(report)
    yield ""
    yield "### What to do next"
    yield ""
    for number, step in enumerate(next_steps(report), 1):
        yield f"{number}. {_prose(step.text)}" + (f" {_code(step.command)}" if step.command else "")


def _baseline(report: Report) -> Iterator[str]:
    if report.baseline is None:
        return
    yield ""
    yield f"### Baseline: {_prose(report.baseline.file)}"
    yield ""
    yield "It softens the exit code, never the certification."
    yield ""
    yield "| rule | check | expected | use | why | owner | link | until |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for each in report.baseline.entries[:_FINDINGS]:
        told = (each.check, each.state, each.use, each.reason, each.owner, each.link, each.expires)
        yield f"| {_code(each.id)} | {' | '.join(_prose(text) for text in told)} |"


def _findings(report: Report, found: list[CheckResult]) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield f"### Findings: {len(found)}"
    yield ""
    yield "| rule | state | blame | why |"
    yield "| --- | --- | --- | --- |"
    for each in found[:_FINDINGS]:
        yield f"| {_code(each.id)} | {each.state} | {each.blame or ''} | {_prose(each.reason or each.name)} |"
    if len(found) > _FINDINGS:
        yield f"| | | | and {len(found) - _FINDINGS} more in the report |"
    for each in found[:_TOLD]:
        yield ""
        yield f"<details><summary>{_code(each.id)} {_prose(each.name.replace('_', ' '))}</summary>"
        yield ""
        parts = (
            ("sent", each.sent),
            ("expected", each.expected),
            ("observed", each.observed),
            ("to do", each.advice),
            ("replay", replay_command(report, each)),
        )
        yield from (f"* {label}: {_code(text)}" for label, text in parts if text)
        yield ""
        yield "</details>"


def _capabilities(report: Report) -> Iterator[str]:
    if not report.capabilities:
        return
    yield ""
    yield "### Capabilities"
    yield ""
    yield "| capability | declared | advertised | demonstrated | verdict |"
    yield "| --- | --- | --- | --- | --- |"
    for each in report.capabilities:
        sets = f"{_tri(each.declared, 'omitted')} | {_tri(each.advertised, 'unknown')}"
        shown = _tri(each.demonstrated, "undecided")
        yield f"| {_code(each.key)} | {sets} | {shown} | {tone_of_word(each.word).sign} {each.word} |"


def _tri(value: bool | None, unknown: str) -> str:  # noqa: FBT001 three words for a three-valued answer
    return unknown if value is None else "yes" if value else "no"


def _prose(text: str) -> str:
    """Write a text in which nothing means anything: no mark-up, no link, no picture, nobody is called by name."""
    # An address or a name is made into a link after the entities are resolved, but never across an element.
    return _LINKS.sub(r"<b></b>\g<0><b></b>", _escaped(text))


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", one_line(text, _TEXT))
