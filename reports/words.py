"""One word for each capability, from its three sets: declared, advertised, demonstrated."""

from typing import Final

from conformance.model import Situation, State, Word
from conformance.reports.collect import Recorded
from conformance.reports.fields import Fields
from conformance.reports.report import BROKEN, SHOWN, CapabilityResult, CheckResult, PairRule

PROMISES_BROKEN: Final = frozenset({Word.BROKEN_PROMISE, Word.HOLLOW_PROMISE, Word.BROKEN})
"""Words that fail a profile on their own: the host would believe the promise."""

SYNC_PAIR: Final = ("nativeSyncIn", "nativeSyncOut")
"""The two keys that the host uses together, in every revision."""

_SILENT: Final = frozenset({State.UNSUPPORTED, State.NOT_APPLICABLE})
"""States that say nothing about whether a capability works."""


def judge_capabilities(recorded: Recorded) -> tuple[CapabilityResult, ...]:
    """Judge every capability that the header names, in its order."""
    by_id: dict[str, list[CheckResult]] = {}
    for check in recorded.checks:
        by_id.setdefault(check.id, []).append(check)
    return tuple(
        _capability(recorded, key, fields, by_id) for key, fields in recorded.header.entries("capabilities").items()
    )


def judge_pair(capabilities: tuple[CapabilityResult, ...]) -> PairRule | None:
    """Apply the pair rule to what the host would grant; None in a revision without the pair."""
    granted = {each.key: each.effective.get(Situation.PLAIN) for each in capabilities}
    if not all(key in granted for key in SYNC_PAIR):
        return None
    into, out = (granted[key] for key in SYNC_PAIR)
    return PairRule(SYNC_PAIR, None if into is None or out is None else into == out)


def _capability(recorded: Recorded, key: str, fields: Fields, by_id: dict[str, list[CheckResult]]) -> CapabilityResult:
    methods = fields.texts("prerequisites")
    opt_in = fields.flag("opt_in") is True
    profile = fields.maybe_label("profile")
    listed = None if recorded.advertised is None else recorded.advertised.texts("methods")
    missing = tuple(each for each in methods if listed is not None and each not in listed)
    advertised = None if listed is None else bool(listed) and not missing
    declared = None if recorded.declared is None else recorded.declared.inner("capabilities").flag(key)
    demonstrated = _demonstrated(_evidence(recorded.header, key, profile, by_id))
    some = listed is not None and any(each in listed for each in methods)
    if recorded.declared is None:
        word = Word.UNPROVEN
    else:
        word = _word(declared=declared, advertised=advertised, demonstrated=demonstrated, opt_in=opt_in, some=some)
    return CapabilityResult(
        key=key,
        title=fields.maybe_label("title") or key,
        profile=profile,
        opt_in=opt_in,
        declared=declared,
        advertised=advertised,
        demonstrated=demonstrated,
        word=word,
        methods=methods,
        missing_methods=missing,
        effective=_effective(recorded, key),
    )


def _effective(recorded: Recorded, key: str) -> dict[str, bool]:
    if recorded.advertised is None:
        return {}
    situations = recorded.advertised.entries("effective")
    flags = {name: inside.flag(key) for name, inside in situations.items()}
    return {name: flag for name, flag in flags.items() if flag is not None}


def _evidence(
    header: Fields, key: str, profile: str | None, by_id: dict[str, list[CheckResult]]
) -> list[CheckResult | None]:
    """Gather what speaks about the capability: checks that need it, and its profile's ids that need no other.

    None stands for a required id of which no check ran.
    """
    evidence: list[CheckResult | None] = [each for of in by_id.values() for each in of if each.needs == key]
    if profile is not None:
        for required in header.inner("profiles").inner(profile).texts("required"):
            checks = by_id.get(required)
            evidence += [None] if checks is None else [each for each in checks if each.needs is None]
    return evidence


def _demonstrated(evidence: list[CheckResult | None]) -> bool | None:
    states = [None if each is None else each.state for each in evidence]
    telling = [state for state in states if state not in _SILENT]
    if any(state in BROKEN for state in telling):
        return False
    if telling and all(state in SHOWN for state in telling):
        return True
    return None


def _word(
    *, declared: bool | None, advertised: bool | None, demonstrated: bool | None, opt_in: bool, some: bool
) -> Word:
    if declared is False:
        return Word.DECLINED if some else Word.ABSENT
    if declared is None and opt_in and advertised:
        return Word.NOT_CLAIMED
    if advertised is False:
        return Word.HOLLOW_PROMISE if declared else Word.ABSENT
    if advertised is None or demonstrated is None:
        return Word.UNPROVEN
    if declared:
        return Word.CERTIFIED if demonstrated else Word.BROKEN_PROMISE
    return Word.CERTIFIED_BY_DISCOVERY if demonstrated else Word.BROKEN
