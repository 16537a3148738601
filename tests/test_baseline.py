"""What an author expects to be broken: it softens the exit code, never the certification, and it cannot rot."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.baseline import read_baseline
from conformance.collection import load_checks
from conformance.errors import UsageFault

from .counting import counting
from .running import Finished, run_pytest

MUTANT = "mutant:destroyed-lease-comes-back"
BROKEN = "resuming_a_destroyed_lease_brings_no_sandbox_back"
LATER = (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=30)).isoformat()


def entry(**changes: str) -> str:
    """An entry of the broken check, as an author writes it; an empty change leaves a key out."""
    values = {
        "id": '"LEASE-028"',
        "check": f'"{BROKEN}"',
        "state": '"fail"',
        "reason": '"The backend <b>keeps</b> names for a minute."',
        "owner": '"sandbox team"',
        "link": '"https://example.com/issues/17"',
        "expires": LATER,
        **changes,
    }
    return "[[expected]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items() if value)


def run_with(folder: Path, text: str, *arguments: str, source: str = MUTANT, keyword: str = BROKEN) -> Finished:
    (folder / "known.toml").write_text(text, encoding="utf-8")
    return run_pytest(folder, "--provider", source, "--baseline", "known.toml", "-k", keyword, *arguments)


def document(run: Finished) -> Any:
    return json.loads((run.report / "certification.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("processes", [(), ("-n", "1")], ids=["alone", "parallel"])
def test_an_expected_failure_softens_the_exit_code_and_not_the_verdict(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    run = run_with(tmp_path, entry(), *processes)

    report = document(run)
    assert [check["state"] for check in report["checks"]] == ["expected-fail"]
    # The filter leaves the run incomplete; without the baseline it had ended with 1.
    assert (run.code, report["verdict"]) == (20, "failed")
    assert report["baseline"]["entries"][0]["use"] == "used"
    assert "1 used" in run.output
    page = (run.report / "report.html").read_text(encoding="utf-8")
    assert "sandbox team" in page
    assert "<b>keeps</b>" not in page
    assert "sandbox team" in (run.report / "summary.md").read_text(encoding="utf-8")


def test_an_entry_whose_check_passes_now_is_an_error(tmp_path: Path) -> None:
    run = run_with(tmp_path, entry(), source="reference")

    assert run.code == 1, run.output
    assert [check["state"] for check in document(run)["checks"]] == ["unexpected-pass"]
    assert "remove its entry" in run.output


def test_a_check_that_is_to_be_skipped_does_not_run(tmp_path: Path) -> None:
    run = run_with(tmp_path, entry(state='"skip"'))

    report = document(run)
    assert [check["state"] for check in report["checks"]] == ["skipped"]
    assert (report["leases"]["opened"], report["verdict"]) == (0, "incomplete")
    assert report["baseline"]["entries"][0]["use"] == "used"


def test_the_file_in_the_directory_of_the_run_is_found(tmp_path: Path) -> None:
    (tmp_path / "conformance-baseline.toml").write_text(entry(id='"LEASE-999"'), encoding="utf-8")

    run = run_pytest(tmp_path, *counting(tmp_path))

    assert run.code == 4
    assert "no rule with checks is called LEASE-999" in run.output


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (entry(id='"LEASE-28"'), "no rule with checks is called LEASE-28. Did you mean LEASE-028?"),
        (entry(check='"no_such_check"'), "LEASE-028 has no check 'no_such_check'."),
        (entry(check=""), "LEASE-028 has several checks; `check` says which."),
        (entry(state='"broken"'), "state must be fail, warn or skip, not 'broken'."),
        (entry(state='"warn"'), "is graded MUST, so it can only fail."),
        (entry(owner=""), "owner is missing."),
        (entry(expires='"2027-03-31"'), "expires must be a day."),
        (entry(expires="2020-01-31"), "has expired on 2020-01-31. Ask its owner, sandbox team,"),
        (entry(note='"x"'), "the key note is unknown."),
        (entry() + entry(), "stands there twice."),
        ("[[expect]]\n", "it holds nothing but entries, each written below [[expected]]."),
        ("expected = 1\n", "it holds nothing but entries"),
        ("expected = [1]\n", "entry 1 must be a table"),
        ("[[", "cannot be read"),
    ],
    ids=range(14),
)
def test_what_is_wrong_in_the_file_is_said(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "conformance-baseline.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageFault) as fault:
        read_baseline(path, load_checks(), dt.datetime.now(dt.UTC).date())

    assert sentence in fault.value.sentence()


def test_an_expired_entry_ends_the_run_before_it_starts(tmp_path: Path) -> None:
    run = run_with(tmp_path, entry(expires="2020-01-31"))

    assert run.code == 4
    assert "has expired on 2020-01-31" in run.output
    assert not run.report.exists()
