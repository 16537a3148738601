"""The terminal summary: the verdict, the worst findings with a way forward, and what to do next.

Everything a newcomer needs stands on the first screen. Our own text is plain ASCII; what a provider wrote is
cleaned, put on one line and cut.
"""

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from conformance.model import ExitCode, Verdict
from conformance.reports.findings import BAD, DEFAULT_FOLDER, FINDINGS, explain_command, findings, replay_command
from conformance.reports.report import CapabilityResult, CheckResult, Report, Use, text_of
from conformance.reports.sanitize import one_line
from conformance.reports.write import CERTIFICATION_FILE

_TEXT_LIMIT = 320
_NAME_LIMIT = 60
_KEY_LIMIT = 32
_ROOMY = 90
_WIDTHS = (60, 100)
_LABEL = 11
_RED, _GREEN, _YELLOW, _BOLD, _DIM = "31;1", "32;1", "33;1", "1", "2"


def summary(report: Report, width: int, *, color: bool, folder: str = DEFAULT_FOLDER) -> str:
    """Write the summary at most `width` columns wide, within 60 to 100; `folder` is where the report was put."""
    page = _Page(min(max(width, _WIDTHS[0]), _WIDTHS[1]), color=color)
    found = findings(report)
    blocks = (
        _verdict(report, page),
        _findings(report, found, page, folder),
        _capabilities(report, page),
        _numbers(report, page),
        _reasons(report, page),
        _next(report, found, page, folder),
    )
    texts = ["\n".join(block) for block in blocks]
    return "\n\n".join(text for text in texts if text) + "\n"


class _Page:
    """Lays out lines within a width and paints only when asked to."""

    def __init__(self, width: int, *, color: bool) -> None:
        self.width = width
        self.color = color

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def title(self, text: str) -> str:
        return self.paint(text, _BOLD)

    def wrapped(self, text: str, indent: int = 2, hanging: int | None = None) -> list[str]:
        rest = " " * (indent if hanging is None else hanging)
        return textwrap.wrap(text, self.width, initial_indent=" " * indent, subsequent_indent=rest)

    def labelled(self, label: str, text: str | None) -> list[str]:
        """Write a text beside its label; nothing when there is no text."""
        if not text:
            return []
        lines = self.wrapped(f"{label:<{_LABEL}}{one_line(text, _TEXT_LIMIT)}", 4, 4 + _LABEL)
        head = 4 + len(label)
        return [lines[0][:4] + self.paint(label, _DIM) + lines[0][head:], *lines[1:]]

    def command(self, label: str, command: str) -> str:
        """Write a command on one line, however long: a broken line could not be copied."""
        return f"    {self.paint(label, _DIM)}{' ' * (_LABEL - len(label))}{one_line(command, 2_000)}"


def _verdict(report: Report, page: _Page) -> Iterator[str]:
    headline = "INVALID RUN" if report.invalid else report.verdict.upper()
    words = ", ".join(f"{each.name} {each.verdict}" for each in report.selected()) or "no profile selected"
    first, *rest = page.wrapped(f"{headline}: {words}", 0, 2)
    yield page.paint(headline, _verdict_colour(report)) + first[len(headline) :]
    yield from rest
    subject = report.subject
    name = text_of(subject, "name") or text_of(subject, "source") or "unnamed provider"
    parts = (
        f"{name} {text_of(subject, 'version')}",
        f"driver {text_of(subject, 'driver_key')}" if text_of(subject, "driver_key") else "",
        f"contract {text_of(report.revision, 'id')}",
        f"kit {text_of(report.kit, 'version')}",
        f"{report.seconds:.1f} s",
    )
    yield from page.wrapped(" | ".join(one_line(each, _NAME_LIMIT) for each in parts if each), 0, 2)


def _verdict_colour(report: Report) -> str:
    if report.verdict is Verdict.CERTIFIED:
        return _GREEN
    return _RED if report.verdict is Verdict.FAILED or report.invalid else _YELLOW


def _findings(report: Report, found: list[CheckResult], page: _Page, folder: str) -> Iterator[str]:
    if not found:
        return
    shown = found[:FINDINGS]
    yield page.title("Worst findings" if len(found) == len(shown) else f"Worst {len(shown)} of {len(found)} findings")
    statements = {each.id: each.statement for each in report.requirements}
    for number, check in enumerate(shown, 1):
        blame = f", blame: {check.blame}" if check.blame else ""
        colour = _RED if check.state in BAD else _YELLOW
        name = one_line(check.name, _NAME_LIMIT).replace("_", " ")
        first, *rest = page.wrapped(f"{number} {check.id} {check.state} ({check.level}{blame}) {name}", 2, 4)
        yield first.replace(f" {check.state} ", f" {page.paint(check.state, colour)} ", 1)
        yield from rest
        yield from page.labelled("rule", statements.get(check.id))
        yield from page.labelled("why", check.reason)
        yield from page.labelled("sent", check.sent)
        yield from page.labelled("expected", check.expected)
        yield from page.labelled("observed", check.observed)
        yield from page.labelled("to do", check.advice)
        yield page.command("read", explain_command(check))
        yield page.command("replay", replay_command(report, check, folder))


def _capabilities(report: Report, page: _Page) -> Iterator[str]:
    if not report.capabilities:
        return
    key_width = min(max(len(each.key) for each in report.capabilities), _KEY_LIMIT)
    gap = "  " if page.width >= _ROOMY else " "
    yield page.title(gap.join((f"{'Capability':<{key_width}}", "declared", "advertised", "demonstrated", "verdict")))
    for each in report.capabilities:
        sets = (
            f"{_tri(each.declared, 'omitted'):<8}",
            f"{_listed(each):<10}",
            f"{_tri(each.demonstrated, 'undecided'):<12}",
        )
        yield gap.join((f"{each.key[:_KEY_LIMIT]:<{key_width}}", *sets, each.word))
    if report.pair is not None and report.pair.holds is False:
        yield from page.wrapped(report.pair.sentence)


def _tri(value: bool | None, unknown: str) -> str:  # noqa: FBT001 three words for a three-valued answer
    return unknown if value is None else "yes" if value else "no"


def _listed(capability: CapabilityResult) -> str:
    if capability.advertised is None:
        return "unknown"
    total = len(capability.methods)
    return f"{total - len(capability.missing_methods)} of {total}"


def _numbers(report: Report, page: _Page) -> Iterator[str]:
    counts = ", ".join(f"{count} {state}" for state, count in report.counts().items())
    yield from page.wrapped(f"Checks: {counts or 'none ran'}", 0, 2)
    leases = report.leases
    balance = f"{leases.opened} opened, {leases.closed} closed, {leases.unknown} unknown, at most {leases.peak} at once"
    spent = f"{leases.seconds:.0f} lease-seconds" + (f" ({leases.cost})" if leases.cost is not None else "")
    yield from page.wrapped(f"Leases: {balance}, {spent}", 0, 2)
    coverage = report.coverage
    parts = (
        f"{len(coverage.tested)} tested, {len(coverage.not_observable)} not observable, {len(coverage.not_yet)} not yet"
    )
    yield from page.wrapped(f"Rules of the contract: {parts}", 0, 2)
    if report.baseline is not None:
        uses = Counter(each.use for each in report.baseline.entries)
        told = ", ".join(f"{uses[use]} {use}" for use in Use if uses[use]) or "no entry"
        yield from page.wrapped(f"Baseline: {one_line(report.baseline.file, _NAME_LIMIT)}: {told}", 0, 2)
        for each in report.baseline.entries:
            if each.use is Use.STALE:
                stale = f"{each.id} {each.check} passes now: remove its entry"
                yield from page.wrapped(f"- {one_line(stale, _TEXT_LIMIT)}", 2, 4)
        if report.exit_code == ExitCode.CERTIFIED and report.verdict is not Verdict.CERTIFIED:
            yield from page.wrapped("The exit code is 0: nothing is broken that the baseline does not expect.", 0, 2)
    for note in report.notes:
        yield from page.wrapped(f"Note: {one_line(note, _TEXT_LIMIT)}", 0, 2)


def _reasons(report: Report, page: _Page) -> Iterator[str]:
    if report.verdict is Verdict.CERTIFIED:
        return
    yield page.title("Not certified because")
    for reason in report.reasons:
        yield from page.wrapped(f"- {one_line(reason, _TEXT_LIMIT)}", 2, 4)


def _next(report: Report, found: Iterable[CheckResult], page: _Page, folder: str) -> Iterator[str]:
    yield page.command("Report", str(PurePath(folder) / CERTIFICATION_FILE)).strip()
    first = next(iter(found), None)
    if first is not None:
        command = explain_command(first)
    elif report.verdict is Verdict.CERTIFIED:
        command = f"provider-conformance report {shlex.quote(str(PurePath(folder) / 'events.jsonl'))}"
    else:
        command = "provider-conformance list"
    yield page.command("Next", command).strip()
