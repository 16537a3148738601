"""The one module that counts: from the recorded stream to requirement states, words, verdicts and the exit code."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from conformance.budget import Rate
from conformance.events import EARLIER_LEASES, Event, StreamError
from conformance.model import ExitCode, Level, State, Verdict
from conformance.reports.baseline import apply, softened
from conformance.reports.collect import Recorded, collect
from conformance.reports.fields import LABEL_LIMIT, Fields
from conformance.reports.report import (
    BROKEN,
    SETTLED,
    SHOWN,
    UNCLAIMED,
    BaselineUse,
    CapabilityResult,
    CheckResult,
    Coverage,
    ProfileResult,
    Report,
    RequirementResult,
    Use,
    worst,
)
from conformance.reports.sanitize import one_line
from conformance.reports.words import PROMISES_BROKEN, judge_capabilities, judge_pair

NEAR_LIMIT = 0.8
"""Share of a time limit above which a duration is worth a note: our choice."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""Profile names become file names, so nothing else is let through."""

SLOW_S = 0.5
"""A backend whose short commands take longer is called slow in the report (our choice)."""

_TAKEN = frozenset({"evidence"})
"""Its badge would have the name of the evidence of all badges."""


def tally(stream: Iterable[Event]) -> Report:
    """Count a run. A pure function of its events; raises `StreamError` where they make no sense or have no end."""
    found = collect(stream)
    header = found.header
    checks, baseline = apply(header, found.checks)
    recorded = replace(found, checks=checks)
    run = header.inner("run")
    custom = run.texts("custom")
    invalid = any(each.state is State.KIT_ERROR for each in recorded.checks)
    requirements = _requirements(recorded)
    capabilities = judge_capabilities(recorded)
    selected = run.texts("profiles")
    profiles = _profiles(recorded, requirements, capabilities)
    if unknown := [name for name in selected if name not in {each.name for each in profiles}]:
        raise StreamError(f"the run selects the profile {unknown[0]}, which its header does not define")
    chosen = [each for each in profiles if each.selected]
    verdict = _overall(chosen, invalid=invalid)
    coverage = header.inner("coverage")
    not_observable = coverage.inner("not_observable")
    return Report(
        kit=header.inner("kit").values,
        revision=header.inner("revision").values,
        subject=header.inner("subject").values,
        run=run.values,
        declared=recorded.declared.values if recorded.declared else {},
        methods=recorded.advertised.texts("methods") if recorded.advertised else None,
        custom=custom,
        seconds=recorded.seconds,
        invalid=invalid,
        verdict=verdict,
        exit_code=_exit_code(verdict, recorded.checks) if baseline is None else _softer_code(recorded, baseline),
        reasons=tuple(_reasons(chosen, recorded.checks, verdict)),
        profiles=profiles,
        capabilities=capabilities,
        pair=judge_pair(capabilities),
        requirements=requirements,
        checks=recorded.checks,
        coverage=Coverage(
            tested=coverage.texts("tested"),
            not_observable={one_line(key, LABEL_LIMIT): not_observable.text(key) for key in not_observable.values},
            not_yet=coverage.texts("not_yet"),
        ),
        leases=replace(recorded.leases, cost=_cost(run, recorded.leases.seconds)),
        faults=recorded.faults,
        notes=(*recorded.notes, *_notes(recorded, profiles)),
        baseline=baseline,
        events=recorded.events,
        digest=recorded.digest,
    )


def _cost(run: Fields, lease_seconds: float) -> str | None:
    rate = run.inner("budget").inner("rate")
    amount, currency = rate.number("amount"), rate.maybe_label("currency")
    return None if amount is None or currency is None else Rate(amount, currency).cost(lease_seconds)


def _requirements(recorded: Recorded) -> tuple[RequirementResult, ...]:
    checks: defaultdict[str, list[CheckResult]] = defaultdict(list)
    for check in recorded.checks:
        checks[check.id].append(check)
    return tuple(
        RequirementResult(
            id=key,
            level=fields.word("level", Level),
            area=fields.label("area"),
            statement=fields.text("statement"),
            source=fields.maybe_text("source") or "",
            profile=fields.maybe_label("profile"),
            state=worst([each.state for each in checks.get(key, ())]),
            checks=tuple(each.name for each in checks.get(key, ())),
        )
        for key, fields in recorded.header.entries("requirements").items()
    )


def _profiles(
    recorded: Recorded, requirements: Sequence[RequirementResult], capabilities: Sequence[CapabilityResult]
) -> tuple[ProfileResult, ...]:
    run = recorded.header.inner("run")
    selected, custom = run.texts("profiles"), run.texts("custom")
    states = {each.id: each.state for each in requirements}
    invalid = any(each.state is State.KIT_ERROR for each in recorded.checks)
    return tuple(
        _profile(name, fields, states, capabilities, selected=name in selected, invalid=invalid, custom=custom)
        for name, fields in recorded.header.entries("profiles").items()
    )


def _softer_code(recorded: Recorded, baseline: BaselineUse) -> int:
    """The exit code for the author's own CI: as if everything that the baseline expects were settled."""
    if any(each.use is Use.STALE for each in baseline.entries):
        return ExitCode.FAILED
    softer = replace(recorded, checks=softened(recorded.checks, baseline))
    profiles = _profiles(softer, _requirements(softer), judge_capabilities(softer))
    invalid = any(each.state is State.KIT_ERROR for each in softer.checks)
    verdict = _overall([each for each in profiles if each.selected], invalid=invalid)
    return _exit_code(verdict, softer.checks)


def _profile(
    name: str,
    fields: Fields,
    states: dict[str, State | None],
    capabilities: Sequence[CapabilityResult],
    *,
    selected: bool,
    invalid: bool,
    custom: tuple[str, ...],
) -> ProfileResult:
    if _NAME.fullmatch(name) is None or name in _TAKEN:
        raise StreamError("a profile has a name that cannot be one", line=fields.line)
    required = fields.texts("required")
    own = [each for each in capabilities if each.profile == name]
    of = {key: states.get(key) for key in required}
    failed = tuple(key for key, state in of.items() if state in BROKEN)
    missing = tuple(key for key, state in of.items() if state not in BROKEN and state not in SETTLED)
    promises = [each for each in own if each.word in PROMISES_BROKEN]
    shown = any(state in SHOWN for state in of.values())
    declined = any(state is State.UNSUPPORTED for state in of.values()) and not shown
    unclaimed = bool(own) and all(each.word in UNCLAIMED for each in own)
    if failed or promises:
        verdict = Verdict.FAILED
        told = [f"{key} {of[key]}" for key in failed] + [f"{each.key} is a {each.word}" for each in promises]
        reason = _list(told)
    elif missing:
        verdict = Verdict.INCOMPLETE
        reason = f"{len(missing)} of {len(required)} required ids are not settled: " + _list(
            [f"{key} {of[key] or 'has no result'}" for key in missing]
        )
    elif invalid:
        verdict, reason = Verdict.INCOMPLETE, "the kit itself failed in this run, so the run certifies nobody"
    elif declined or (unclaimed and required):
        verdict, reason = Verdict.UNSUPPORTED, "the provider does not claim it"
    elif not shown:
        verdict, reason = Verdict.INCOMPLETE, "nothing that it requires was verified"
    elif custom:
        verdict, reason = Verdict.CUSTOM_RUN, _list(custom)
    else:
        verdict, reason = Verdict.CERTIFIED, f"all {len(required)} required ids are settled"
    return ProfileResult(
        name=name,
        title=fields.maybe_label("title") or name,
        selected=selected,
        verdict=verdict,
        required=required,
        failed=failed,
        missing=missing,
        reason=reason,
    )


def _overall(chosen: Sequence[ProfileResult], *, invalid: bool) -> Verdict:
    """Take the worst of the selected profiles; one that the provider does not claim says nothing."""
    verdicts = {each.verdict for each in chosen} - {Verdict.UNSUPPORTED}
    if Verdict.FAILED in verdicts:
        return Verdict.FAILED
    if Verdict.INCOMPLETE in verdicts or invalid or not verdicts:
        return Verdict.INCOMPLETE
    return Verdict.CUSTOM_RUN if Verdict.CUSTOM_RUN in verdicts else Verdict.CERTIFIED


def _exit_code(verdict: Verdict, checks: Sequence[CheckResult]) -> int:
    """Say it in one number; 0 belongs to `certified` alone."""
    states = {each.state for each in checks}
    if State.KIT_ERROR in states:
        return ExitCode.KIT
    if verdict is Verdict.CERTIFIED:
        return ExitCode.CERTIFIED
    if State.ENV_ERROR in states and verdict is not Verdict.FAILED:
        return ExitCode.ENVIRONMENT
    if State.OVER_BUDGET in states:
        return ExitCode.BUDGET
    if verdict is Verdict.FAILED:
        return ExitCode.FAILED
    return ExitCode.INCOMPLETE if states & SHOWN else ExitCode.NOTHING_VERIFIED


def _reasons(chosen: Sequence[ProfileResult], checks: Sequence[CheckResult], verdict: Verdict) -> Iterable[str]:
    if verdict is Verdict.CERTIFIED:
        return
    if broken := [each for each in checks if each.state is State.KIT_ERROR]:
        yield f"The kit itself failed in {len(broken)} of its checks, so the run is invalid."
    for profile in chosen:
        if profile.verdict not in {Verdict.CERTIFIED, Verdict.UNSUPPORTED}:
            yield f"{profile.name} is {profile.verdict}: {profile.reason}."
    if all(each.verdict is Verdict.UNSUPPORTED for each in chosen):
        yield "Nothing was verified: the provider claims none of the selected profiles."


def _notes(recorded: Recorded, profiles: Sequence[ProfileResult]) -> Iterable[str]:
    counted = {key for each in profiles if each.selected for key in each.required}
    if beside := {each.id for each in recorded.checks if each.state in BROKEN and each.id not in counted}:
        yield f"Broken, but required by no selected profile: {_list(sorted(beside))}."
    if near := [each for each in recorded.checks if (each.limit_share or 0.0) > NEAR_LIMIT]:
        shares = [f"{each.id} {each.limit_share or 0.0:.0%}" for each in near]
        yield f"Close to a time limit: {_list(shares)}."
    if recorded.latency > SLOW_S:
        yield f"A short command takes {recorded.latency:.1f} s here; limits of the kit's own choice were made longer."
    run = recorded.header.inner("run")
    if "hooks" in run.values and "inventory" not in run.texts("hooks"):
        yield "No inventory hook: that sandboxes were removed is known from commands and resume alone."
    if recorded.leases.unknown:
        yield f"Leases never confirmed closed: {recorded.leases.unknown}. They may still cost money."
    yield from (each.detail for each in recorded.faults if each.kind == EARLIER_LEASES and each.detail)


def _list(items: Sequence[str], most: int = 5) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more
