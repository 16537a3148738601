"""The words everything else is made of: states, verdicts, blame, levels, costs and identifiers.

Every closed set of the design is an enum here, so that a word is spelled once and each `match` over it is
checked to the end. Nothing in this module reads the world.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NewType, TypeAlias, cast

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Any JSON value as it was read from outside: untyped until the contract has checked it."""

JsonObject: TypeAlias = Mapping[str, "Json"]

RequirementId = NewType("RequirementId", str)
"""Stable id of one obligation, such as ``LEASE-028``; never reused."""

CapabilityKey = NewType("CapabilityKey", str)
"""Key of `sandboxCapabilities`, such as ``nativeSyncIn``."""

MethodName = NewType("MethodName", str)
"""Name of a JSON-RPC method, such as ``environmentExecute``."""

LeaseId = NewType("LeaseId", str)
"""The provider's handle of a sandbox (`providerLeaseId`): opaque, compared exactly."""

FrameNumber = NewType("FrameNumber", int)
"""Number of one line of the transcript, unique in a run."""


class Level(StrEnum):
    """How strongly the contract asks. Only a broken MUST fails a provider."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Cost(StrEnum):
    """What a check costs on a backend that bills; checks run in this order."""

    FREE = "free"
    SHARED = "shared"
    OWN = "own"
    MANY = "many"
    LONG = "long"


class State(StrEnum):
    """What became of one check. One word each, none overlapping."""

    PASS = "pass"  # noqa: S105 - a word, not a password
    FAIL = "fail"
    WARN = "warn"
    UNSUPPORTED = "unsupported"
    NOT_APPLICABLE = "not-applicable"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"
    UNSTABLE = "unstable"
    EXPECTED_FAIL = "expected-fail"
    UNEXPECTED_PASS = "unexpected-pass"  # noqa: S105 - same
    KIT_ERROR = "kit-error"
    ENV_ERROR = "env-error"
    OVER_BUDGET = "over-budget"


class Blame(StrEnum):
    """Who has to act on a finding. Only `provider` lowers a verdict; `kit` makes the run invalid."""

    PROVIDER = "provider"
    ENVIRONMENT = "environment"
    KIT = "kit"
    CONTRACT = "contract"


class Verdict(StrEnum):
    """What a profile, or a whole run, amounts to. `unsupported`: the provider does not claim the profile."""

    CERTIFIED = "certified"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    CUSTOM_RUN = "custom run"
    UNSUPPORTED = "unsupported"


class Word(StrEnum):
    """The verdict on one capability, from its three sets: declared, advertised, demonstrated."""

    CERTIFIED = "certified"
    BROKEN_PROMISE = "broken promise"
    HOLLOW_PROMISE = "hollow promise"
    CERTIFIED_BY_DISCOVERY = "certified by discovery"
    BROKEN = "broken"
    NOT_CLAIMED = "not claimed"
    DECLINED = "declined"
    ABSENT = "absent"
    UNPROVEN = "unproven"


class Situation(StrEnum):
    """The situations for which the contract names a narrowing, and the plain one."""

    PLAIN = "plain"
    EPHEMERAL_LEASE = "ephemeral-lease"
    REUSABLE_LEASE = "reusable-lease"
    JOB_LEASE = "job-lease"
    NATIVE_SYNC_UNSUPPORTED = "native-sync-unsupported"
    CONFIG_FAILURE = "config-failure"
    IDENTITY_FAILURE = "identity-failure"


class ExitCode:
    """Exit codes of a run. 1 to 5 are pytest's own."""

    CERTIFIED = 0
    FAILED = 1
    INTERRUPTED = 2
    USAGE = 4
    NOTHING_COLLECTED = 5
    INCOMPLETE = 20
    NOTHING_VERIFIED = 21
    BUDGET = 22
    ENVIRONMENT = 23
    KIT = 24


def object_of(value: object) -> JsonObject:
    """The value as a JSON object; an empty one when it is anything else."""
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def items_of(value: object) -> list[Json]:
    """The items of a JSON array; none when it is anything else."""
    return list(cast("list[Json]", value)) if isinstance(value, list | tuple) else []
