"""What a run is going to do, settled before the first check."""

import datetime as dt
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.baseline import Baseline, read_baseline
from conformance.bench import Bench
from conformance.checks import Check
from conformance.collection import Coverage, coverage, load_checks, required_ids, select_profiles
from conformance.contract import load_contract
from conformance.hooks import PLACE, Hooks
from conformance.host.find import Unpacked, find_package
from conformance.host.limits import Limits
from conformance.host.tenant import random_uuid
from conformance.host.worker import Launch
from conformance.journal import Journal
from conformance.ledger import Ledger
from conformance.model import RequirementId
from conformance.purse import Purse
from conformance.settings import Settings
from conformance.subject import Subject, make_subject
from conformance.wire.transcript import Transcript

STAND_IN = {"token": "stand-in-for-a-token-5d1c8e"}
"""A secret for the built-in providers, which need none, so that the rules about secrets have something to look at."""


@dataclass(frozen=True)
class Plan:
    """What a run is going to do. `custom` says, a sentence each, why it cannot certify by the standard rules."""

    settings: Settings
    subject: Subject
    limits: Limits
    checks: tuple[Check, ...]
    required: Mapping[str, tuple[RequirementId, ...]]
    selected: tuple[str, ...]
    coverage: Coverage
    filters: tuple[str, ...]
    argv: tuple[str, ...]
    run: str
    started: str
    baseline: Baseline | None = None

    @property
    def custom(self) -> list[str]:
        """Everything about this run that differs from a standard one."""
        changed = [f"The limit {name} was set to {value:g}." for name, value in sorted(self.limits.changed.items())]
        return [*changed, *(f"Checks were left out by {text}." for text in self.filters)]


def make_plan(
    settings: Settings,
    work: Path,
    *,
    filters: tuple[str, ...] = (),
    argv: tuple[str, ...] = (),
    unpacked: Unpacked | None = None,
) -> Plan:
    """Find the provider and settle everything else. Raises `UsageFault` or `EnvironmentFault`."""
    contract = load_contract(settings.revision)
    limits = Limits(contract, settings.limits)
    package = find_package(
        settings.source, manifest=settings.manifest, node=settings.node, work=work, unpacked=unpacked
    )
    config, secrets, hooks = settings.config, settings.secrets, settings.hooks
    if package.keeps_sandboxes_on_disk:
        config = {"root": str(work / "sandboxes"), **config}
        secrets = {**({} if "token" in config else STAND_IN), **secrets}
        hooks = hooks if hooks.names else _hooks_of_a_directory(str(config["root"]))
    subject = make_subject(package, contract, settings.driver, config, secrets, hooks)
    checks = load_checks()
    required = required_ids(contract, checks)
    baseline = None
    if settings.baseline is not None:
        baseline = read_baseline(settings.baseline, checks, dt.datetime.now(dt.UTC).date())
    source = random.Random(settings.seed)  # noqa: S311 - the run's id may be repeated with its seed
    now = dt.datetime.now(dt.UTC)
    return Plan(
        settings=settings,
        subject=subject,
        limits=limits,
        checks=checks,
        required=required,
        selected=select_profiles(settings.profiles, subject, required),
        coverage=coverage(contract, checks),
        filters=filters,
        argv=argv,
        run=str(random_uuid(source)),
        started=now.isoformat(timespec="seconds"),
        baseline=baseline,
    )


def _hooks_of_a_directory(root: str) -> Hooks:
    """What an author would write for the built-in providers, whose sandboxes are directories."""
    listing = 'cd "$1" 2>/dev/null || exit 0; for one in ref-*; do [ -d "$one" ] && echo "$one"; done; exit 0'
    return Hooks(("sh", "-c", listing, "sh", root), ("rm", "-rf", f"{root}/{PLACE}"))


def bench_for(
    plan: Plan,
    transcript: Transcript,
    work: Path,
    environment: Mapping[str, str],
    *,
    journal: Journal | None = None,
    prefix: str = "L",
    purse: Purse | None = None,
) -> Bench:
    """The bench that the checks of one kit process share. `environment` is the kit's own.

    `journal` is where its ledger is written down; labels of leases start with `prefix`. Without a
    `purse` nothing is bounded.
    """
    launch = Launch(
        package=plan.subject.package,
        contract=plan.subject.contract,
        limits=plan.limits,
        transcript=transcript,
        directory=work / "worker",
        seed=plan.settings.seed,
        own_environment=environment,
        pass_through=plan.settings.pass_env,
        secrets=plan.subject.secret_ids,
        on_start=journal.worker if journal is not None else None,
    )
    return Bench(plan.subject, launch, plan.settings.seed, Ledger(prefix, journal, purse))
