"""Every output of a stored run is what it was, and fits its published schema; hostile text comes through none."""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Protocol, cast
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from conformance.events import StreamError, read_events
from conformance.model import Json, State, Verdict
from conformance.reports import badge, certification
from conformance.reports.tally import tally
from conformance.reports.terminal import summary
from conformance.reports.write import OUTPUT_PATTERNS, write_all

from .builder import NAMES, Script, bad_run, good_run
from .hostile import FORBIDDEN, HOSTILE, MARKUP, hostile_run
from .store import DATA, RUNS, made

DOCS = Path(__file__).parents[2] / "docs" / "schemas"
SVG = "{http://www.w3.org/2000/svg}"
SCHEMAS = {"certification", "events", "badge-evidence", "registry-entry", "index"}


class Validator(Protocol):
    """What we use of jsonschema, whose own types are not complete."""

    def validate(self, instance: object) -> None: ...


def schema(name: str) -> dict[str, Json]:
    text = files("conformance.reports").joinpath("schemas", f"{name}.schema.json").read_text("utf-8")
    return cast("dict[str, Json]", json.loads(text))


def validator(name: str) -> Validator:
    document = schema(name)
    Draft202012Validator.check_schema(document)
    return cast("Validator", Draft202012Validator(document))


def every_text(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from every_text(each)
    elif isinstance(value, list):
        for each in value:
            yield from every_text(each)


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_gives_the_stored_outputs(tmp_path: Path, name: str) -> None:
    stored = DATA / name
    events = (stored / "events.jsonl").read_bytes()
    assert RUNS[name]().write(tmp_path / "events.jsonl").read_bytes() == events
    outputs = made(tmp_path / "events.jsonl")
    assert {each.name for each in stored.iterdir()} == {"events.jsonl", *outputs}
    for file, data in outputs.items():
        assert data == (stored / file).read_bytes(), (
            f"{file}: if the change is wanted, run python -m tests.reports.store"
        )


@pytest.mark.parametrize("name", RUNS)
def test_every_document_fits_its_schema_and_every_schema_has_a_document(name: str) -> None:
    for kind in ("certification", "badge-evidence", "registry-entry"):
        validator(kind).validate(json.loads((DATA / name / f"{kind}.json").read_bytes()))
    assert {each.name.removesuffix(".schema.json") for each in DOCS.iterdir()} == SCHEMAS


@pytest.mark.parametrize("script", [good_run(), bad_run(), hostile_run(MARKUP + HOSTILE), Script()])
def test_documents_and_events_fit_their_schemas(tmp_path: Path, script: Script) -> None:
    path = script.write(tmp_path / "events.jsonl")
    report = tally(read_events(path))
    validator("certification").validate(json.loads(certification.render(report)))
    events = validator("events")
    for line in path.read_text().splitlines():
        events.validate(json.loads(line))


def test_the_schema_describes_every_key_of_the_document() -> None:
    described = cast("dict[str, Json]", schema("certification")["properties"])
    document = cast("dict[str, Json]", json.loads(certification.render(bad_run().report())))
    assert set(document) == set(described)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_published_schema_is_the_shipped_one(name: str) -> None:
    shipped = files("conformance.reports").joinpath("schemas", f"{name}.schema.json").read_bytes()
    assert (DOCS / f"{name}.schema.json").read_bytes() == shipped


def test_write_all_writes_everything_and_each_profile_has_its_badges(tmp_path: Path) -> None:
    path = good_run().write(tmp_path / "events.jsonl")
    written = write_all(path, tmp_path / "out")
    profiles = ["badge", "badge-core", "badge-reusable-leases", "badge-native-sync"]
    expected = {
        *("certification.json", "report.html", "junit.xml", "ctrf.json", "summary.md"),
        *("badge-evidence.json", "registry-entry.json", "statement.json"),
        *(f"{name}.{kind}" for name in profiles for kind in ("svg", "png", "json")),
    }
    assert {each.name for each in written} == expected
    assert {each.name for each in (tmp_path / "out").iterdir()} == expected
    assert all(any(each.match(pattern) for pattern in OUTPUT_PATTERNS) for each in written)


def test_a_damaged_stream_writes_nothing(tmp_path: Path) -> None:
    path = good_run().write(tmp_path / "events.jsonl")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StreamError):
        write_all(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_shields_gets_only_keys_it_knows() -> None:
    for script in (good_run(), bad_run(), hostile_run(MARKUP + HOSTILE)):
        for each in badge.badges(script.report()):
            document = json.loads(badge.shields(each))
            assert set(document) <= {"schemaVersion", "label", "message", "color", "isError"}
            assert document["schemaVersion"] == 1
            assert document["message"]
            assert document.get("isError", False) == (each.verdict is Verdict.FAILED)


def test_a_badge_says_profile_revision_verdict_and_day() -> None:
    core = badge.badges(good_run().report())[1]
    assert (core.name, core.label, core.message) == ("badge-core", "core 2026.824", "certified 2026-11-30")


def test_a_badge_is_one_readable_picture() -> None:
    for script in (good_run(), bad_run(), hostile_run(MARKUP + HOSTILE)):
        for each in badge.badges(script.report()):
            text = badge.svg(each)
            root = ET.fromstring(text)  # noqa: S314 our own picture
            assert root.findtext(f"{SVG}title") == f"{each.label}: {each.message}"
            assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
                "svg",
                "title",
                "rect",
                "path",
                "g",
                "text",
            }
            assert "href" not in text


def test_white_text_stands_out_on_every_colour() -> None:
    for verdict in Verdict:
        colour = json.loads(badge.shields(badge.Badge("b", "l", "m", verdict)))["color"]
        linear = [_linear(int(colour[place : place + 2], 16) / 255) for place in (0, 2, 4)]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) >= 4.5, verdict


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4


def test_hostile_text_reaches_no_output() -> None:
    report = hostile_run(MARKUP + HOSTILE).report()
    document = cast("Json", json.loads(certification.render(report)))
    texts = [*every_text(document), summary(report, 100, color=False)]
    texts += [badge.svg(each) for each in badge.badges(report)]
    for text in texts:
        assert not [each for each in FORBIDDEN if each in text]
        assert "A" * 4_001 not in text
    assert len(summary(report, 100, color=False)) < 20_000


@pytest.mark.parametrize("width", [10, 60, 80, 100, 500])
def test_the_summary_keeps_within_its_width_but_for_commands(width: int) -> None:
    allowed = min(max(width, 60), 100)
    for script in (good_run(), bad_run(), hostile_run(MARKUP + HOSTILE)):
        for line in summary(script.report(), width, color=False).splitlines():
            is_command = line.lstrip().startswith(("read ", "replay ", "Report ", "Next "))
            is_row = line.startswith(("Capability ", "reusableLeases ", "nativeSync"))
            assert len(line) <= (max(allowed, 80) if is_row else allowed) or is_command, line


def test_the_summary_starts_with_the_verdict_and_ends_with_what_to_do() -> None:
    lines = summary(bad_run().report(), 90, color=False).splitlines()
    assert lines[0] == "FAILED: core certified, reusable-leases failed, native-sync incomplete"
    assert lines[-1].split(maxsplit=1) == ["Next", "provider-conformance explain LEASE-028"]


def test_a_summary_shows_the_worst_three_and_says_how_many_there_are() -> None:
    script = Script()
    for key in list(NAMES)[:5]:
        script.check(key, State.FAIL)
    text = summary(script.report(), 90, color=False)
    assert "Worst 3 of 5 findings" in text
    assert text.count("  replay  ") == 3


def test_colour_only_paints() -> None:
    report = bad_run().report()
    painted = summary(report, 90, color=True)
    assert "\x1b[31;1mFAILED\x1b[0m" in painted
    codes = ("\x1b[31;1m", "\x1b[32;1m", "\x1b[33;1m", "\x1b[1m", "\x1b[2m", "\x1b[0m")
    for code in codes:
        painted = painted.replace(code, "")
    assert painted == summary(report, 90, color=False)


def test_an_invalid_run_says_so_first() -> None:
    report = good_run().check("RPC-050", State.KIT_ERROR, name="another").report()
    text = summary(report, 90, color=False)
    assert text.startswith("INVALID RUN: core incomplete")
    assert "The kit itself failed in 1 of its checks" in text
