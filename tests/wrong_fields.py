"""Judging a provider with one wrong value in one field of its results, by the checks that meet this field."""

import asyncio
import json
import shlex
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from conformance.contract import Contract, Problem
from conformance.model import MethodName, State
from conformance.reports.write import documents
from conformance.wire.message import read_message

from .kill import Judged, judge_provider
from .wrong_values import ABSENT, EXTRA, READ_BY_THE_HOST, VALUES, Case, put, sample_of

SCRIPT = Path(__file__).with_name("wrong_field_provider.py")

MEETING: Mapping[str, tuple[str, ...]] = {
    "initialize": ("INIT-00", "CFG-001", "CAP-00"),
    "health": ("RPC-008", "RPC-013"),
    "shutdown": ("LIFE-001", "LIFE-002"),
    "validateConfig": ("INIT-003", "RPC-019"),
    "configChanged": ("RPC-019", "CFG-011"),
    "environmentValidateConfig": ("CFG-00", "CFG-010"),
    "environmentProbe": ("PROBE-", "INIT-005"),
    "environmentAcquireLease": ("LEASE-00", "LEASE-011", "WS-001", "EXEC-002", "SEC-007"),
    "environmentResumeLease": ("LEASE-003", "LEASE-02", "LEASE-017"),
    "environmentReleaseLease": ("LEASE-012", "LEASE-013", "LEASE-014", "LEASE-015"),
    "environmentDestroyLease": ("LEASE-020", "LEASE-021", "LEASE-022", "LEASE-028"),
    "environmentRealizeWorkspace": ("WS-00",),
    "environmentExecute": ("EXEC-00", "EXEC-018", "EXEC-023", "EXEC-030", "FALL-002", "WS-002"),
    "environmentSyncIn": ("SYNC-002", "SYNC-015", "SYNC-022"),
    "environmentSyncOut": ("SYNC-015", "SYNC-017", "SYNC-019"),
}
"""Beginnings of the rules whose checks meet a method; those of setup and the login terminal meet the others."""

OTHERS = ("SETUP-", "PTY-", "INIT-003", "CAP-005")

BAD = frozenset({State.FAIL, State.WARN})
OURS = frozenset({State.KIT_ERROR, State.ENV_ERROR})

NAMING = ("INIT-001", "INIT-002", "CFG-001", "PROBE-001", "LEASE-001", "LEASE-003", "WS-001", "EXEC-001")
"""Rules about the shape of a result: a finding of theirs names the field."""

LIMITS = {"execute": 3.0, "bridge": 3.0}
"""Shorter than the host's, for whoever waits for an answer that nobody can read."""


def judge_case(case: Case, folder: Path) -> Judged:
    """Judge one case, with its manifest and its sandboxes in an empty folder."""
    command = (sys.executable, str(SCRIPT), json.dumps([case.method, case.path, case.value]))
    manifest = folder / "manifest.json"
    manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)
    rules = MEETING.get(case.method, OTHERS)
    return asyncio.run(
        judge_provider(
            f"cmd:{shlex.join(command)}",
            choose=lambda check: check.requirement.startswith(rules) and check.area != "rehearsal",
            config=json.dumps({"root": str(folder / "sandboxes")}),
            manifest=str(manifest),
            limits=LIMITS,
        )
    )


def errors_of(contract: Contract, case: Case) -> tuple[Problem, ...]:
    """What the contract has against a right result with this one value in it; none where the kit cannot read it."""
    literal = VALUES[case.value] or "null"
    line = f'{{"jsonrpc":"2.0","id":1,"result":{literal}}}'
    message, _ = read_message(line.encode())
    if message is None:
        return ()
    wrong = put(sample_of(contract, case.method), case, message.body["result"])
    found = contract.result_problems(MethodName(case.method), wrong)
    return tuple(problem for problem in found if problem.severity == "error")


def complaints(contract: Contract, case: Case, seen: Judged) -> list[str]:
    """What is wrong with the verdict on a case, in sentences; empty when it is right."""
    said = [
        f"{result.check.requirement} {result.check.name} is {result.state}: {result.reason}"
        for result in seen.results
        if result.state in OURS
    ]
    try:
        documents(seen.report)
    except Exception:  # noqa: BLE001 - whatever goes wrong here is what is looked for
        said.append(f"no report can be made: {traceback.format_exc(limit=-3)}")
    errors = errors_of(contract, case)
    if case.value in {ABSENT, EXTRA} and not errors and not _is_needed(case):
        said += [
            f"{result.check.requirement} {result.check.name} should not have been {result.state}: {result.observed}"
            for result in seen.results
            if result.state is State.FAIL
        ]
    broken = {str(problem.requirement) for problem in errors}
    return [*said, *(line for rule in NAMING if rule in broken for line in unnamed(case, seen, rule))]


def unnamed(case: Case, seen: Judged, rule: str) -> list[str]:
    """What a finding lacks that should name a field of `rule`, with what was expected and what came."""
    found = [result for result in seen.results if result.check.requirement == rule and result.state in BAD]
    if not found:
        blocked = any(result.state is State.BLOCKED for result in seen.results if result.check.requirement == rule)
        return [] if blocked else [f"{rule} was not found broken"]
    told = [f"{result.expected} {result.observed}" for result in found]
    return [] if any(case.field in text for text in told) else [f"{rule} does not name {case.field}: {told[0][:300]}"]


def _is_needed(case: Case) -> bool:
    """Whether a field that the schema leaves open is one that a lease cannot do without, by rules of its own."""
    return case.value == ABSENT and case.method in READ_BY_THE_HOST
