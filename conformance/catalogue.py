"""Every rule of a revision together with the checks that judge it and the mutants that prove them able to fail."""

from collections import defaultdict
from dataclasses import asdict, dataclass

from conformance.collection import load_checks
from conformance.contract import Contract
from conformance.fixtures.mutants import all_mutants
from conformance.model import Json


@dataclass(frozen=True)
class CheckLine:
    """One check of a rule."""

    name: str
    level: str
    cost: str
    rule: str


@dataclass(frozen=True)
class MutantLine:
    """One mutant that breaks a rule."""

    name: str
    misdeed: str


@dataclass(frozen=True)
class Row:
    """One rule. `applies`: it belongs to the revision that was asked for."""

    id: str
    level: str
    area: str
    statement: str
    source: str
    observed_by: str
    since: str
    until: str | None
    applies: bool
    profile: str
    not_observable: str | None
    why: str | None
    usually: str | None
    checks: tuple[CheckLine, ...]
    mutants: tuple[MutantLine, ...]

    def as_json(self) -> dict[str, Json]:
        """The row for programs; checks and mutants by name."""
        fields = asdict(self)
        fields["checks"] = [check.name for check in self.checks]
        fields["mutants"] = [mutant.name for mutant in self.mutants]
        return fields


def catalogue(contract: Contract) -> tuple[Row, ...]:
    """All rules in the order of the catalogue, those of other revisions too."""
    checks: defaultdict[str, list[CheckLine]] = defaultdict(list)
    for check in load_checks():
        said = check.declaration
        checks[check.requirement].append(CheckLine(check.name, said.level, said.cost, " ".join(check.rule.split())))
    mutants: defaultdict[str, list[MutantLine]] = defaultdict(list)
    for name, mutant in sorted(all_mutants().items()):
        for requirement in mutant.breaks:
            mutants[requirement].append(MutantLine(name, (mutant.__doc__ or "").strip().split("\n")[0]))
    return tuple(
        Row(
            id=rule.id,
            level=rule.level,
            area=rule.area,
            statement=rule.statement,
            source=rule.source,
            observed_by=rule.observed_by,
            since=rule.since,
            until=rule.until,
            applies=contract.applies(rule),
            profile=rule.profile,
            not_observable=rule.not_observable,
            why=rule.why,
            usually=rule.usually,
            checks=tuple(checks[rule.id]),
            mutants=tuple(mutants[rule.id]),
        )
        for rule in contract.requirements.values()
    )
