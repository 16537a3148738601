"""The package as evidence, for checks that need no worker."""

from dataclasses import dataclass

from conformance.contract import Problem
from conformance.evidence import Trace
from conformance.model import FrameNumber, Json
from conformance.subject import Subject


@dataclass(frozen=True)
class PackageView:
    """The package under test in the hands of one check."""

    trace: Trace
    subject: Subject

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """Files are on no wire."""
        return ()

    @property
    def sent(self) -> str:
        """What was read."""
        return f"read the manifest of {self.subject.package.source}"

    @property
    def manifest(self) -> Json:
        """The manifest as it was found."""
        return self.subject.package.manifest

    def problems(self, requirement: str, severity: str = "error") -> list[Problem]:
        """What the manifest breaks of one requirement."""
        return [
            problem
            for problem in self.subject.problems
            if problem.requirement == requirement and problem.severity == severity
        ]
