"""What a report is about, by digest, and until when it may be believed."""

import datetime as dt
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.reports.report import Report, text_of
from conformance.reports.sanitize import one_line

VALID_DAYS: Final = 180
"""How long a report stands: our choice, half a year of changes in worker, backend and host."""

_NAME_LIMIT: Final = 120
_VERSION_LIMIT: Final = 40


class DigestKind(StrEnum):
    """What was hashed, from what proves most to what proves least."""

    TARBALL = "tarball"
    TREE = "tree"
    WORKER = "worker"
    MANIFEST = "manifest"


_WORDS: Final = {
    DigestKind.TARBALL: "the npm tarball",
    DigestKind.TREE: "the package directory",
    DigestKind.WORKER: "the worker's entry file alone",
    DigestKind.MANIFEST: "the manifest alone",
}


@dataclass(frozen=True, slots=True)
class SubjectDigest:
    """The digest that stands for the provider, and what was hashed."""

    kind: DigestKind
    algorithm: str
    value: str
    """In hexadecimal."""

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.value}"

    @property
    def words(self) -> str:
        """What was hashed, in words."""
        return _WORDS[self.kind]


def subject_digest(report: Report) -> SubjectDigest | None:
    """Pick the digest that says most about what was certified; None when the run recorded none."""
    for kind in DigestKind:
        algorithm, _, value = text_of(report.subject, f"{kind}_digest").partition(":")
        if algorithm and value and value.isalnum():
            return SubjectDigest(kind, algorithm, value)
    return None


def subject_name(report: Report) -> str:
    """Name the provider as well as the run could: package and version, or where it came from."""
    subject = report.subject
    name = one_line(text_of(subject, "name") or text_of(subject, "source"), _NAME_LIMIT) or "unnamed provider"
    return f"{name} {one_line(text_of(subject, 'version'), _VERSION_LIMIT)}".strip()


def started(report: Report) -> dt.datetime | None:
    """Read when the run started; None when the stream has no such moment."""
    try:
        moment = dt.datetime.fromisoformat(text_of(report.run, "started"))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def expires(report: Report) -> dt.date | None:
    """Give the last day on which the report may be believed."""
    moment = started(report)
    try:
        return None if moment is None else (moment + dt.timedelta(days=VALID_DAYS)).date()
    except OverflowError:
        return None
