"""`replay` runs one check of a report again and compares; its script is what a worker was told, line by line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.collection import load_checks
from conformance.model import State
from conformance.reports.again import Outcome, Turn, compare
from tests.running import run_pytest

UNKNOWN = "resuming_an_unknown_lease_makes_no_sandbox"
MANIFEST = "the_manifest_is_found_and_is_an_object"
MUTANT = "destroyed-lease-comes-back"
NOISY = "log-in-latin-one"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a real run on a provider that breaks LEASE-028, with a seed, a config and a limit of its own."""
    folder = tmp_path_factory.mktemp("broken")
    more = ("--conformance-seed", "11", "--provider-config", '{"delayMs": 1}', "--provider-limit", "lease=90")
    done = run_pytest(folder, "--provider", f"mutant:{MUTANT}", "-k", f"{UNKNOWN} or {MANIFEST}", *more)
    assert done.code == 1, done.output
    assert f"provider-conformance replay conformance-report {UNKNOWN}" in done.output
    return done.report


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, on either stream: one line."""
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert text.count("\n") == 1, text
    return text


def test_a_mutant_still_fails_and_its_repaired_form_is_fixed(
    broken: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(broken), UNKNOWN, "--report-dir", str(here / "again")]) == 1
    assert ": still failing. Expected resume answers with providerLeaseId null" in told(capsys)

    before, after = (json.loads((each / "certification.json").read_text()) for each in (broken, here / "again"))
    for key in ("seed", "config", "config_digest", "limits"):
        assert before["run"][key] == after["run"][key], key
    assert before["run"]["config"] == {"delayMs": 1}
    assert [check["name"] for check in after["checks"]] == [UNKNOWN]
    assert _sent(broken) & _sent(here / "again"), "the same seed sends the same identifiers"

    assert (
        main(["replay", str(broken), "lease-028", "--provider", "reference", "--with=--provider-limit=lease=80"]) == 0
    )
    assert told(capsys) == (
        "LEASE-028 resuming an unknown lease makes no sandbox: fixed, it failed in the report and passes now.\n"
    )
    assert main(["replay", str(broken / "certification.json"), MANIFEST, "--provider-config", '{"delayMs": 2}']) == 0
    assert told(capsys).endswith(": as recorded, passes now. (with another config)\n")


def _sent(report: Path) -> set[str]:
    lines = [json.loads(line) for line in (report / "transcript.jsonl").read_text().splitlines()]
    params: list[Any] = [line["msg"].get("params", {}) for line in lines if line["dir"] == "host->worker"]
    return {each["runId"] for each in params if "runId" in each}


def test_what_only_the_wire_saw_is_looked_for_by_the_check_that_was_running(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = run_pytest(here, "--provider", f"mutant:{NOISY}", "-k", UNKNOWN)
    assert done.code == 1, done.output
    assert main(["replay", str(done.report), "RPC-001"]) == 1
    assert told(capsys).startswith("RPC-001 seen on the wire: still failing.")


def test_the_script_can_be_fed_to_a_worker_by_hand(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(broken), UNKNOWN, "--script"]) == 0
    script = capsys.readouterr()
    lines = [json.loads(line) for line in script.out.splitlines()]
    assert lines[0]["method"] == "initialize"
    assert script.err.startswith("Put the values of these secrets in place of [redacted:NAME]: token.\n")
    assert "Lease ids of that run" in script.err

    resume = next(line["id"] for line in lines if line.get("method") == "environmentResumeLease")
    made, none = (_fed(name, script.out, resume) for name in (f"mutants {MUTANT}", "reference"))
    assert made["result"]["providerLeaseId"].startswith("ref-")
    assert none["result"]["providerLeaseId"] is None


def _fed(program: str, script: str, until: int) -> Any:
    """Pipe the lines to a worker, and give its answer to one of them."""
    module, *arguments = program.split()
    command = [sys.executable, "-P", "-m", f"conformance.fixtures.{module}", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(script)
        worker.stdin.flush()
        messages = (json.loads(line) for line in worker.stdout)
        answer = next(each for each in messages if each.get("id") == until and "method" not in each)
        worker.stdin.close()
    return answer


def test_a_script_brings_along_the_lease_that_was_there_before(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--provider", "reference", "-k", "LEASE-001 or EXEC-001 or EXEC-002")
    assert done.code == 20, done.output
    document = json.loads((done.report / "certification.json").read_text())
    shared = [each for each in document["checks"] if each["span"]]
    shared.sort(key=lambda each: each["span"])
    last = shared[-1]
    out = subprocess.run(
        [sys.executable, "-P", "-m", "conformance.cli", "replay", str(done.report), last["name"], "--script"],
        capture_output=True,
        text=True,
        check=True,
    )
    methods = [json.loads(line).get("method") for line in out.stdout.splitlines()]
    assert methods[0] == "initialize"
    assert {"environmentAcquireLease", "environmentRealizeWorkspace"} <= set(methods)
    assert "environmentExecute" in methods


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["LEASE-28"], "The report has no check 'LEASE-28'. Did you mean LEASE-028?"),
        (["LEASE-028", "--provider", "./none"], "--provider './none': there is no such file or directory."),
        (["LEASE-028", "--report-dir", "."], "--report-dir names the report itself"),
        ([MANIFEST, "--script"], "spoke to no worker"),
        ([UNKNOWN, "--script", "--worker", "99"], "The check did not speak to worker 99."),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence_and_exit_code_4(
    broken: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(broken)
    before = sorted(broken.iterdir())
    assert main(["replay", ".", *arguments]) == 4
    assert sentence in told(capsys)
    assert sorted(broken.iterdir()) == before


def test_a_report_that_is_damaged_or_gone_is_refused(
    broken: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(here / "none"), "LEASE-028"]) == 4
    assert "No such file" in told(capsys)
    shutil.copytree(broken, here / "report")
    (here / "report" / "transcript.jsonl").unlink()
    assert main(["replay", "report", UNKNOWN, "--script"]) == 4
    assert "there is no transcript any more" in told(capsys)
    stream = here / "report" / "events.jsonl"
    stream.write_bytes(stream.read_bytes()[:-200])
    assert main(["replay", "report", UNKNOWN]) == 4
    assert "cut off" in told(capsys)


def _as(broken: Path, here: Path, part: str, **fields: Any) -> str:
    """Write a certification document that says something else, as a stranger could send one."""
    document = json.loads((broken / "certification.json").read_text())
    (document[part][-1] if part == "checks" else document[part]).update(fields)
    (here / "certification.json").write_text(json.dumps(document))
    return str(here / "certification.json")


@pytest.mark.parametrize(
    ("part", "fields", "sentence"),
    [
        ("subject", {"source": "cmd:touch owned"}, "name it again with --provider"),
        ("subject", {"source": "npm:evil@1.0.0"}, "name it again with --provider"),
        ("checks", {"name": "x or y"}, "This kit has no check 'x or y' to run again."),
        ("revision", {"id": "2031.1"}, "does not know the contract revision 2031.1"),
        ("run", {"config": {"key": "[redacted:key]"}}, "the config needs: key"),
    ],
)
def test_a_report_from_a_stranger_starts_no_program_of_its_choice(
    broken: Path, here: Path, capsys: pytest.CaptureFixture[str], part: str, fields: dict[str, Any], sentence: str
) -> None:
    path = _as(broken, here, part, **fields)
    assert main(["replay", path, fields.get("name", UNKNOWN)]) == 4
    assert sentence in told(capsys)
    assert [each.name for each in here.iterdir()] == ["certification.json"]


FAILS = Outcome(State.FAIL, "why", "it is so", 'a result: {"id": "lease-1", "code": 7}')


@pytest.mark.parametrize(
    ("before", "after", "turn", "code"),
    [
        (FAILS, Outcome(State.FAIL, "", "it is so", 'a result: {"id": "lease-22", "code": 8}'), Turn.STILL, 1),
        (FAILS, Outcome(State.FAIL, "", "it is so", "error -32603: boom"), Turn.DIFFERENT, 1),
        (FAILS, Outcome(State.FAIL, "", "it is otherwise", FAILS.observed), Turn.DIFFERENT, 1),
        (Outcome(State.FAIL, "", "x", "error -32603"), Outcome(State.FAIL, "", "x", "error -32004"), Turn.DIFFERENT, 1),
        (
            Outcome(State.FAIL, "", "x", '{"at": "/tmp/longer/1", "a": true, "b": {"c": null, "d": nu… (9 more)'),
            Outcome(State.FAIL, "", "x", '{"at": "/tmp/2", "a": true, "b": {"c": null, "d": null, "… (2 more)'),
            Turn.STILL,
            1,
        ),
        (FAILS, Outcome(State.PASS), Turn.FIXED, 0),
        (FAILS, Outcome(None), Turn.FIXED, 0),
        (FAILS, Outcome(State.UNSUPPORTED), Turn.DIFFERENT, 21),
        (FAILS, Outcome(State.INCONCLUSIVE), Turn.DIFFERENT, 20),
        (FAILS, Outcome(State.BLOCKED), Turn.DIFFERENT, 20),
        (FAILS, Outcome(State.ENV_ERROR), Turn.DIFFERENT, 23),
        (FAILS, Outcome(State.KIT_ERROR), Turn.DIFFERENT, 24),
        (FAILS, Outcome(State.OVER_BUDGET), Turn.DIFFERENT, 22),
        (Outcome(State.WARN, "", "x", "y"), Outcome(State.WARN, "", "x", "y"), Turn.STILL, 1),
        (Outcome(State.KIT_ERROR, "boom"), Outcome(State.KIT_ERROR, "boom"), Turn.STILL, 24),
        (Outcome(State.PASS, "", "x", "1"), Outcome(State.PASS, "", "x", "two"), Turn.AS_RECORDED, 0),
        (Outcome(State.UNSUPPORTED), Outcome(State.UNSUPPORTED), Turn.AS_RECORDED, 0),
        (Outcome(State.UNSUPPORTED), Outcome(State.PASS), Turn.DIFFERENT, 0),
        (Outcome(State.PASS), FAILS, Turn.DIFFERENT, 1),
    ],
)
def test_two_looks_are_compared_by_what_was_seen(before: Outcome, after: Outcome, turn: Turn, code: int) -> None:
    found = compare("LEASE-028", before, after)
    assert (found.turn, found.code) == (turn, code)
    assert found.sentence.startswith(f"LEASE-028: {turn}")


def test_no_name_of_a_check_is_part_of_another() -> None:
    # `-k NAME` is how one check is run alone.
    names = [check.name for check in load_checks()]
    assert [(one, other) for one in names for other in names if one != other and one in other] == []
