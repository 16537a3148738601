"""JUnit, CTRF, the job summary and the pictures: well formed, honest about what nobody decided, deaf to mark-up."""

import io
import json
import re
from pathlib import Path
from typing import Protocol, cast
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft7Validator
from PIL import Image

from conformance.model import State
from conformance.reports import ctrf, junit, markdown
from conformance.reports.badge import badges
from conformance.reports.badge_png import png
from conformance.reports.outcome import Outcome, outcome_of
from tests.npm import installed

from .builder import NAMES, Script, bad_run, good_run
from .hostile import FORBIDDEN, HUGE, hostile_run

SCRIPTS = [good_run(), bad_run(), hostile_run(), Script()]
IDS = ["good", "bad", "hostile", "empty"]
UNDECIDED = [
    State.KIT_ERROR,
    State.ENV_ERROR,
    State.OVER_BUDGET,
    State.INCONCLUSIVE,
    State.UNSTABLE,
    State.UNEXPECTED_PASS,
]


class Validator(Protocol):
    """What we use of jsonschema, whose own types are not complete."""

    def validate(self, instance: object) -> None: ...


def cases(script: Script) -> list[ET.Element]:
    return list(ET.fromstring(junit.render(script.report())).iter("testcase"))  # noqa: S314 our own document


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_junit_is_xml_whose_totals_are_those_of_its_cases(script: Script) -> None:
    text = junit.render(script.report())
    root = ET.fromstring(text)  # noqa: S314 our own document
    assert not [each for each in FORBIDDEN if each in text]
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(root.attrib[key]) == len(list(root.iter(tag)))
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase")))


@pytest.mark.parametrize("state", UNDECIDED)
def test_what_nobody_decided_is_an_error_with_its_reason_in_the_message(state: State) -> None:
    script = Script().check("MAN-001", state, reason="The network was gone.")
    case = cases(script)[-1]
    error = case.find("error")
    assert error is not None
    assert error.attrib["type"] == state
    assert error.attrib["message"] == f"{state}: The network was gone."


def test_a_failure_tells_its_story_and_who_is_to_blame() -> None:
    failure = next(each for case in cases(bad_run()) for each in case.iter("failure") if each.text)
    assert failure.attrib["message"] == "fail (blame: provider): The worker resumed a lease that it had destroyed."
    assert re.findall(r"^([a-z ]+):", str(failure.text), re.MULTILINE) == [
        "sent",
        "expected",
        "observed",
        "to do",
        "replay",
    ]


def test_a_run_without_checks_is_not_green() -> None:
    assert [[each.tag for each in case] for case in cases(Script())] == [["error"]] * 3


def test_every_state_has_an_outcome_and_none_that_hides_a_failure() -> None:
    passed = {state for state in State if outcome_of(state) is Outcome.PASSED}
    assert passed == {State.PASS, State.WARN}


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_ctrf_fits_the_schema_that_its_own_package_ships(script: Script) -> None:
    package = installed(Path(__file__).parent / "judges") / "node_modules" / "ctrf" / "dist"
    schema = cast("dict[str, object]", json.loads((package / "ctrf-schema-0.0.json").read_bytes()))
    document = json.loads(ctrf.render(script.report()))
    cast("Validator", Draft7Validator(schema)).validate(document)
    summary = document["results"]["summary"]
    assert summary["tests"] == sum(summary[word] for word in ("passed", "failed", "skipped", "pending", "other"))


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_the_job_summary_is_small_and_only_our_own_mark_up_is_in_it(script: Script) -> None:
    text = markdown.render(script.report())
    assert len(text.encode()) <= markdown.SIZE_LIMIT
    assert set(re.findall(r"</?[a-z]+", text)) <= {
        f"{start}{tag}" for start in ("<", "</") for tag in ("code", "b", "details", "summary")
    }
    assert not re.search(r"[@\[\]`!]|://|www\.|javascript:", text.replace("| ! ", "").replace("## ! ", ""))
    assert not [each for each in FORBIDDEN if each in text]


def test_a_job_summary_of_endless_rows_is_cut_at_the_end_of_a_line() -> None:
    script = Script()
    script.top["capabilities"] = {
        f"{number}{HUGE[:250]}": {"prerequisites": [], "opt_in": False} for number in range(3_000)
    }
    text = markdown.render(script.report())
    assert 900_000 < len(text.encode()) <= markdown.SIZE_LIMIT
    assert text.endswith("|\n")


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_a_png_is_a_picture_of_the_same_badge(script: Script) -> None:
    for each in badges(script.report()):
        data = png(each)
        picture = Image.open(io.BytesIO(data))
        assert picture.height == 40
        assert 80 < picture.width < 4_000
        assert picture.info["Title"] == f"{each.label}: {each.message}"
        assert data == png(each)
        colours = picture.convert("RGB").getcolors(100_000)
        assert colours is not None
        assert len(colours) > 20


def test_the_summary_names_every_finding() -> None:
    script = Script()
    for key in NAMES:
        script.check(key, State.FAIL)
    text = markdown.render(script.report())
    assert "### Findings: 7" in text
    assert all(text.count(f"| <code>{key}</code> |") == 1 for key in NAMES)
