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

RUN_LIMIT_S = 120

NO_DESTROY = """\
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider

class Provider(ReferenceProvider):
    withheld = frozenset({"environmentDestroyLease"})

launch(Provider, [])
"""


def test_reuse_over_a_worker_without_destroy_is_a_hollow_promise_and_the_run_fails(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(NO_DESTROY, encoding="utf-8")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest()), encoding="utf-8")

    run = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "CAP-001"),
            *("--provider", f"cmd:{sys.executable} worker.py", "--provider-manifest", "manifest.json"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )

    report: Any = json.loads((tmp_path / "conformance-report" / "certification.json").read_text(encoding="utf-8"))
    words = {capability["key"]: capability["word"] for capability in report["capabilities"]}
    assert run.returncode == ExitCode.FAILED, run.stdout
    assert words["reusableLeases"] == Word.HOLLOW_PROMISE
    assert "environmentDestroyLease" in run.stdout


def test_what_stands_behind_a_hollow_promise_is_blocked_by_it() -> None:
    judged = asyncio.run(judge_provider("mutant:reuse-without-resume", ["CAP-001", "LEASE-028"]))

    states = {result.check.requirement: (result.state, result.blocked_by) for result in judged.results}
    assert states == {"CAP-001": (State.FAIL, None), "LEASE-028": (State.BLOCKED, "CAP-001")}


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
