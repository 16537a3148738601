"""What somebody has to act on, worst first, and the commands that lead on from there."""

import shlex
from dataclasses import dataclass
from typing import Final

from conformance.model import State, Verdict
from conformance.reports.report import SEVERITY, CheckResult, Report, text_of
from conformance.reports.sanitize import one_line

DEFAULT_FOLDER: Final = "conformance-report"
"""Where a run leaves its report, from the directory it was started in."""

FINDINGS: Final = 3
"""How many findings are told in full where there is little room."""

BAD: Final = frozenset(SEVERITY[: SEVERITY.index(State.BLOCKED)])
"""States that somebody has to act on, whoever that is."""


def findings(report: Report) -> list[CheckResult]:
    """List what somebody has to act on, worst first; among equals what counts for a selected profile, then by run."""
    required = {key for each in report.selected() for key in each.required}
    bad = [each for each in report.checks if each.state in BAD or each.state is State.WARN]
    return sorted(bad, key=lambda each: (SEVERITY.index(each.state), each.id not in required))


def replay_command(report: Report, check: CheckResult, folder: str = DEFAULT_FOLDER) -> str:
    """Give the command that runs one check again and compares; `folder` is where the report lies.

    Built here and not taken from the stream: people paste it into a shell, and a stream may come from a stranger.
    """
    alone = sum(each.id == check.id for each in report.checks) == 1
    words = ["provider-conformance", "replay", folder, check.id if alone else check.name]
    source = text_of(report.subject, "source", "reference")
    if not speaks_for_itself(source):
        words += ["--provider", source]
    return " ".join(shlex.quote(one_line(word)) for word in words)


def alone_command(report: Report, check: CheckResult) -> str:
    """Give the command that runs one check alone, with all that pytest shows of it."""
    source = one_line(text_of(report.subject, "source", "reference"))
    return f"pytest --provider {shlex.quote(source)} -k {shlex.quote(one_line(check.name))}"


def speaks_for_itself(source: str) -> bool:
    """Whether the provider lies here, so that a report may name it: all others are programs to run or to fetch."""
    return not source.startswith(("cmd:", "npm:"))


def explain_command(check: CheckResult) -> str:
    """Give the command that explains the rule of a check."""
    return f"provider-conformance explain {shlex.quote(one_line(check.id))}"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do next; `command` is what to type, when there is something to type."""

    text: str
    command: str | None = None


def next_steps(report: Report) -> tuple[Step, ...]:
    """Say what to do now, in order, to whoever holds the report."""
    source = shlex.quote(one_line(text_of(report.subject, "source", "reference")))
    again = Step("Run everything again.", f"pytest --provider {source}")
    first = next(iter(findings(report)), None)
    if first is not None:
        return (
            Step(f"Read why {first.id} exists and what usually breaks it.", explain_command(first)),
            Step("Change it, then run this one check again.", replay_command(report, first)),
            again,
        )
    match report.verdict:
        case Verdict.CERTIFIED:
            return (
                Step(
                    "Let others check this report against the package they hold.",
                    f"provider-conformance verify {DEFAULT_FOLDER}",
                ),
                Step(
                    "Sign the statement, so that they know whose it is.",
                    f"provider-conformance sign {DEFAULT_FOLDER} --key KEY.pem",
                ),
            )
        case Verdict.CUSTOM_RUN:
            return (Step("Run without filters and with the limits as they are; only such a run certifies."), again)
        case _:
            return (
                Step("See which rules are judged, and by what.", "provider-conformance list"),
                again,
            )
