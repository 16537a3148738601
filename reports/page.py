"""`report.html`: the whole run on one self-contained page, for whoever decides about a provider."""

from collections.abc import Mapping

from conformance.reports import page_view as view
from conformance.reports.findings import FINDINGS, findings, next_steps
from conformance.reports.frames import FrameExcerpt
from conformance.reports.html import html_page
from conformance.reports.identity import expires, started, subject_digest, subject_name
from conformance.reports.report import Report
from conformance.reports.tones import tone_of_state, tone_of_verdict, tone_of_word

_NO_FRAMES: Mapping[int, FrameExcerpt] = {}


def render(report: Report, frames: Mapping[int, FrameExcerpt] = _NO_FRAMES) -> str:
    """Write the page; `frames` are excerpts of the transcript by number, as `wanted_frames` names them."""
    checks = view.check_views(report, frames)
    # A finding is told once on top and again in the list; the anchors tie the two together.
    by_check = {id(each.check): each for each in checks}
    found = findings(report)
    filters = view.filters(report)
    return html_page(
        "report.html",
        style="".join(_rule(each.name, choice.key) for each in filters for choice in each.choices),
        script="report.js",
        report=report,
        name=subject_name(report),
        digest=subject_digest(report),
        started=started(report),
        expires=expires(report),
        findings=[by_check[id(each)] for each in found[:FINDINGS]],
        found=len(found),
        steps=next_steps(report),
        situations=view.situations(report.capabilities),
        checks=checks,
        filters=filters,
        limits=view.limits(report),
        problems=view.problems(report),
        command=view.command_line(report),
        config=view.config(report),
        said=view.said,
        label=view.label,
        shown=view.shown,
        short=view.short,
        tone_of_verdict=tone_of_verdict,
        tone_of_word=tone_of_word,
        tone_of_state=tone_of_state,
    )


def _rule(name: str, key: str) -> str:
    """Hide what a choice leaves out; the keys are ours, never a provider's words."""
    return f"main:has(#{name}-{key}:checked) .check:not(.{key}){{display:none}}\n"
