"""A provider without the sync methods is a whole provider: the host has another way, and nothing is held against it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from conformance.model import ExitCode, State, Verdict, Word

from .lenient import LENIENT
from .running import run_pytest

COMMAND = (sys.executable, str(LENIENT), "NoSync")

ABOUT_FILES = "CAP-00 or FALL-00 or SYNC-0"


def test_a_provider_without_sync_is_certified_in_core_and_sync_is_absent(long: bool, tmp_path: Path) -> None:  # noqa: FBT001
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(subprocess.run([*COMMAND, "--manifest"], check=True, capture_output=True).stdout)
    choice = () if long else ("-k", ABOUT_FILES)

    run = run_pytest(
        tmp_path,
        *("--provider", f"cmd:{shlex.join(COMMAND)}", "--provider-manifest", str(manifest)),
        *("--provider-profile", "core", *choice),
    )

    assert run.code == (ExitCode.CERTIFIED if long else ExitCode.INCOMPLETE), run.output
    report: Any = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
    verdicts = {profile["name"]: profile["verdict"] for profile in report["profiles"]}
    words = {capability["key"]: capability["word"] for capability in report["capabilities"]}
    states = {(check["id"], check["state"]) for check in report["checks"]}
    assert verdicts["core"] == (Verdict.CERTIFIED if long else Verdict.INCOMPLETE)
    assert {words["nativeSyncIn"], words["nativeSyncOut"]} == {Word.ABSENT}
    assert {state for number, state in states if number.startswith("SYNC")} <= {State.UNSUPPORTED, State.NOT_APPLICABLE}
    assert {state for number, state in states if number.startswith("FALL")} == {State.PASS}
    assert report["pair_rule"] == {"keys": ["nativeSyncIn", "nativeSyncOut"], "holds": True}
    assert run.leftovers == []
