"""`statement.json`: the verdict as an in-toto Statement v1 with the test-result predicate, ready to be signed.

A subject is matched by its digest alone. Where the run saw no tarball, the name of the digest says what was hashed
instead, so that nobody takes it for the digest of a tarball.
"""

import json
from typing import Final

from conformance.model import Json, State, Verdict
from conformance.reports.evidence import sha256_of
from conformance.reports.identity import DigestKind, expires, started, subject_digest, subject_name
from conformance.reports.report import BROKEN, Report, text_of
from conformance.reports.sanitize import clean_json

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"


def render(report: Report, certification: bytes) -> str | None:
    """Write the statement; None when the run recorded no digest, since a statement about nothing states nothing."""
    digest = subject_digest(report)
    if digest is None:
        return None
    algorithm = digest.algorithm if digest.kind is DigestKind.TARBALL else f"{digest.algorithm}-{digest.kind}"
    states = {each.id: each.state for each in report.requirements}
    document: Json = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": text_of(report.subject, "purl") or subject_name(report), "digest": {algorithm: digest.value}}
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": _result(report),
            "configuration": _configuration(report, certification),
            "passedTests": [key for key, state in states.items() if state is State.PASS],
            "warnedTests": [key for key, state in states.items() if state is State.WARN],
            "failedTests": [key for key, state in states.items() if state in BROKEN],
        },
    }
    return json.dumps(clean_json(document), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def _result(report: Report) -> str:
    """Say it in one of the three words of the predicate. Whatever is not certified has not passed."""
    if report.verdict is not Verdict.CERTIFIED:
        return "FAILED"
    warned = any(each.state is State.WARN for each in report.requirements)
    return "WARNED" if warned else "PASSED"


def _configuration(report: Report, certification: bytes) -> list[Json]:
    moment, until = started(report), expires(report)
    about: Json = {
        "verdict": report.verdict,
        "profiles": {each.name: each.verdict for each in report.profiles if each.selected},
        "run": text_of(report.run, "id"),
        "issued": None if moment is None else moment.isoformat(),
        "expires": None if until is None else until.isoformat(),
    }
    return [
        {**_descriptor("certification.json", sha256_of(certification)), "annotations": about},
        _descriptor("events.jsonl", report.digest, note="of every line before the last"),
        _descriptor(f"contract {text_of(report.revision, 'id')}", text_of(report.revision, "digest")),
        _descriptor("checks", text_of(report.kit, "checks_digest")),
        _descriptor(f"kit {text_of(report.kit, 'version')}", text_of(report.kit, "digest")),
    ]


def _descriptor(name: str, digest: str, note: str | None = None) -> dict[str, Json]:
    algorithm, _, value = digest.partition(":")
    found: dict[str, Json] = {"name": name}
    if value:
        found["digest"] = {algorithm: value}
    if note is not None:
        found["annotations"] = {"digest": note}
    return found
