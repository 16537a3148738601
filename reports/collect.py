"""First pass over the stream: puts each check together from its events, and counts in what was seen elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from conformance.events import Event, EventKind, StreamError
from conformance.model import Blame, Level, State
from conformance.reports.fields import Fields
from conformance.reports.report import CheckResult, Fault, LeaseBalance, Observation

WIRE_CHECK = "seen_on_the_wire"
"""Name under which a violation is shown when no check of the broken requirement ran."""

_OVERRULED = frozenset(
    {
        State.PASS,
        State.WARN,
        State.INCONCLUSIVE,
        State.BLOCKED,
        State.SKIPPED,
        State.UNSTABLE,
        State.OVER_BUDGET,
        State.ENV_ERROR,
        State.UNEXPECTED_PASS,
    }
)
"""States that give way to a violation: what was seen happened, whether or not a check got that far."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The stream in order: parts of the header still raw, checks complete."""

    header: Fields
    declared: Fields | None
    advertised: Fields | None
    checks: tuple[CheckResult, ...]
    leases: LeaseBalance
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    latency: float
    seconds: float
    events: int
    digest: str


@dataclass(frozen=True, slots=True)
class _Violation:
    requirement: str
    seen_by: str
    seen: Observation


@dataclass(slots=True)
class _Lease:
    opened_at: float
    open: bool = True


@dataclass(slots=True)
class _Collector:
    header: Fields
    declared: Fields | None = None
    advertised: Fields | None = None
    footer: Fields | None = None
    seconds: float = 0.0
    checks: list[CheckResult] = field(default_factory=list[CheckResult])
    running: dict[tuple[str, str], Fields] = field(default_factory=dict[tuple[str, str], Fields])
    seen: dict[tuple[str, str], list[Observation]] = field(default_factory=dict[tuple[str, str], list[Observation]])
    violations: list[_Violation] = field(default_factory=list[_Violation])
    leases: dict[str, _Lease] = field(default_factory=dict[str, _Lease])
    moments: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    lease_seconds: float = 0.0
    faults: list[Fault] = field(default_factory=list[Fault])
    latency: float = 0.0
    notes: list[str] = field(default_factory=list[str])

    def take(self, event: Event) -> None:
        fields = Fields(event.fields, f"the event {event.kind}", event.line)
        self.seconds = max(self.seconds, event.t)
        match event.kind:
            case EventKind.DECLARED:
                self.declared = fields
            case EventKind.ADVERTISED:
                self.advertised = fields
            case EventKind.CHECK_START:
                self.running[_key(fields)] = fields
            case EventKind.OBSERVATION:
                self._observation(fields)
            case EventKind.CHECK_END:
                self._check_end(fields)
            case EventKind.LEASE_OPEN | EventKind.LEASE_CLOSE:
                (self._lease_open if event.kind == EventKind.LEASE_OPEN else self._lease_close)(event.t, fields)
            case EventKind.PACE:
                self.latency = max(self.latency, fields.number("latency_s") or 0.0)
            case EventKind.FAULT | EventKind.NOTE:
                self._told(event, fields)
            case EventKind.FOOTER:
                self.footer = fields
            case _:
                pass  # a newer kit of the same format may say more than we know

    def _told(self, event: Event, fields: Fields) -> None:
        if event.kind == EventKind.NOTE:
            self.notes.append(fields.text("text"))
        else:
            self.faults.append(Fault(event.t, fields.label("kind"), fields.prose("detail")))

    def _observation(self, fields: Fields) -> None:
        seen = Observation(
            expected=fields.prose("expected"),
            observed=fields.prose("observed"),
            holds=fields.flag("holds") is True,
            frames=fields.integers("frames"),
        )
        broken = fields.maybe_label("violates")
        if broken is not None:
            self.violations.append(_Violation(broken, fields.maybe_label("name") or "the run", seen))
            return
        self.seen.setdefault(_key(fields), []).append(seen)

    def _check_end(self, fields: Fields) -> None:
        key = _key(fields)
        start = self.running.pop(key, None)
        if start is None:
            raise StreamError(f"check {key[1]} of {key[0]} ends without a start", line=fields.line)
        observations = tuple(self.seen.pop(key, ()))
        blame = None if fields.json("blame") is None else fields.word("blame", Blame)
        state = _counted(fields.word("state", State), blame)
        reason = fields.prose("reason")
        if state is State.PASS and not any(each.holds for each in observations):
            state, reason = State.INCONCLUSIVE, "It ended without having observed anything, so it decided nothing."
        self.checks.append(
            replace(
                _unfinished(self.header, start),
                state=state,
                blame=blame,
                reason=reason,
                expected=fields.prose("expected"),
                observed=fields.prose("observed"),
                sent=fields.prose("sent"),
                advice=fields.prose("advice"),
                blocked_by=fields.maybe_label("blocked_by"),
                seconds=fields.number("seconds"),
                limit_share=fields.number("limit_share"),
                frames=fields.integers("frames"),
                span=_span(fields),
                replay=fields.maybe_text("replay"),
                observations=observations,
            )
        )

    def _lease_open(self, t: float, fields: Fields) -> None:
        label = fields.label("lease")
        lease = self.leases.get(label)
        if lease is None or not lease.open:
            # A label that comes back is the same sandbox, resumed: one lease, open again.
            at = _moment(t, fields)
            self.leases[label] = _Lease(at)
            self.moments.append((at, 1))

    def _lease_close(self, t: float, fields: Fields) -> None:
        label, how = fields.label("lease"), fields.text("how")
        if how not in {"released", "destroyed", "gone", "never-opened", "unknown"}:
            raise StreamError(f"lease {label} was closed in a way this kit does not know", line=fields.line)
        lease = self.leases.get(label)
        if lease is None:
            raise StreamError(f"lease {label} is closed and was never opened", line=fields.line)
        if how == "unknown" or not lease.open:
            return
        at = _moment(t, fields)
        lease.open = False
        self.moments.append((at, -1))
        self.lease_seconds += at - lease.opened_at
        if how == "never-opened":
            # It was asked for and refused: the stream tells of the intention, there was never a lease.
            del self.leases[label]

    def finish(self) -> Recorded:
        if self.footer is None:
            raise StreamError("there is no footer: the run was cut off, so there is no verdict")
        for key, start in self.running.items():
            cut_off = _unfinished(self.header, start)
            self.checks.append(replace(cut_off, observations=tuple(self.seen.get(key, ()))))
        checks = _with_violations(self.header, self.checks, self.violations, self.notes)
        order = {key: place for place, key in enumerate(self.header.entries("requirements"))}
        closed = sum(1 for each in self.leases.values() if not each.open)
        still = sum(self.seconds - each.opened_at for each in self.leases.values() if each.open)
        return Recorded(
            header=self.header,
            declared=self.declared,
            advertised=self.advertised,
            # Parallel processes end checks in any order; the report has them in this one.
            checks=tuple(sorted(checks, key=lambda check: (order.get(check.id, len(order)), check.name))),
            leases=LeaseBalance(
                opened=len(self.leases),
                closed=closed,
                unknown=len(self.leases) - closed,
                peak=_peak(self.moments),
                seconds=round(self.lease_seconds + still, 3),
            ),
            faults=tuple(self.faults),
            notes=tuple(self.notes),
            latency=self.latency,
            seconds=self.seconds,
            events=int(self.footer.number("events") or 0),
            digest=self.footer.text("digest"),
        )


def collect(stream: Iterable[Event]) -> Recorded:
    """Go through the events once, in order; raises `StreamError` on an event that makes no sense."""
    events = iter(stream)
    first = next(events, None)
    if first is None or first.kind != EventKind.HEADER:
        raise StreamError("the stream does not start with its header")
    collector = _Collector(Fields(first.fields, "the header", first.line))
    for event in events:
        if event.kind == EventKind.HEADER:
            raise StreamError("there is a second header", line=event.line)
        collector.take(event)
    return collector.finish()


def _span(fields: Fields) -> tuple[int, ...]:
    span = fields.integers("span")
    if span and (len(span) != 2 or span[0] > span[1]):  # noqa: PLR2004 - first and last
        raise StreamError("a span is no first and last line of the transcript", line=fields.line)
    return span


def _moment(t: float, fields: Fields) -> float:
    """When it happened: checks run side by side, and what one did is written when it is reported."""
    at = fields.number("at")
    return t if at is None else at


def _peak(moments: list[tuple[float, int]]) -> int:
    """Most leases at once, from the openings and closings in any order."""
    count = peak = 0
    for _, change in sorted(moments, key=lambda moment: moment[0]):
        count += change
        peak = max(peak, count)
    return peak


def _key(fields: Fields) -> tuple[str, str]:
    """Identify a check by requirement and name: several may run at once."""
    return fields.label("id"), fields.label("name")


def _counted(state: State, blame: Blame | None) -> State:
    """Only the provider can fail: a failure that is someone else's is counted as theirs."""
    if state is not State.FAIL:
        return state
    match blame:
        case Blame.KIT:
            return State.KIT_ERROR
        case Blame.ENVIRONMENT:
            return State.ENV_ERROR
        case Blame.CONTRACT:
            return State.INCONCLUSIVE
        case Blame.PROVIDER | None:
            return State.FAIL


def _unfinished(header: Fields, start: Fields) -> CheckResult:
    """Describe a check of which only the start is known."""
    requirement, name = _key(start)
    return CheckResult(
        id=requirement,
        name=name,
        level=start.word("level", Level),
        area=start.label("area"),
        profile=start.maybe_label("profile"),
        cost=start.maybe_label("cost"),
        needs=start.maybe_label("needs"),
        state=State.INCONCLUSIVE,
        blame=None,
        reason="The run stopped while this check was running.",
        expected=None,
        observed=None,
        sent=None,
        advice=None,
        blocked_by=None,
        seconds=None,
        limit_share=None,
        frames=(),
        span=(),
        seen_by=None,
        replay=None,
        observations=(),
        proven_by=header.inner("proofs").texts(requirement),
    )


def _with_violations(
    header: Fields, checks: list[CheckResult], violations: list[_Violation], notes: list[str]
) -> list[CheckResult]:
    """Let what was seen anywhere in the run overrule the checks of the broken rule. The first sighting counts."""
    requirements = header.entries("requirements")
    first: dict[str, _Violation] = {}
    for violation in violations:
        if violation.requirement in requirements:
            first.setdefault(violation.requirement, violation)
        else:
            rule = f"{violation.requirement} broken, which is no rule of this revision"
            notes.append(f"{violation.seen_by} saw {rule}: not counted.")
    counted = list(checks)
    by_id: dict[str, list[int]] = {}
    for place, check in enumerate(counted):
        by_id.setdefault(check.id, []).append(place)
    for requirement, violation in first.items():
        fields = requirements[requirement]
        if not by_id.get(requirement):
            counted.append(_broken(_without_check(header, requirement, fields), violation))
        for place in by_id.get(requirement, ()):
            if counted[place].state in _OVERRULED:
                counted[place] = _broken(counted[place], violation)
    return counted


def _without_check(header: Fields, requirement: str, fields: Fields) -> CheckResult:
    start = {
        "id": requirement,
        "name": WIRE_CHECK,
        "level": fields.json("level"),
        "area": fields.json("area"),
        "profile": fields.json("profile"),
    }
    return _unfinished(header, Fields(start, fields.where, fields.line))


def _broken(check: CheckResult, violation: _Violation) -> CheckResult:
    """Make the check tell of the violation, unless the requirement is one that nobody has to meet."""
    match check.level:
        case Level.MUST:
            state = State.FAIL
        case Level.SHOULD:
            state = State.WARN
        case Level.MAY:
            return check
    if check.state is state:
        return check
    return replace(
        check,
        state=state,
        blame=Blame.PROVIDER,
        reason=f"The wire saw this rule broken while {violation.seen_by} ran.",
        expected=violation.seen.expected,
        observed=violation.seen.observed,
        blocked_by=None,
        frames=violation.seen.frames,
        seen_by=violation.seen_by,
        observations=(*check.observations, violation.seen),
    )
