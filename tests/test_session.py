"""The plugin in real pytest runs: from any directory, in any project, the same verdict; and nothing left behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .running import environment_for, hear_interrupts, processes_of, run_pytest

# A few rules that together touch the package, the worker, a lease and a command.
SOME = "MAN-001 or INIT-001 or LEASE-001 or LEASE-014"


def verdicts(folder: Path) -> dict[tuple[str, str], str]:
    """State of every check in a report, by requirement and name."""
    document: Any = json.loads((folder / "certification.json").read_text(encoding="utf-8"))
    return {(check["id"], check["name"]): check["state"] for check in document["checks"]}


def test_the_reference_is_certified_from_an_empty_directory(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference")

    assert run.code == 0, run.output
    assert "CERTIFIED" in run.output
    document: Any = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
    assert {check["state"] for check in document["checks"]} <= {"pass", "not-applicable"}
    claimed = {
        "core",
        "reusable-leases",
        "native-sync",
        "persistent-sessions",
        "independent-control",
        "incremental-output",
    }
    certified = {profile["name"] for profile in document["profiles"] if profile["verdict"] == "certified"}
    assert certified >= claimed & {profile["name"] for profile in document["profiles"]}
    assert document["leases"]["opened"] == document["leases"]["closed"] > 0
    assert document["leases"]["unknown"] == 0
    assert run.leftovers == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "asyncio_mode=strict"),
        ("-o", "asyncio_mode=auto"),
        ("-o", "python_files=check_*.py", "-o", "python_functions=verify_*"),
        ("-o", "python_files=*.py", "-o", "python_functions=*"),
        ("--import-mode=importlib",),
        ("-o", "filterwarnings=error"),
        ("-W", "error"),
        ("-p", "no:cacheprovider"),
        ("-n", "2"),
        ("-o", "addopts=--strict-markers --strict-config"),
        ("-o", "asyncio_default_fixture_loop_scope=module", "-o", "asyncio_default_test_loop_scope=class"),
    ],
    ids=" ".join,
)
def test_a_host_project_cannot_change_a_verdict(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "-k", SOME, *arguments)

    assert run.code == 20, run.output
    states = verdicts(run.report)
    assert {number for number, _ in states} == {"MAN-001", "INIT-001", "LEASE-001", "LEASE-014"}
    assert set(states.values()) == {"pass"}
    assert "Warning" not in run.output
    assert run.leftovers == []


def test_the_kit_works_where_pytest_xdist_is_not_installed(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "-p", "no:xdist", "--provider", "reference", "-k", SOME)

    assert run.code == 20, run.output
    assert set(verdicts(run.report).values()) == {"pass"}
    assert run.leftovers == []


def test_without_a_provider_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_it():\n    pass\n", encoding="utf-8")

    run = run_pytest(tmp_path, "-p", "no:cacheprovider")

    assert run.code == 0
    assert "1 passed" in run.output
    assert not run.report.exists()


def test_paths_that_are_given_are_what_pytest_collects(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_it():\n    pass\n", encoding="utf-8")

    run = run_pytest(tmp_path, "--provider", "reference", "test_other.py")

    assert "1 passed" in run.output
    assert run.code == 21
    assert "NOT" in run.output or "INCOMPLETE" in run.output


def test_a_filter_that_matches_nothing_is_not_green(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "-k", "no-such-check")

    assert run.code == 5


def test_a_run_with_a_filter_certifies_nothing(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "-k", "LEASE-001")

    assert run.code == 20
    assert "-k LEASE-001" in (run.report / "certification.json").read_text(encoding="utf-8")


def test_a_mutant_ends_with_exit_code_1_and_a_clear_first_screen(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "mutant:destroyed-lease-comes-back", "-k", "LEASE-028")

    assert run.code == 1
    for told in ("FAILED", "LEASE-028", "expected", "observed", "provider", "provider-conformance explain LEASE-028"):
        assert told in run.output
    assert "Traceback" not in run.output


def test_junit_tells_the_reason(tmp_path: Path) -> None:
    run = run_pytest(
        tmp_path, "--provider", "mutant:destroyed-lease-comes-back", "-k", "LEASE-028", "--junitxml=junit.xml"
    )

    assert run.code == 1
    assert "hands out no sandbox" in (tmp_path / "junit.xml").read_text(encoding="utf-8")


def test_the_report_folder_can_be_chosen(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "-k", "MAN-001", "--report-dir", "elsewhere/here")

    assert (tmp_path / "elsewhere" / "here" / "events.jsonl").is_file()
    assert not run.report.exists()


def test_collecting_only_starts_nothing(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "--collect-only", "-q")

    assert run.code == 0
    assert "[LEASE-028]" in run.output
    assert not run.report.exists()
    assert run.leftovers == []


def test_the_same_seed_sends_the_same_identifiers(tmp_path: Path) -> None:
    sent: list[list[str]] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run = run_pytest(tmp_path / name, "--provider", "reference", "-k", "LEASE-001", "--conformance-seed", "7")
        lines = [json.loads(line) for line in (run.report / "transcript.jsonl").read_text().splitlines()]
        sent.append(
            [
                line["msg"]["params"]["runId"]
                for line in lines
                if line.get("msg", {}).get("method") == "environmentAcquireLease"
            ]
        )

    assert sent[0] == sent[1] != []


def test_an_interrupt_closes_leases_and_ends_workers(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--provider", "reference", "-v"],
        cwd=tmp_path,
        env=environment_for(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=hear_interrupts,  # noqa: PLW1509 - it only resets a signal
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "LEASE" in line:
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)

    assert process.returncode == 2, output
    assert processes_of(tmp_path) == []
    assert sorted(path.name for path in (tmp_path / "tmp").iterdir()) == []
    opened, closed = set[str](), set[str]()
    for line in (tmp_path / "conformance-report" / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == "lease-open":
            opened.add(event["lease"])
        if event["event"] == "lease-close" and event["how"] != "unknown":
            closed.add(event["lease"])
    assert opened == closed
