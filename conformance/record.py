"""The header of a run, and the events of each check: what the event stream is told."""

import hashlib
import platform
import shlex
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from conformance.capabilities import every_situation, verified_methods
from conformance.checks import Check
from conformance.collection import Coverage
from conformance.fixtures.mutants import mutants_by_requirement
from conformance.host.digest import digest_of_json
from conformance.judge import Result
from conformance.model import Json
from conformance.places import FIXTURES, REPORTS, SUITES, folder_of
from conformance.plan import Plan
from conformance.reports.findings import speaks_for_itself
from conformance.subject import Subject
from conformance.wire.peer import Violation

DISTRIBUTION = "sandbox-provider-conformance"


def kit_version() -> str:
    """Version of the installed kit."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0.0.0"


def header(plan: Plan) -> dict[str, Any]:
    """Fields of the first event."""
    subject, contract, package = plan.subject, plan.subject.contract, plan.subject.package
    return {
        "kit": {
            "name": DISTRIBUTION,
            "version": kit_version(),
            "digest": kit_digest(),
            "checks_digest": checks_digest(),
        },
        "revision": {"id": contract.revision, "package_version": contract.package_version, "digest": contract.digest},
        "subject": {
            "source": package.source,
            "name": package.name,
            "version": package.version,
            "purl": _purl(package.name, package.version) if package.root is not None else None,
            "kind": package.kind,
            "tarball_digest": package.digests.tarball,
            "tree_digest": package.digests.tree,
            "manifest_digest": package.digests.manifest,
            "worker_digest": package.digests.worker,
            "plugin_id": subject.plugin_id,
            "driver_key": subject.driver_key,
        },
        "run": {
            "id": plan.run,
            "started": plan.started,
            "seed": plan.settings.seed,
            "argv": list(plan.argv),
            "profiles": list(plan.selected),
            "filters": list(plan.filters),
            "limits": plan.limits.as_json(),
            "budget": plan.settings.budget.as_json(),
            "config": dict(plan.settings.config),
            "config_digest": digest_of_json(dict(plan.settings.config)),
            "python": platform.python_version(),
            "node": package.node.version if package.node is not None else None,
            "os": platform.platform(),
            "custom": plan.custom,
            "hooks": subject.hooks.names,
        },
        "profiles": {
            name: {"title": contract.profiles[name].title, "required": list(ids)} for name, ids in plan.required.items()
        },
        "requirements": {
            requirement.id: {
                "level": requirement.level,
                "area": requirement.area,
                "statement": requirement.statement,
                "source": requirement.source,
                "profile": requirement.profile,
            }
            for requirement in contract.requirements.values()
            if contract.applies(requirement)
        },
        "coverage": coverage_fields(plan.coverage),
        "capabilities": {
            key: {
                "title": rule.title,
                "prerequisites": list(rule.prerequisites),
                "opt_in": rule.opt_in,
                "profile": rule.profile,
            }
            for key, rule in contract.capabilities.items()
        },
        "baseline": None if plan.baseline is None else plan.baseline.as_json(),
        "proofs": proofs(plan.checks),
    }


def coverage_fields(coverage: Coverage) -> dict[str, Json]:
    """What the kit judges of a revision, as the header tells it."""
    return {
        "tested": list(coverage.tested),
        "not_observable": {str(number): why for number, why in coverage.not_observable.items()},
        "not_yet": list(coverage.not_yet),
    }


def kit_digest() -> str:
    """Digest of all sources of the kit."""
    return digest_of_sources(_package_folders())


def checks_digest() -> str:
    """Digest of the sources of all checks: reports with the same one were judged alike."""
    return digest_of_sources([folder_of(SUITES)])


def proofs(checks: Iterable[Check]) -> dict[str, list[str]]:
    """Per requirement with checks, the mutants that prove them able to fail."""
    tested = {check.requirement for check in checks}
    return {number: list(names) for number, names in mutants_by_requirement().items() if number in tested}


def declared(subject: Subject) -> dict[str, Any]:
    """Fields of the event about the manifest."""
    return {
        "driver_key": subject.driver_key,
        "capabilities": dict(subject.declared),
        "flags": subject.flags,
        "problems": [
            {
                "path": problem.path,
                "rule": problem.rule,
                "requirement": problem.requirement,
                "message": problem.message,
                "severity": problem.severity,
            }
            for problem in subject.problems
        ],
    }


def advertised(subject: Subject, methods: Iterable[str] | None) -> dict[str, Any]:
    """Fields of the event about the live worker: its method list, and what a host would make of it."""
    listed = None if methods is None else list(methods)
    table = every_situation(subject.contract, verified=verified_methods(listed), driver=subject.driver)
    return {
        "methods": listed,
        "effective": {situation: dict(snapshot) for situation, snapshot in table.items()},
    }


def events_of(result: Result, subject: Subject) -> list[dict[str, Json]]:
    """The events of one judged check, in the order in which things happened."""
    check = result.check
    requirement = subject.contract.requirements[check.requirement]
    named: dict[str, Any] = {"id": check.requirement, "name": check.name}
    about: dict[str, Any] = {
        **named,
        "level": check.declaration.level,
        "area": requirement.area,
        "profile": requirement.profile,
        "cost": check.declaration.cost,
        "needs": check.declaration.needs,
    }
    end: dict[str, Any] = {
        **named,
        "state": result.state,
        "blame": result.blame,
        "reason": result.reason,
        "expected": result.expected,
        "observed": result.observed,
        "sent": result.sent,
        "advice": result.advice,
        "blocked_by": result.blocked_by,
        "seconds": result.seconds,
        "limit_share": result.limit_share,
        "frames": list(result.frames),
        "span": None if result.span is None else list(result.span),
        "replay": shlex.join(["pytest", "--provider", subject.package.source, "-k", check.name]),
    }
    return [{"event": "check-start", **about}, *result.events, {"event": "check-end", **end}]


def replay_command(plan: Plan, check: Check, folder: str) -> str:
    """The command that runs a check again and compares it with the report in `folder`."""
    alone = sum(each.requirement == check.requirement for each in plan.checks) == 1
    words = ["provider-conformance", "replay", folder, check.requirement if alone else check.name]
    if not speaks_for_itself(plan.settings.source):
        words += ["--provider", plan.settings.source]
    if plan.settings.manifest is not None:
        words += ["--provider-manifest", str(plan.settings.manifest)]
    return shlex.join(words)


def late_observation(violation: Violation) -> dict[str, Json]:
    """A violation that the wire saw after the last check had ended."""
    return {
        "event": "observation",
        "id": violation.requirement,
        "name": "after-the-last-check",
        "expected": f"{violation.requirement} holds on every line",
        "observed": violation.observed,
        "holds": False,
        "frames": [violation.frame],
        "violates": violation.requirement,
    }


def _purl(name: str | None, version_text: str | None) -> str | None:
    if name is None or version_text is None:
        return None
    return f"pkg:npm/{name.replace('@', '%40', 1)}@{version_text}"


def _package_folders() -> list[Path]:
    return [Path(__file__).parent, *(folder_of(package) for package in (SUITES, FIXTURES, REPORTS))]


def digest_of_sources(folders: Iterable[Path]) -> str:
    """Digest over name and content of every source below some folders."""
    total = hashlib.sha256()
    files = {path for folder in folders for pattern in ("*.py", "*.json", "*.toml") for path in folder.rglob(pattern)}
    for path in sorted(files, key=lambda each: (each.name, str(each))):
        if "node_modules" not in path.parts:
            total.update(path.name.encode() + b"\0" + path.read_bytes())
    return f"sha256:{total.hexdigest()}"
