"""Two reports side by side: what got worse is never lost among what changed."""

import json
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.model import State
from conformance.reports import certification
from conformance.reports.diff import Kind, Turn, compare
from conformance.reports.fields import Fields
from conformance.reports.write import write_all

from .builder import NAMES, Script, bad_run, good_run


def document(script: Script) -> Fields:
    value = certification.document(script.report())
    assert isinstance(value, dict)
    return Fields(value, "test")


def turned(before: State, after: State) -> tuple[Turn, bool]:
    old, new = (document(Script().check("MAN-001", state)) for state in (before, after))
    change = next(each for each in compare(old, new).changes if each.kind is Kind.CHECK)
    return change.turn, change.regression


@pytest.mark.parametrize(
    ("before", "after", "turn", "regression"),
    [
        (State.PASS, State.FAIL, Turn.WORSE, True),
        (State.PASS, State.WARN, Turn.WORSE, True),
        (State.PASS, State.INCONCLUSIVE, Turn.WORSE, True),
        (State.PASS, State.UNSUPPORTED, Turn.WORSE, True),
        (State.UNSUPPORTED, State.FAIL, Turn.WORSE, True),
        (State.FAIL, State.PASS, Turn.BETTER, False),
        (State.FAIL, State.UNSUPPORTED, Turn.BETTER, False),
        (State.ENV_ERROR, State.KIT_ERROR, Turn.OTHER, False),
        (State.FAIL, State.EXPECTED_FAIL, Turn.OTHER, False),
    ],
)
def test_states_are_graded(before: State, after: State, turn: Turn, regression: bool) -> None:  # noqa: FBT001 a column
    assert turned(before, after) == (turn, regression)


def test_every_pair_of_states_can_be_compared() -> None:
    for before in State:
        for after in State:
            if after is not before:
                assert turned(before, after)[0] in {Turn.WORSE, Turn.BETTER, Turn.OTHER}


def test_what_is_left_out_is_a_regression_unless_the_kit_no_longer_has_it() -> None:
    old, less = document(good_run()), document(Script().checks(State.PASS, *list(NAMES)[:3]))
    gone = [each for each in compare(old, less).changes if each.turn is Turn.GONE]
    assert [each.regression for each in gone] == [True] * 4
    script = Script().checks(State.PASS, *list(NAMES)[:3])
    script.top["kit"] = {"name": "kit", "version": "0.2.0", "digest": "d", "checks_digest": "other"}
    difference = compare(old, document(script))
    assert not [each for each in difference.changes if each.turn is Turn.GONE and each.regression]
    assert difference.unlike[:2] == ("kit: 0.1.0 -> 0.2.0", "check set: c -> other")


def test_a_report_has_no_difference_to_itself() -> None:
    assert compare(document(bad_run()), document(bad_run())).changes == ()


def test_the_command_puts_regressions_first_and_into_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, script in (("old", good_run()), ("new", bad_run())):
        script.write(tmp_path / name / "events.jsonl")
        write_all(tmp_path / name / "events.jsonl", tmp_path / name)
    old, new = str(tmp_path / "old"), str(tmp_path / "new" / "certification.json")
    assert main(["diff", old, new]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "7 regressions, 8 changes"
    assert lines[1].split() == ["!", "worse", "profile", "reusable-leases:", "certified", "->", "failed"]
    assert main(["diff", new, old]) == 0
    assert main(["diff", old, old]) == 0
    capsys.readouterr()
    assert main(["diff", old, new, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["regressions"] == 7


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "other"}', "[" * 100_000, "\xff"])
def test_what_is_no_report_is_a_usage_error(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "certification.json"
    file.write_text(text)
    assert main(["diff", str(file), str(tmp_path)]) == 4
    assert "Give a report folder" in capsys.readouterr().err
