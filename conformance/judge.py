"""Running one check and naming what became of it. No pytest here: the plugin and the tests both use this."""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.answer import evidence_of
from conformance.backend import Backend
from conformance.bench import Bench
from conformance.capabilities import claimed, verified_methods
from conformance.checks import WORKER_ARGUMENTS, Check
from conformance.errors import AnswerTimeout, EnvironmentFault, ProviderFault, WorkerGone
from conformance.evidence import Blocked, CheckEnded, Finding, Trace, cut
from conformance.model import Blame, CapabilityKey, FrameNumber, Level, RequirementId, State
from conformance.provider import Provider
from conformance.purse import OverBudget
from conformance.turns import Turns
from conformance.view import PackageView

CHECK_LIMIT_S = 600.0
"""Backstop for one check (our choice): every wait inside is bounded, so reaching this is a fault of the kit."""


_SPOILS = frozenset({State.FAIL, State.WARN, State.KIT_ERROR, State.INCONCLUSIVE, State.OVER_BUDGET})
"""After these nobody knows in what state a check left the leases that others share."""

JUDGES_THE_START = "initialize"
"""Area whose checks judge a start that failed; all others are blocked by it."""

JUDGES_THE_MANIFEST = "manifest"
"""Area whose checks judge a manifest that is missing; all others are blocked by it."""


@dataclass(frozen=True)
class Result:
    """What became of one check, and the events that tell it."""

    check: Check
    state: State
    reason: str
    blame: Blame | None = None
    expected: str = ""
    observed: str = ""
    sent: str = ""
    advice: str = ""
    blocked_by: RequirementId | None = None
    seconds: float = 0.0
    limit_share: float | None = None
    frames: tuple[FrameNumber, ...] = ()
    span: tuple[FrameNumber, FrameNumber] | None = None
    """First and last line of the transcript that were written while it ran; None when none was."""
    events: tuple[dict[str, Any], ...] = field(default=())


@dataclass(frozen=True)
class _Ending:
    state: State
    reason: str
    blame: Blame | None = None
    finding: Finding | None = None
    blocked_by: RequirementId | None = None
    frames: tuple[FrameNumber, ...] = ()


class Judge:
    """Judges checks on one bench. `in_company`: other processes judge the same provider at the same time."""

    def __init__(self, bench: Bench, *, in_company: bool = False) -> None:
        self.bench = bench
        self.in_company = in_company
        self._turns = Turns()
        self.now: dict[str, Trace] = {}
        """The traces of the checks that run now, by their names."""

    def gate(self, check: Check) -> _Ending | None:
        """The state of a check that need not run, from facts known before the run; None when it has to run."""
        subject = self.bench.subject
        contract = subject.contract
        requirement = contract.requirements[check.requirement]
        if not contract.applies(requirement):
            return _Ending(State.NOT_APPLICABLE, f"The rule is not part of revision {contract.revision}.")
        if check.declaration.when is not None and not check.declaration.when.holds(subject):
            return _Ending(State.NOT_APPLICABLE, check.declaration.when.otherwise)
        needs_a_worker = bool(check.arguments & WORKER_ARGUMENTS)
        # Without a manifest there is no declaration that could be judged.
        reads_a_declaration = check.area != JUDGES_THE_MANIFEST and subject.package.fault("MAN-001") is not None
        if (needs_a_worker or reads_a_declaration) and subject.blocking is not None:
            by, reason = subject.blocking
            return _Ending(State.BLOCKED, f"The host refuses the package ({by}): {reason}", blocked_by=by)
        return None

    async def judge_all(self, checks: Sequence[Check], *, at_once: int = 1) -> list[Result]:
        """Judge checks in their order, up to `at_once` side by side where they do not mind; results in that order."""
        free = asyncio.Semaphore(at_once)

        async def one(check: Check) -> Result:
            async with free:
                return await self.judge(check)

        beside = [check for check in checks if not check.declaration.alone]
        results = dict(zip(beside, await asyncio.gather(*(one(check) for check in beside)), strict=True))
        for check in checks:
            if check.declaration.alone:
                results[check] = await self.judge(check)
        return [results[check] for check in checks]

    async def judge(self, check: Check) -> Result:
        """Run one check to its end, tidy up after it, and say what became of it. Never raises for the provider."""
        started = time.monotonic()
        trace = Trace(check.requirement, check.name)
        before = self.bench.launch.transcript.last
        ending = self.gate(check)
        if ending is None:
            trace, ending = await self._run_in_turn(check)
        told = [*self.bench.launch.limits.pace.take_event(), *self.bench.room.take_notes()]
        events = [*told, *_observations(check, trace), *self._violations(check)]
        result = _result(check, trace, ending, time.monotonic() - started, events)
        return replace(result, span=_span(before, self.bench.launch.transcript.last))

    async def _run_in_turn(self, check: Check) -> tuple[Trace, _Ending]:
        """Run a check, once more and alone when it came too late beside others: their work may be the reason."""
        async with self.bench.leases.turn(check.arguments):
            async with self._turns.turn(alone=check.declaration.alone) as turn:
                # One that counts what is at the backend, before and after, must be the only one in all processes.
                counts = check.declaration.alone and "backend" in check.arguments
                trace, ending = await self._run_and_tidy(check, quiet=counts)
            if not (turn.beside or self.in_company) or ending.finding is None or not ending.finding.timed:
                return trace, ending
            async with self._turns.turn(alone=True):
                again, second = await self._run_and_tidy(check, quiet=True)
            return (trace, _unstable(ending)) if second.state is State.PASS else (again, second)

    async def _run_and_tidy(self, check: Check, *, quiet: bool) -> tuple[Trace, _Ending]:
        trace = self.now[check.name] = Trace(check.requirement, check.name)
        trace.waits_for = "waits for a free lease"
        purse = self.bench.ledger.purse
        if purse is not None:
            purse.runs(check.name, now=True)
        try:
            return trace, await self._run_within_budget(check, trace, quiet=quiet)
        finally:
            del self.now[check.name]
            if purse is not None:
                purse.runs(check.name, now=False)

    async def _run_within_budget(self, check: Check, trace: Trace, *, quiet: bool) -> _Ending:
        room = self.bench.room
        refused = await room.enter(check, quiet=quiet)
        if refused is not None:
            blame = Blame.ENVIRONMENT if refused.state is State.ENV_ERROR else None
            return _Ending(refused.state, refused.sentence, blame)
        trace.waits_for = ""
        try:
            ending = await room.while_affordable(self._run(check, trace))
        except OverBudget as over:
            ending = _Ending(State.OVER_BUDGET, str(over))
        if ending.state in _SPOILS:
            room.spoil(check, ending.state)
        await self.bench.tidy(check.name, clean=ending.state is State.PASS and room.wants_leftover(check))
        await room.leave(check)
        if check.arguments & WORKER_ARGUMENTS and self.bench.ledger.purse is not None:
            self.bench.ledger.purse.met(environment_error=ending.state is State.ENV_ERROR)
        return ending

    async def _run(self, check: Check, trace: Trace) -> _Ending:
        try:
            async with asyncio.timeout(CHECK_LIMIT_S):
                try:
                    arguments = await self._arguments(check, trace)
                except Blocked as blocked:
                    return _without_arguments(check, trace, blocked)
                if isinstance(arguments, _Ending):
                    return arguments
                await check.body(**arguments)
        except CheckEnded as ended:
            return _ended(check, ended)
        except ProviderFault as fault:
            return _faulted(check, trace, fault)
        except EnvironmentFault as fault:
            return _Ending(State.ENV_ERROR, fault.sentence(), Blame.ENVIRONMENT)
        except TimeoutError:
            reason = f"The check did not end within {CHECK_LIMIT_S:g} s, although every wait in it is bounded."
            return _Ending(State.KIT_ERROR, reason, Blame.KIT)
        except Exception as error:  # noqa: BLE001 - whatever a check does wrong is ours, and must be seen as that
            return _Ending(State.KIT_ERROR, f"The check itself failed: {type(error).__name__}: {error}", Blame.KIT)
        if not trace.decisions:
            return _Ending(State.INCONCLUSIVE, "The check ended without deciding anything.", Blame.KIT)
        return _Ending(State.PASS, "")

    async def _arguments(self, check: Check, trace: Trace) -> "dict[str, Any] | _Ending":
        arguments: dict[str, Any] = {}
        bench, wanted = self.bench, check.arguments
        if "package" in wanted:
            arguments["package"] = PackageView(trace, bench.subject)
        if "backend" in wanted:
            arguments["backend"] = Backend(trace, bench.subject.hooks, bench.launch.own_environment)
        if "launcher" in wanted:
            if check.area != JUDGES_THE_START:
                # A worker that does not start costs its whole time limit: only the rules about the start pay it again.
                await bench.provider(trace)
            arguments["launcher"] = bench.launcher(trace)
        if wanted & (WORKER_ARGUMENTS - {"launcher"}) or check.declaration.needs is not None:
            provider = await bench.provider(trace)
            unclaimed = self._unclaimed(check.declaration.needs, provider)
            if unclaimed is not None:
                return unclaimed
            arguments |= await self._of_a_worker(wanted, provider)
        return arguments

    async def _of_a_worker(self, wanted: Collection[str], provider: Provider) -> dict[str, Any]:
        made: dict[str, Any] = {"provider": provider} if "provider" in wanted else {}
        for name, share in self.bench.leases.by_name.items():
            if name in wanted:
                made[name] = await share(provider)
        if "tour" in wanted:
            made["tour"] = await self.bench.tour(provider.trace)
        if "setup" in wanted:
            made["setup"] = await self.bench.setup(provider.trace)
        return made

    def _unclaimed(self, needs: CapabilityKey | None, provider: Provider) -> _Ending | None:
        if needs is None:
            return None
        subject = self.bench.subject
        rule = subject.contract.capabilities[needs]
        advertised = verified_methods(list(provider.worker.methods or ())).issuperset(rule.prerequisites)
        if subject.declared[needs] is True and not advertised:
            reason = f"{needs} is declared true, but the worker does not advertise every method that it needs."
            return _Ending(State.BLOCKED, reason, blocked_by=RequirementId("CAP-001"))
        if not advertised or not claimed(subject.contract, needs, subject.driver):
            return _Ending(State.UNSUPPORTED, f"The provider does not claim {needs}.")
        return None

    def _violations(self, check: Check) -> list[dict[str, Any]]:
        return [
            {
                "event": "observation",
                "id": check.requirement,
                "name": check.name,
                "expected": f"{violation.requirement} holds on every line",
                "observed": violation.observed,
                "holds": False,
                "frames": [violation.frame],
                "violates": violation.requirement,
            }
            for violation in self.bench.new_violations()
        ]


def _span(before: FrameNumber, last: FrameNumber) -> tuple[FrameNumber, FrameNumber] | None:
    return (FrameNumber(before + 1), last) if last > before else None


def _without_arguments(check: Check, trace: Trace, blocked: Blocked) -> _Ending:
    """What a check is about could not be made. Where its own rule was in the way, that decides it."""
    if blocked.by != check.requirement:
        return _ended(check, blocked)
    try:
        trace.decide(
            holds=False,
            expected="what the rule is about can be brought about",
            observed=blocked.reason,
            frames=blocked.frames,
        )
    except Finding as finding:
        return _found(check, finding)
    raise AssertionError


def _ended(check: Check, ended: CheckEnded) -> _Ending:
    match ended:
        case Finding():
            return _found(check, ended)
        case Blocked():
            return _Ending(State.BLOCKED, ended.reason, blocked_by=ended.by, frames=ended.frames)
        case OverBudget():
            return _Ending(State.OVER_BUDGET, str(ended))
        case _:
            return _Ending(State.INCONCLUSIVE, str(ended), Blame.KIT)


def _found(check: Check, finding: Finding) -> _Ending:
    state = State.FAIL if check.declaration.level is Level.MUST else State.WARN
    return _Ending(state, f"Expected that {finding.decision.expected}.", finding.blame, finding=finding)


def _unstable(first: _Ending) -> _Ending:
    """A check that came too late beside others and passed alone: 1 of 2, which is neither pass nor fail."""
    reason = f"Passed 1 of 2 times: alone, but not while other checks ran. {first.reason}"
    return _Ending(State.UNSTABLE, reason, Blame.ENVIRONMENT, finding=first.finding)


def _faulted(check: Check, trace: Trace, fault: ProviderFault) -> _Ending:
    """A call of the check itself went wrong: that decides against the provider as much as an assertion does."""
    answer = evidence_of(fault)
    if isinstance(fault, WorkerGone):
        advice = "The worker must survive every call. Its stderr above says why it ended."
    else:
        advice = "The call is legal at this point and must be answered with a result."
    try:
        trace.decide(
            holds=False,
            expected=f"{answer.method} is answered with a usable result",
            observed=answer.came,
            frames=answer.frames,
            sent=answer.sent,
            advice=advice,
            timed=isinstance(fault, AnswerTimeout),
        )
    except Finding as finding:
        return _found(check, finding)
    raise AssertionError


def _observations(check: Check, trace: Trace) -> list[dict[str, Any]]:
    return [
        {
            "event": "observation",
            "id": check.requirement,
            "name": check.name,
            "expected": decision.expected,
            "observed": decision.observed,
            "holds": decision.holds,
            "frames": list(decision.frames),
        }
        for decision in trace.decisions
    ]


def _result(check: Check, trace: Trace, ending: _Ending, seconds: float, events: list[dict[str, Any]]) -> Result:
    finding = ending.finding
    last = trace.decisions[-1] if trace.decisions else None
    return Result(
        check=check,
        state=ending.state,
        reason=cut(ending.reason),
        blame=ending.blame,
        expected=last.expected if last is not None else "",
        observed=last.observed if last is not None else "",
        sent=finding.sent if finding is not None else "",
        advice=finding.advice if finding is not None else "",
        blocked_by=ending.blocked_by,
        seconds=round(seconds, 4),
        limit_share=None if trace.nearest_to_limit is None else round(trace.nearest_to_limit, 6),
        frames=last.frames if last is not None else ending.frames,
        events=tuple(events),
    )
