"""What a badge stands for, and what a list of providers needs: two small documents that point at the report."""

import hashlib
import json

from conformance.model import Json
from conformance.reports.badge import badges
from conformance.reports.identity import expires, started, subject_digest
from conformance.reports.report import Report, text_of
from conformance.reports.sanitize import clean_json, one_line

EVIDENCE_SCHEMA = "sandbox-provider-conformance/badge-evidence/1"
ENTRY_SCHEMA = "sandbox-provider-conformance/registry-entry/1"


def sha256_of(data: bytes) -> str:
    """Name bytes by their digest, as every document of the kit does."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def badge_evidence(report: Report, certification: bytes) -> str:
    """Write `badge-evidence.json`: what each badge says, about which bytes, until when, and where that comes from."""
    return _text(
        {
            "schema": EVIDENCE_SCHEMA,
            **_common(report, certification),
            "badges": [
                {"name": each.name, "label": each.label, "message": each.message, "verdict": each.verdict}
                for each in badges(report)
            ],
        }
    )


def registry_entry(report: Report, certification: bytes) -> str:
    """Write `registry-entry.json`: the one object that a list of providers keeps."""
    return _text(
        {
            "schema": ENTRY_SCHEMA,
            **_common(report, certification),
            "profiles": {each.name: each.verdict for each in report.profiles if each.selected},
            "capabilities": {each.key: each.word for each in report.capabilities},
        }
    )


def _common(report: Report, certification: bytes) -> dict[str, Json]:
    digest, moment, until = subject_digest(report), started(report), expires(report)
    return {
        "subject": {
            "name": _label(report, "name"),
            "version": _label(report, "version"),
            "purl": _label(report, "purl"),
            "driver_key": _label(report, "driver_key"),
            "digest": None if digest is None else {"of": digest.kind, "value": str(digest)},
        },
        "revision": one_line(text_of(report.revision, "id")),
        "kit": one_line(text_of(report.kit, "version")),
        "checks_digest": one_line(text_of(report.kit, "checks_digest")),
        "run": one_line(text_of(report.run, "id")),
        "verdict": report.verdict,
        "issued": None if moment is None else moment.isoformat(),
        "expires": None if until is None else until.isoformat(),
        "report": {"file": "certification.json", "digest": sha256_of(certification)},
        "stream": {"file": "events.jsonl", "digest": report.digest},
    }


def _label(report: Report, key: str) -> str | None:
    return one_line(text_of(report.subject, key)) or None


def _text(document: Json) -> str:
    return json.dumps(clean_json(document), ensure_ascii=True, allow_nan=False, indent=2) + "\n"
