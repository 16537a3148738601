"""The marks and traps of the security checks: no search finds itself, any shell springs a trap, nobody else is hit."""

import os
import subprocess
from pathlib import Path

import pytest

from conformance.canaries import Injections, pattern
from conformance.hostile import hostile_ids

SHELL_LINES = ("echo {}", "echo '{}'", 'echo "{}"', "cd /tmp/{}", "true --label={} --more")


def test_a_pattern_finds_its_mark_and_not_itself() -> None:
    found = [
        subprocess.run(["grep", "-c", pattern("kit-1")], input=text, capture_output=True, text=True, check=False)
        for text in ("x kit-1 y", pattern("kit-1"))
    ]

    assert [run.stdout.strip() for run in found] == ["1", "0"]


@pytest.mark.parametrize("line", SHELL_LINES)
def test_in_any_line_of_a_shell_a_trap_is_sprung(tmp_path: Path, line: str) -> None:
    traps = Injections(tmp_path)

    for text in traps.of("field"):
        subprocess.run(["sh", "-c", line.format(text)], check=False, capture_output=True)

    assert traps.files()


def test_without_a_shell_no_trap_is_sprung(tmp_path: Path) -> None:
    traps = Injections(tmp_path)

    for text in traps.of("field"):
        subprocess.run(["true", text], check=True, cwd=tmp_path)

    assert traps.files() == []


def test_no_hostile_id_reaches_what_is_not_the_kits_own(tmp_path: Path) -> None:
    known, canary = "sandbox-1", tmp_path / "canary"
    for number in hostile_ids(known, canary, Injections(tmp_path)):
        for root in ("/", "/var/lib/sandboxes", "/a/b/c/d"):
            reached = os.path.normpath(f"{root}/{number}")
            assert known in reached or reached.startswith(str(tmp_path)) or str(tmp_path) in number, number
        assert "*" not in number
