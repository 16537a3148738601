"""A promise without the methods behind it ends a run, and is named in the report."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.fixtures.reference.manifest import manifest
from conformance.model import ExitCode, State, Word
from conformance.suites.capabilities import UNSUPPORTED
from tests.kill import judge_provider

from .lenient import states_of

RUN_LIMIT_S = 120

WITHOUT = """\
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider

class Provider(ReferenceProvider):
    withheld = frozenset({{"{method}"}})

launch(Provider, [])
"""


def run_without(method: str, folder: Path, choice: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run the checks of `choice` on a worker that lacks a method; gives the run and its report."""
    (folder / "worker.py").write_text(WITHOUT.format(method=method), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest()), encoding="utf-8")
    run = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", choice),
            *("--provider", f"cmd:{sys.executable} worker.py", "--provider-manifest", "manifest.json"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    return run, json.loads((folder / "conformance-report" / "certification.json").read_text(encoding="utf-8"))


def test_reuse_over_a_worker_without_destroy_is_a_hollow_promise_and_the_run_fails(tmp_path: Path) -> None:
    run, report = run_without("environmentDestroyLease", tmp_path, "CAP-001")

    words = {capability["key"]: capability["word"] for capability in report["capabilities"]}
    assert run.returncode == ExitCode.FAILED, run.stdout
    assert words["reusableLeases"] == Word.HOLLOW_PROMISE
    assert "environmentDestroyLease" in run.stdout


@pytest.mark.parametrize("missing", ["environmentSyncIn", "environmentSyncOut"])
def test_one_direction_of_sync_fails_and_every_report_says_that_the_host_uses_neither(
    missing: str, tmp_path: Path
) -> None:
    run, report = run_without(missing, tmp_path, "CAP-002 or SYNC-002 or SYNC-017")

    states = {(check["id"], check["state"]) for check in report["checks"]}
    told = "the host would use neither, and move files over commands in both directions"
    page = (tmp_path / "conformance-report" / "report.html").read_text(encoding="utf-8")
    assert run.returncode == ExitCode.FAILED, run.stdout
    assert ("CAP-002", State.FAIL) in states
    assert {state for number, state in states if number.startswith("SYNC")} <= {State.BLOCKED, State.FAIL}
    assert report["pair_rule"] == {"keys": ["nativeSyncIn", "nativeSyncOut"], "holds": False}
    assert told in " ".join(run.stdout.split())
    assert told in page


def test_what_stands_behind_a_hollow_promise_is_blocked_by_it() -> None:
    judged = asyncio.run(judge_provider("mutant:reuse-without-resume", ["CAP-001", "LEASE-028"]))

    states = {result.check.requirement: (result.state, result.blocked_by) for result in judged.results}
    assert states == {"CAP-001": (State.FAIL, None), "LEASE-028": (State.BLOCKED, "CAP-001")}


def test_leases_that_say_that_they_cannot_sync_may_refuse_it(tmp_path: Path) -> None:
    states = states_of("JobLeases", tmp_path, "CAP-008", "SYNC-002")

    assert states == {"CAP-008": {State.PASS}, "SYNC-002": {State.PASS}}


def test_where_no_lease_can_sync_nothing_is_said_about_it(tmp_path: Path) -> None:
    states = states_of("MarkedLeases", tmp_path, "CAP-008", "SYNC-002")

    assert states == {"CAP-008": {State.PASS}, "SYNC-002": {State.INCONCLUSIVE}}


@pytest.mark.parametrize(
    "text",
    [
        "native file sync is not supported by this backend",
        "unsupported operation",
        "Not implemented",
        "this sandbox does not support sync",
        "sync is not yet available here",
    ],
)
def test_texts_that_say_never(text: str) -> None:
    assert UNSUPPORTED.search(text)


@pytest.mark.parametrize("text", ["the file was not found", "service unavailable", "connection reset", "timed out"])
def test_texts_that_say_not_this_time(text: str) -> None:
    assert not UNSUPPORTED.search(text)
