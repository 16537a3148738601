"""The list of many reports: stale ones are marked, bad ones break nothing, and hostile ones do nothing."""

import datetime as dt
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from conformance.cli import main
from conformance.reports.index import Entry, Place, Standing, Unreadable, index_html, index_json, read_index
from conformance.reports.write import write_all

from .browser import opened
from .builder import bad_run, good_run
from .hostile import FORBIDDEN, HUGE
from .store import DATA
from .test_outputs import validator

TODAY = dt.date(2026, 12, 24)
ORDER = ("2026.824", "2026.831")


def place(root: Path, current: str = ORDER[0]) -> Place:
    return Place(root, root, TODAY, current, ORDER)


def rows(root: Path, current: str = ORDER[0]) -> list[Entry | Unreadable]:
    return read_index(place(root, current))


def entry(folder: Path, **changes: Any) -> None:
    folder.mkdir(parents=True)
    document = json.loads((DATA / "good" / "registry-entry.json").read_bytes())
    (folder / "registry-entry.json").write_text(json.dumps({**document, **changes}))


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for name, script in (("good", good_run()), ("bad", bad_run())):
        script.write(tmp_path / name / "events.jsonl")
        write_all(tmp_path / name / "events.jsonl", tmp_path / name)
    entry(tmp_path / "deep" / "old", expires="2026-12-23")
    entry(tmp_path / "undated", expires=None)
    return tmp_path


def test_every_report_is_a_row_with_its_standing(reports: Path) -> None:
    found = {row.folder: row for row in rows(reports) if isinstance(row, Entry)}
    assert {name: row.standing for name, row in found.items()} == {
        "good": Standing.CURRENT,
        "bad": Standing.CURRENT,
        "deep/old": Standing.EXPIRED,
        "undated": Standing.UNDATED,
    }
    assert found["good"].name == "@acme/sandbox"
    assert found["good"].page == "./good/report.html"
    assert found["deep/old"].page is None


def test_a_newer_revision_makes_an_entry_stale(reports: Path) -> None:
    found = [row.standing for row in rows(reports, ORDER[1]) if isinstance(row, Entry) and row.folder == "good"]
    assert found == [Standing.SUPERSEDED]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"schema": "sandbox-provider-conformance/registry-entry/1"}', "[" * 100_000, " " * 300_000],
    ids=["empty", "broken", "list", "object", "bare", "deep", "large"],
)
def test_one_bad_report_never_breaks_the_rest(reports: Path, text: str) -> None:
    folder = reports / "spoiled"
    folder.mkdir()
    (folder / "registry-entry.json").write_text(text)
    found = rows(reports)
    assert len([row for row in found if isinstance(row, Entry)]) == 4
    assert [row.folder for row in found if isinstance(row, Unreadable)] == ["spoiled"]
    assert "spoiled" in index_html(found, TODAY)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_keeps_nobody_waiting(reports: Path, make: Callable[[Path], None]) -> None:
    (reports / "odd").mkdir()
    make(reports / "odd" / "registry-entry.json")
    assert [row for row in rows(reports) if isinstance(row, Unreadable)] == [
        Unreadable("odd", "The file registry-entry.json is no file.")
    ]


@pytest.mark.parametrize("key", ["subject", "verdict", "expires", "profiles", "capabilities", "revision"])
def test_a_field_of_the_wrong_kind_is_a_row_that_says_so(tmp_path: Path, key: str) -> None:
    entry(tmp_path / "odd", **{key: [1]})
    (row,) = rows(tmp_path)
    assert isinstance(row, Unreadable)
    assert key in row.problem


def test_a_report_without_an_entry_is_named(reports: Path) -> None:
    shutil.copytree(reports / "good", reports / "half")
    (reports / "half" / "registry-entry.json").unlink()
    assert [row.folder for row in rows(reports) if isinstance(row, Unreadable)] == ["half"]


def test_the_json_fits_its_schema(reports: Path) -> None:
    (reports / "broken").mkdir()
    (reports / "broken" / "registry-entry.json").write_text("{")
    validator("index").validate(json.loads(index_json(rows(reports), TODAY)))


def test_the_page_is_filtered_without_scripts_and_has_no_barrier(browser: Browser, reports: Path) -> None:
    entry(reports / "few", capabilities={"reusableLeases": "certified", "nativeSyncIn": "absent"})
    (reports / "index.html").write_text(index_html(rows(reports), TODAY))
    with opened(browser, reports / "index.html", script=False) as seen:
        shown = seen.page.locator(".entry:visible")
        assert shown.count() == 5
        seen.page.get_by_label("still standing").check()
        assert shown.count() == 3
        seen.page.get_by_label("nativeSyncOut").check()
        assert shown.count() == 1
        assert seen.console == []
    with opened(browser, reports / "index.html", width=390, dark=True) as seen:
        assert seen.overflow() <= 0
        assert seen.inaccessible() == []


def test_hostile_entries_do_nothing(browser: Browser, tmp_path: Path) -> None:
    entry(
        tmp_path / "javascript:alert(1)" / "<img src=x onerror=alert(1)>",
        revision=HUGE[:50_000],
        subject={
            "name": HUGE[:50_000],
            "version": HUGE[:50_000],
            "digest": {"of": HUGE[:9_000], "value": HUGE[:9_000]},
        },
        profiles={HUGE[:9_000]: "failed"},
        capabilities={HUGE[:9_000]: "certified"},
    )
    (tmp_path / "javascript:alert(1)" / "<img src=x onerror=alert(1)>" / "report.html").write_text("<p>")
    file = tmp_path / "index.html"
    file.write_text(index_html(rows(tmp_path), TODAY))
    assert not [each for each in FORBIDDEN if each in file.read_text()]
    with opened(browser, file) as seen:
        assert seen.page.locator(".entry").count() == 1
        assert seen.page.locator("script, img, svg").count() == 0
        assert seen.page.locator(".entry a").get_attribute("href") == (
            "./javascript%3Aalert%281%29/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E/report.html"
        )
        assert seen.overflow() <= 0
        assert (seen.console, seen.dialogs, seen.requests) == ([], [], [file.as_uri()])


def test_the_command_writes_both_and_says_how_many(reports: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", str(reports), "--to", str(reports / "public" / "list")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("4 listed, ")
    text = (reports / "public" / "list" / "index.html").read_text()
    assert 'href="./../../good/report.html"' in text
    assert main(["index", str(reports / "none")]) == 4


def test_an_empty_folder_is_an_empty_list(tmp_path: Path) -> None:
    assert "No report was found." in index_html(rows(tmp_path), TODAY)
