"""The command `provider-conformance`."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main

from .running import run_module


def out(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_list_json_has_every_rule_with_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0

    rows: list[dict[str, Any]] = json.loads(out(capsys))
    assert len(rows) == 260
    fields = {"id", "level", "area", "since", "until", "profile", "checks", "mutants", "not_observable"}
    assert all(fields <= set(row) for row in rows)
    by_id = {row["id"]: row for row in rows}
    assert "destroyed-lease-comes-back" in by_id["LEASE-028"]["mutants"]
    assert "resuming_a_destroyed_lease_brings_no_sandbox_back" in by_id["LEASE-028"]["checks"]
    assert by_id["CFG-004"]["until"] == "2026.831"


def test_list_can_be_narrowed_to_an_area(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--area", "workspace"]) == 0

    assert {line.split("-")[0] for line in out(capsys).splitlines()} == {"WS"}


@pytest.mark.parametrize("number", ["LEASE-028", "lease-028"])
def test_explain_tells_rule_reason_check_and_mutant(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", number]) == 0

    page = out(capsys)
    for told in ("Rule", "Why", "Source", "Check", "Usually", "Mutant", "pytest --provider mutant:"):
        assert told in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explain", "LEESE-028"], "Did you mean LEASE-028?"),
        (["explain", "nonsense"], "provider-conformance list"),
        (["list", "--area", "leases"], "Did you mean 'lease'?"),
        (["list", "--contract", "2026.842"], "2026.824"),
        (["report", "nowhere.jsonl"], "no such file"),
    ],
)
def test_bad_input_is_a_usage_error_with_a_hint(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 4

    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_report_rebuilds_what_the_run_wrote(tmp_path: Path) -> None:
    run = run_module(tmp_path, "pytest", "--provider", "reference", "-k", "MAN-001 or LEASE-001")
    first = {path.name: path.read_bytes() for path in run.report.iterdir() if path.suffix != ".jsonl"}

    again = run_module(tmp_path, "conformance.cli", "report", "conformance-report/events.jsonl", "--to", "again")

    assert again.code == run.code == 20, again.output
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first
    assert "INCOMPLETE" in again.output


@pytest.mark.parametrize("harm", ["truncated", "edited"])
def test_a_damaged_stream_gives_no_verdict(tmp_path: Path, harm: str) -> None:
    run = run_module(tmp_path, "pytest", "--provider", "reference", "-k", "MAN-001")
    stream = run.report / "events.jsonl"
    lines = stream.read_bytes().splitlines(keepends=True)
    harmed = lines[:-1] if harm == "truncated" else [line.replace(b'"pass"', b'"fail"') for line in lines]
    stream.write_bytes(b"".join(harmed))

    again = run_module(tmp_path, "conformance.cli", "report", "conformance-report/events.jsonl")

    assert again.code == 4
    assert "Traceback" not in again.output
    assert len(again.output.splitlines()) == 1


def test_run_is_pytest_with_the_provider(tmp_path: Path) -> None:
    run = run_module(tmp_path, "conformance.cli", "run", "reference", "-k", "MAN-001", "-q")

    assert run.code == 20
    assert (run.report / "certification.json").is_file()


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["run", "--help"], ["list", "--help"], ["explain", "--help"], ["report", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        assert "examples:" in out(capsys)
