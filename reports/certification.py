"""`certification.json`: the whole verdict as one document, described by a published JSON Schema."""

import json
from dataclasses import asdict

from conformance.events import EVENTS_SCHEMA
from conformance.model import Json
from conformance.reports.report import (
    BaselineUse,
    CapabilityResult,
    CheckResult,
    ProfileResult,
    Report,
    RequirementResult,
)
from conformance.reports.sanitize import clean_json

CERTIFICATION_SCHEMA = "sandbox-provider-conformance/certification/1"


def render(report: Report) -> str:
    """Write the document: ASCII, indented, keys in a fixed order, so that two of them can be compared line by line."""
    return json.dumps(document(report), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def document(report: Report) -> Json:
    """Build the document as JSON; provider text in it is cleaned and cut."""
    return clean_json(
        {
            "schema": CERTIFICATION_SCHEMA,
            "kit": report.kit,
            "revision": report.revision,
            "subject": report.subject,
            "run": {**report.run, "seconds": report.seconds},
            "verdict": report.verdict,
            "exit_code": report.exit_code,
            "invalid": report.invalid,
            "reasons": list(report.reasons),
            "profiles": [_profile(each) for each in report.profiles],
            "capabilities": [_capability(each) for each in report.capabilities],
            "pair_rule": None if report.pair is None else {"keys": list(report.pair.keys), "holds": report.pair.holds},
            "declared": report.declared,
            "advertised": None if report.methods is None else list(report.methods),
            "requirements": [_requirement(each) for each in report.requirements],
            "checks": [_check(each) for each in report.checks],
            "counts": {state.value: count for state, count in report.counts().items()},
            "coverage": {
                "tested": list(report.coverage.tested),
                "not_observable": dict(report.coverage.not_observable),
                "not_yet": list(report.coverage.not_yet),
            },
            "leases": {
                "opened": report.leases.opened,
                "closed": report.leases.closed,
                "unknown": report.leases.unknown,
                "peak": report.leases.peak,
                "lease_seconds": report.leases.seconds,
                "cost": report.leases.cost,
            },
            "baseline": None if report.baseline is None else _baseline(report.baseline),
            "faults": [{"t": each.t, "kind": each.kind, "detail": each.detail} for each in report.faults],
            "notes": list(report.notes),
            "stream": {"schema": EVENTS_SCHEMA, "events": report.events, "digest": report.digest},
        }
    )


def _baseline(baseline: BaselineUse) -> Json:
    return {
        "file": baseline.file,
        "digest": baseline.digest,
        "entries": [{**asdict(each), "use": each.use} for each in baseline.entries],
    }


def _profile(profile: ProfileResult) -> Json:
    return {
        "name": profile.name,
        "title": profile.title,
        "selected": profile.selected,
        "verdict": profile.verdict,
        "reason": profile.reason,
        "required": list(profile.required),
        "failed": list(profile.failed),
        "missing": list(profile.missing),
    }


def _capability(capability: CapabilityResult) -> Json:
    return {
        "key": capability.key,
        "title": capability.title,
        "profile": capability.profile,
        "opt_in": capability.opt_in,
        "declared": capability.declared,
        "advertised": capability.advertised,
        "demonstrated": capability.demonstrated,
        "word": capability.word,
        "methods": list(capability.methods),
        "missing_methods": list(capability.missing_methods),
        "effective": dict(capability.effective),
    }


def _requirement(requirement: RequirementResult) -> Json:
    return {
        "id": requirement.id,
        "level": requirement.level,
        "area": requirement.area,
        "statement": requirement.statement,
        "source": requirement.source,
        "profile": requirement.profile,
        "state": requirement.state,
        "checks": list(requirement.checks),
    }


def _check(check: CheckResult) -> Json:
    return {
        "id": check.id,
        "name": check.name,
        "level": check.level,
        "area": check.area,
        "profile": check.profile,
        "cost": check.cost,
        "needs": check.needs,
        "state": check.state,
        "blame": check.blame,
        "reason": check.reason,
        "expected": check.expected,
        "observed": check.observed,
        "sent": check.sent,
        "advice": check.advice,
        "blocked_by": check.blocked_by,
        "seconds": check.seconds,
        "limit_share": check.limit_share,
        "frames": list(check.frames),
        "span": list(check.span) or None,
        "seen_by": check.seen_by,
        "replay": check.replay,
        "observations": len(check.observations),
        "proven_by": list(check.proven_by),
    }
