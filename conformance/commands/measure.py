"""What this kit holds to be true, for measuring reports that others bring."""

from conformance.collection import coverage, load_checks, required_ids
from conformance.contract import load_contract, revisions
from conformance.model import JsonObject
from conformance.record import checks_digest, coverage_fields, kit_digest, kit_version, proofs
from conformance.reports.verify import Measure
from conformance.settings import DEFAULT_REVISION


def measure_of(revision: str) -> Measure | None:
    """Gather what the contract and the checks of this kit say about a revision; None for one it does not have."""
    if revision not in revisions():
        return None
    contract = load_contract(revision)
    requirements: JsonObject = {
        each.id: {
            "level": each.level,
            "area": each.area,
            "statement": each.statement,
            "source": each.source,
            "profile": each.profile,
        }
        for each in contract.requirements.values()
        if contract.applies(each)
    }
    capabilities: JsonObject = {
        key: {"prerequisites": list(rule.prerequisites), "opt_in": rule.opt_in, "profile": rule.profile}
        for key, rule in contract.capabilities.items()
    }
    checks = load_checks()
    by_requirement: dict[str, set[str]] = {}
    for check in checks:
        by_requirement.setdefault(check.requirement, set()).add(check.name)
    return Measure(
        version=kit_version(),
        kit_digest=kit_digest(),
        revision_digest=contract.digest,
        checks_digest=checks_digest(),
        current_revision=DEFAULT_REVISION,
        superseded=contract.order.index(revision) < contract.order.index(DEFAULT_REVISION),
        required=required_ids(contract, checks),
        requirements=requirements,
        capabilities=capabilities,
        limits={name: limit.value for name, limit in contract.limits.items()},
        coverage=coverage_fields(coverage(contract, checks)),
        proofs={number: list(names) for number, names in proofs(checks).items()},
        checks={number: frozenset(names) for number, names in by_requirement.items()},
    )
