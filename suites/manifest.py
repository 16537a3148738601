"""MAN: the manifest, judged before any process is started."""

from conformance.checks import check
from conformance.evidence import show
from conformance.expect import expect
from conformance.gates import A_FILE_IN_A_PACKAGE
from conformance.model import Level
from conformance.view import PackageView

MUST, SHOULD = Level.MUST, Level.SHOULD


def expect_no_problem(package: PackageView, requirement: str, *, that: str, advice: str) -> None:
    """Demand that the manifest breaks nothing of one requirement; every broken place is listed with its path."""
    fault = package.subject.package.fault(requirement)
    found = [f"{problem.path}: {problem.message}" for problem in package.problems(requirement)]
    seen = [fault.problem, *found] if fault is not None else found
    expect(package, not seen, that=that, observed="; ".join(seen) or "no broken rule", advice=advice)


@check("MAN-001", level=MUST)
async def the_manifest_is_found_and_is_an_object(package: PackageView) -> None:
    """The host finds the manifest through package.json, or at its two fallback places, and gets a plain JSON object."""
    expect_no_problem(
        package,
        "MAN-001",
        that="a manifest is found, can be imported and survives a JSON round trip",
        advice="Name the built manifest in package.json under paperclipPlugin.manifest and export one plain object.",
    )
    expect(
        package,
        isinstance(package.manifest, dict),
        that="the manifest is a JSON object",
        observed=show(package.manifest),
        advice="Make the default export of the manifest module a plain object.",
    )


@check("MAN-008", level=MUST, when=A_FILE_IN_A_PACKAGE)
async def the_worker_file_is_inside_the_package(package: PackageView) -> None:
    """entrypoints.worker names an existing file inside the package; the host starts nothing else."""
    expect_no_problem(
        package,
        "MAN-008",
        that="entrypoints.worker names an existing file inside the package",
        advice="Build the package before you publish it, and give the path relative to package.json.",
    )
