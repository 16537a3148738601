"""Badges: one picture and one shields endpoint for each profile, and one pair for the whole run.

A badge is a pointer, never evidence: it says verdict and date in words, so that it can be read without colours
and seen to be old.
"""

import json
from dataclasses import dataclass
from typing import assert_never
from xml.sax.saxutils import escape, quoteattr

from conformance.model import Json, Verdict
from conformance.reports.report import Report, text_of
from conformance.reports.sanitize import one_line

LABEL_COLOUR = "#3a3f44"
"""Ground of the left half of every badge."""
_HEIGHT = 20
_PADDING = 7
_NARROW = frozenset("iljtfI.,:;|!'()[]- 1r")
_WIDE = frozenset("mwMW@%")


@dataclass(frozen=True, slots=True)
class Badge:
    """What one badge says, however it is drawn."""

    name: str
    """File name without its ending."""
    label: str
    message: str
    verdict: Verdict


def badges(report: Report) -> tuple[Badge, ...]:
    """List the badges of a run: the summary first, then one for each profile."""
    revision = one_line(text_of(report.revision, "id", "unknown revision"), 40)
    day = one_line(text_of(report.run, "started"), 10)[:10]
    summary = Badge("badge", f"sandbox provider {revision}", f"{report.verdict} {day}".strip(), report.verdict)
    return (
        summary,
        *(
            Badge(f"badge-{each.name}", f"{each.name} {revision}", f"{each.verdict} {day}".strip(), each.verdict)
            for each in report.profiles
        ),
    )


def shields(badge: Badge) -> str:
    """Write the endpoint document of shields; it refuses unknown keys, so there are only these."""
    document: dict[str, Json] = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": colour(badge.verdict).removeprefix("#"),
    }
    if badge.verdict is Verdict.FAILED:
        document["isError"] = True
    return json.dumps(document, ensure_ascii=True, indent=2) + "\n"


def svg(badge: Badge) -> str:
    """Draw the badge: one file without scripts, fonts or links, white on dark at a contrast of at least 4.5 to 1."""
    left, right = _width(badge.label), _width(badge.message)
    width = left + right
    title = escape(f"{badge.label}: {badge.message}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img" \
aria-label={quoteattr(f"{badge.label}: {badge.message}")}>
  <title>{title}</title>
  <rect width="{width}" height="{_HEIGHT}" rx="3" fill="{colour(badge.verdict)}"/>
  <path d="M3 0h{left - 3}v{_HEIGHT}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="{LABEL_COLOUR}"/>
  <g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{_PADDING}" y="14" textLength="{left - 2 * _PADDING}">{escape(badge.label)}</text>
    <text x="{left + _PADDING}" y="14" textLength="{right - 2 * _PADDING}">{escape(badge.message)}</text>
  </g>
</svg>
"""


def colour(verdict: Verdict) -> str:
    """Give the colour of a verdict; white stands out on each of them."""
    match verdict:
        case Verdict.CERTIFIED:
            return "#1a7f37"
        case Verdict.FAILED:
            return "#b3261e"
        case Verdict.INCOMPLETE:
            return "#8a5a00"
        case Verdict.CUSTOM_RUN:
            return "#5b4b8a"
        case Verdict.UNSUPPORTED:
            return "#57606a"
        case _:
            assert_never(verdict)


def _width(text: str) -> int:
    """Estimate the width in pixels at 11 px; `textLength` makes the text fit what we guess."""
    return 2 * _PADDING + round(sum(4.3 if each in _NARROW else 9.8 if each in _WIDE else 7.0 for each in text))
