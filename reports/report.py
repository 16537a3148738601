"""What a run amounts to: the value that `tally` makes of a stream, and that every output prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from conformance.errors import KitError
from conformance.model import Blame, ExitCode, Json, JsonObject, Level, State, Verdict, Word
from conformance.reports.sanitize import clean

SEVERITY: Final = (
    State.FAIL,
    State.KIT_ERROR,
    State.EXPECTED_FAIL,
    State.ENV_ERROR,
    State.OVER_BUDGET,
    State.UNSTABLE,
    State.INCONCLUSIVE,
    State.UNEXPECTED_PASS,
    State.BLOCKED,
    State.SKIPPED,
    State.WARN,
    State.PASS,
    State.UNSUPPORTED,
    State.NOT_APPLICABLE,
)
"""Worst first. `pass` stands above `unsupported`: one of several checks that showed something has shown it."""

BROKEN: Final = frozenset({State.FAIL, State.EXPECTED_FAIL})
"""States that fail a profile; a baseline may excuse a failure to its author, never to a reader."""

SHOWN: Final = frozenset({State.PASS, State.WARN})
"""States that demonstrate a requirement."""

SETTLED: Final = SHOWN | {State.UNSUPPORTED, State.NOT_APPLICABLE}
"""States with which a profile can be certified."""

UNCLAIMED: Final = frozenset({Word.ABSENT, Word.DECLINED, Word.NOT_CLAIMED})
"""Words of a capability that the provider does not claim."""


def worst(states: "list[State]") -> State | None:
    """Pick the worst of the states; None of none."""
    return min(states, key=SEVERITY.index, default=None)


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing a check saw, beside what the rule demands. Bodies stand in the transcript, under the frame numbers."""

    expected: str | None
    observed: str | None
    holds: bool
    frames: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What became of one check, after violations seen elsewhere in the run were counted in."""

    id: str
    name: str
    level: Level
    area: str
    profile: str | None
    cost: str | None
    needs: str | None
    """Key of the capability without which the check means nothing."""
    state: State
    blame: Blame | None
    reason: str | None
    expected: str | None
    observed: str | None
    sent: str | None
    advice: str | None
    blocked_by: str | None
    seconds: float | None
    limit_share: float | None
    """Duration as a share of the time limit: 1.0 is the limit itself."""
    frames: tuple[int, ...]
    span: tuple[int, ...]
    """First and last line of the transcript that were written while it ran; empty when none was."""
    seen_by: str | None
    """Name of the check during which the wire saw the rule broken, when that is what decided."""
    replay: str | None
    observations: tuple[Observation, ...]
    proven_by: tuple[str, ...]
    """Mutants that this requirement's checks are known to fail."""


@dataclass(frozen=True, slots=True)
class RequirementResult:
    """One obligation, and the worst of what its checks found."""

    id: str
    level: Level
    area: str
    statement: str
    source: str
    profile: str | None
    state: State | None
    """None when no check of it ran."""
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileResult:
    """The verdict on one profile, from its exact list of required ids."""

    name: str
    title: str
    selected: bool
    verdict: Verdict
    required: tuple[str, ...]
    failed: tuple[str, ...]
    missing: tuple[str, ...]
    """Required ids that are neither failed nor settled."""
    reason: str


@dataclass(frozen=True, slots=True)
class CapabilityResult:
    """One capability in its three sets, the one word for it, and what the host would grant."""

    key: str
    title: str
    profile: str | None
    opt_in: bool
    declared: bool | None
    """None when the manifest omits the key."""
    advertised: bool | None
    """True when every prerequisite method is listed; None when the worker never said."""
    demonstrated: bool | None
    """None when the run did not decide it."""
    word: Word
    methods: tuple[str, ...]
    missing_methods: tuple[str, ...]
    effective: Mapping[str, bool]
    """By situation, what the host resolves."""


@dataclass(frozen=True, slots=True)
class PairRule:
    """Native sync into and out of a sandbox are granted together or not at all."""

    keys: tuple[str, str]
    holds: bool | None
    """None when the run did not learn what the host grants."""

    @property
    def sentence(self) -> str:
        """What it means where it does not hold."""
        return (
            f"{' and '.join(self.keys)} belong together, and only one of them is there: "
            "the host would use neither, and move files over commands in both directions."
        )


@dataclass(frozen=True, slots=True)
class LeaseBalance:
    """What the run opened on the provider, and what became of it."""

    opened: int
    closed: int
    unknown: int
    """Never confirmed closed: they may still cost money."""
    peak: int
    """The most that were open, or of unknown fate, at once."""
    seconds: float
    cost: str | None = None
    """What the lease-seconds cost, where the run knows the price of an hour."""

    def __post_init__(self) -> None:
        if self.opened != self.closed + self.unknown:
            raise KitError("The lease balance does not add up.")


class Use(StrEnum):
    """What became of an entry. `stale`: the check passes now, so the entry must go; `unused`: it was not decided."""

    USED = "used"
    STALE = "stale"
    UNUSED = "unused"


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """One entry, as the author wrote it, and its use in this run."""

    id: str
    check: str
    state: str
    reason: str
    owner: str
    link: str
    expires: str
    use: Use


@dataclass(frozen=True, slots=True)
class BaselineUse:
    """The baseline of a run."""

    file: str
    digest: str
    entries: tuple[BaselineEntry, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Which obligations this version of the kit looks at."""

    tested: tuple[str, ...]
    not_observable: Mapping[str, str]
    not_yet: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that befell the run, or that the kit did to it on purpose."""

    t: float
    kind: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that the outputs print. Built by `tally`, and by nothing else."""

    kit: JsonObject
    revision: JsonObject
    subject: JsonObject
    run: JsonObject
    declared: JsonObject
    methods: tuple[str, ...] | None
    custom: tuple[str, ...]
    seconds: float
    invalid: bool
    """The kit failed somewhere in the run, so nothing in it certifies anybody."""
    verdict: Verdict
    exit_code: int
    reasons: tuple[str, ...]
    """Why the run is not certified, one sentence each."""
    profiles: tuple[ProfileResult, ...]
    capabilities: tuple[CapabilityResult, ...]
    pair: PairRule | None
    requirements: tuple[RequirementResult, ...]
    checks: tuple[CheckResult, ...]
    coverage: Coverage
    leases: LeaseBalance
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    baseline: BaselineUse | None
    events: int
    digest: str
    """Of every line of the stream before its footer."""

    def __post_init__(self) -> None:
        certified = self.verdict is Verdict.CERTIFIED
        excused = self.baseline is not None and any(each.use is Use.USED for each in self.baseline.entries)
        if certified != (self.exit_code == ExitCode.CERTIFIED) and (certified or not excused):
            raise KitError(f"Verdict `{self.verdict}` and exit code {self.exit_code} contradict each other.")
        if certified and (self.invalid or self.custom):
            raise KitError("An invalid or custom run was certified.")

    def selected(self) -> tuple[ProfileResult, ...]:
        """List the profiles that the run was asked for."""
        return tuple(each for each in self.profiles if each.selected)

    def counts(self) -> dict[State, int]:
        """Count the checks by state, worst state first; states that do not occur are left out."""
        of = {state: sum(1 for each in self.checks if each.state is state) for state in SEVERITY}
        return {state: count for state, count in of.items() if count}


def text_of(values: JsonObject, key: str, default: str = "") -> str:
    """Read one text, cleaned, of a part that is passed through as the stream has it."""
    value: Json = values.get(key)
    return clean(value) if isinstance(value, str) else default
