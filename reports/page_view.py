"""What the HTML page shows, worked out before the template sees it: the template only lays out."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from conformance.model import Json, JsonObject, Level, Situation, State, object_of
from conformance.reports.findings import BAD, alone_command, explain_command, replay_command
from conformance.reports.frames import FrameExcerpt
from conformance.reports.report import SEVERITY, CapabilityResult, CheckResult, Report, RequirementResult, text_of
from conformance.reports.sanitize import clean, clean_json, one_line
from conformance.reports.tones import Tone, tone_of_state

FRAMES_SHOWN: Final = 24
"""Lines of the transcript shown for one check, our choice: the rest stand in the file."""

_FRAMES_OF_A_PASS: Final = 6
_VALUE_LIMIT: Final = 300
_SHORT: Final = 320
_LABEL: Final = 60
_CONFIG_LIMIT: Final = 6_000


@dataclass(frozen=True, slots=True)
class Choice:
    """One setting of a filter: `key` is a class of the checks it shows."""

    key: str
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Filter:
    """One question that the list of checks can be narrowed by."""

    name: str
    title: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class CheckView:
    """One check with everything that explains it."""

    anchor: str
    classes: str
    check: CheckResult
    title: str
    tone: Tone
    bad: bool
    rule: RequirementResult | None
    explain: str
    replay: str
    alone: str
    frames: tuple[FrameExcerpt, ...]
    frames_unseen: int
    """Lines that the check points at, and that are not shown here."""
    blocked_by: str | None
    """Anchor of the check in front of it, when that one is on the page."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of the run."""

    name: str
    value: str
    default: str
    changed: bool


def wanted_frames(report: Report) -> frozenset[int]:
    """Name the lines of the transcript that the page would show."""
    return frozenset(number for check in report.checks for number in _shown_frames(check))


def check_views(report: Report, frames: Mapping[int, FrameExcerpt]) -> tuple[CheckView, ...]:
    """Lay out the checks, worst first and otherwise in the order of the run."""
    rules = {each.id: each for each in report.requirements}
    areas = _areas(report)
    ordered = sorted(report.checks, key=lambda each: SEVERITY.index(each.state))
    anchors = {check.id: f"check-{number}" for number, check in reversed(list(enumerate(ordered, 1)))}
    return tuple(
        _check_view(report, check, f"check-{number}", f"a{areas[check.area]}", rules, frames, anchors)
        for number, check in enumerate(ordered, 1)
    )


def _check_view(
    report: Report,
    check: CheckResult,
    anchor: str,
    area: str,
    rules: Mapping[str, RequirementResult],
    frames: Mapping[int, FrameExcerpt],
    anchors: Mapping[str, str],
) -> CheckView:
    shown = tuple(frames[number] for number in _shown_frames(check) if number in frames)
    return CheckView(
        anchor=anchor,
        classes=f"s-{check.state} l-{check.level.lower()} {area}",
        check=check,
        title=check.name.replace("_", " "),
        tone=tone_of_state(check.state),
        bad=check.state in BAD or check.state is State.WARN,
        rule=rules.get(check.id),
        explain=explain_command(check),
        replay=replay_command(report, check),
        alone=alone_command(report, check),
        frames=shown,
        frames_unseen=len(set(check.frames)) - len(shown),
        blocked_by=anchors.get(check.blocked_by) if check.blocked_by is not None else None,
    )


def _shown_frames(check: CheckResult) -> Sequence[int]:
    most = _FRAMES_OF_A_PASS if check.state is State.PASS else FRAMES_SHOWN
    return sorted(set(check.frames))[:most]


def _areas(report: Report) -> dict[str, int]:
    return {area: number for number, area in enumerate(sorted({each.area for each in report.checks}))}


def filters(report: Report) -> tuple[Filter, ...]:
    """List the filters, with nothing in them that no check has."""
    checks = report.checks
    states = (
        Choice(f"s-{state}", state.value.replace("-", " "), sum(each.state is state for each in checks))
        for state in SEVERITY
    )
    levels = (Choice(f"l-{level.lower()}", level.value, sum(each.level is level for each in checks)) for level in Level)
    areas = (Choice(f"a{n}", area, sum(each.area == area for each in checks)) for area, n in _areas(report).items())
    return (
        Filter("state", "State", tuple(each for each in states if each.count)),
        Filter("level", "Level", tuple(each for each in levels if each.count)),
        Filter("area", "Area", tuple(each for each in areas if each.count)),
    )


def situations(capabilities: Sequence[CapabilityResult]) -> tuple[str, ...]:
    """List the situations for which the run knows what the host grants, in the order of the contract."""
    known = {name for each in capabilities for name in each.effective}
    ours = [each.value for each in Situation if each.value in known]
    return (*ours, *sorted(known - set(ours)))


def limits(report: Report) -> tuple[Limit, ...]:
    """List the limits of the run, changed ones first."""
    found: list[Limit] = []
    for name, given in object_of(report.run.get("limits")).items():
        limit = object_of(given)
        unit = shown(limit.get("unit", ""))
        found.append(
            Limit(
                name=one_line(name, 60).replace("_", " "),
                value=f"{shown(limit.get('value'))} {unit}".strip(),
                default=f"{shown(limit.get('default'))} {unit}".strip(),
                changed=limit.get("changed") is True,
            )
        )
    return tuple(sorted(found, key=lambda each: not each.changed))


def command_line(report: Report) -> str:
    """Write the command that started the run, so that it can be read; cleaned and quoted."""
    argv = report.run.get("argv")
    words = argv if isinstance(argv, list) else []
    return one_line(shlex.join(one_line(each) for each in words if isinstance(each, str)))


def config(report: Report) -> str:
    """Write the config that the run used, secrets already redacted."""
    value = report.run.get("config")
    if value is None or value == {}:
        return ""
    return clean(json.dumps(clean_json(value), ensure_ascii=False, indent=2), _CONFIG_LIMIT)


def problems(report: Report) -> tuple[tuple[str, str, str], ...]:
    """List what is wrong with the manifest: place, rule, sentence."""
    listed = report.declared.get("problems")
    rows = [object_of(each) for each in listed] if isinstance(listed, list) else []
    return tuple((shown(row.get("path")), shown(row.get("requirement")), shown(row.get("message"))) for row in rows)


def shown(value: Json) -> str:
    """Write any value on one line: texts as they are, whole numbers without a fraction, the rest as JSON."""
    if isinstance(value, str):
        return one_line(value, _VALUE_LIMIT)
    if value is None:
        return "\u2013"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return one_line(json.dumps(value, ensure_ascii=False), _VALUE_LIMIT)


def said(values: JsonObject, key: str) -> str:
    """Read one text of a part that is passed through as the stream has it, on one line."""
    return one_line(text_of(values, key), _VALUE_LIMIT)


def label(values: JsonObject, key: str) -> str:
    """Read one short text of such a part."""
    return one_line(text_of(values, key), _LABEL)


def short(text: str) -> str:
    """Cut a text to what fits on the first screen; the whole of it stands in the list of checks."""
    return one_line(text, _SHORT)
