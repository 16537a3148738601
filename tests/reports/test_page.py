"""The page of a run in a real browser: readable by everyone, with and without scripts, and deaf to what is in it."""

import re
import tracemalloc
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from conformance.events import read_events
from conformance.model import State
from conformance.reports.frames import read_frames
from conformance.reports.tally import tally
from conformance.reports.write import write_all, write_report

from .browser import Seen, opened
from .builder import bad_run, good_run
from .hostile import FORBIDDEN

PAGES = ["reference_run", "failing_run", "hostile_report"]
SIZE_LIMIT = 200_000
SIZE_OF_A_CHECK = 30_000
"""Bytes of a page, and of each check on it; a text of a megabyte in the stream must not come through whole."""


@pytest.fixture(params=PAGES)
def page_file(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder / "report.html"


def silent(seen: Seen, file: Path) -> bool:
    return seen.console == [] and seen.dialogs == [] and seen.requests == [file.as_uri()]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_acts_nothing_leaves_and_nothing_overflows(browser: Browser, page_file: Path, width: int) -> None:
    with opened(browser, page_file, width=width) as seen:
        assert seen.overflow() <= 0
        seen.open_everything()
        assert seen.overflow() <= 0
        assert seen.page.evaluate("window.owned === undefined")
        assert seen.page.locator("script").count() == 1
        assert seen.page.locator("img, svg, iframe, object, embed, link, base, form").count() == 0
        handlers = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).map(a => a.name)"
        assert not [name for name in seen.page.evaluate(handlers) if name.startswith("on")]
        assert seen.page.locator("a:not([href^='#'])").count() == 0
        assert silent(seen, page_file)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_barrier(browser: Browser, page_file: Path, dark: bool) -> None:  # noqa: FBT001 a test parameter
    with opened(browser, page_file, dark=dark) as seen:
        seen.open_everything()
        assert seen.inaccessible() == []
        assert silent(seen, page_file)


def test_no_control_character_is_on_the_page_and_its_size_is_bounded(page_file: Path) -> None:
    text = page_file.read_text("utf-8")
    assert not [each for each in FORBIDDEN if each in text]
    assert "A" * 4_001 not in text
    assert "W" * 4_001 not in text
    assert len(text) < SIZE_LIMIT + SIZE_OF_A_CHECK * text.count('<details class="check')


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
def test_the_list_is_filtered_by_state_level_and_area(browser: Browser, tmp_path: Path, script: bool) -> None:  # noqa: FBT001 a test parameter
    file = _written(tmp_path)
    with opened(browser, file, script=script) as seen:
        assert seen.shown() == 7
        seen.page.get_by_label("pass 4").check()
        assert seen.shown() == 4
        seen.page.get_by_label("sync 2").check()
        assert seen.shown() == 1
        seen.page.get_by_label("SHOULD 1").check()
        assert seen.shown() == 0
        assert silent(seen, file)


def test_searching_and_the_keyboard_lead_to_a_check(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, _written(tmp_path)) as seen:
        seen.page.get_by_label("Search").fill("destroyed lease-1")
        assert seen.shown() == 1
        assert seen.page.locator("#shown").inner_text() == "1 of 7 shown"
        seen.page.locator(".check:not(.off) > summary").focus()
        seen.page.keyboard.press("Enter")
        assert seen.page.locator(".check[open] .body").inner_text().count("Forget the lease when it is destroyed") == 1


def test_the_first_thing_reached_by_keyboard_skips_to_the_checks(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, _written(tmp_path)) as seen:
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.textContent") == "Skip to the checks"


@pytest.mark.parametrize("script", [True, False], ids=["with scripts", "without scripts"])
def test_a_finding_leads_to_its_check(browser: Browser, tmp_path: Path, script: bool) -> None:  # noqa: FBT001 a test parameter
    with opened(browser, _written(tmp_path), script=script) as seen:
        seen.page.locator(".findings a").first.click()
        assert seen.page.locator(".check .body").first.is_visible()


def test_the_page_tells_the_whole_story_of_a_failure(failing_run: Path) -> None:
    text = re.sub(r"\s+", " ", (failing_run / "report.html").read_text("utf-8"))
    report = tally(read_events(failing_run / "events.jsonl"))
    failed = next(each for each in report.checks if each.id == "LEASE-028" and each.state is State.FAIL)
    assert failed.reason is not None
    assert failed.reason in text
    for words in ("Rule", "Source", "Why", "Blame", "Sent", "Expected", "Observed", "To do", "Replay", "Proof"):
        assert f"<dt>{words}</dt>" in text
    for number in failed.frames:
        assert f"<b>{number}</b>" in text
    assert f"provider-conformance replay conformance-report {failed.name}" in text
    assert "pytest --provider mutant:destroyed-lease-comes-back -k" in text
    assert re.search(r"it catches the broken providers <bdi>[^<]*destroyed-lease-comes-back", text)


def test_printing_shows_the_story_of_each_finding(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, _written(tmp_path)) as seen:
        seen.page.emulate_media(media="print")
        assert seen.page.locator(".finding .body").first.is_visible()
        assert not seen.page.locator(".filters").is_visible()


def test_an_old_report_says_that_it_has_expired(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    good_run(started="2019-01-01T00:00:00Z").write(folder / "events.jsonl")
    with opened(browser, _page(folder)) as seen:
        assert seen.page.locator("#expired").inner_text() == "Expired: this report stood until 2019-06-30."


def _written(folder: Path) -> Path:
    bad_run().write(folder / "events.jsonl")
    return _page(folder)


def _page(folder: Path) -> Path:
    write_all(folder / "events.jsonl", folder)
    return folder / "report.html"


def test_ten_thousand_frames_become_a_page_with_flat_memory(tmp_path: Path) -> None:
    script = bad_run()
    numbers = list(range(1, 10_001))
    for first in range(0, 10_000, 50):
        script.check("EXEC-001", State.FAIL, name=f"check_{first}", frames=list(numbers[first : first + 50]))
    script.write(tmp_path / "events.jsonl")
    line = '{{"frame":{},"t":0.1,"worker":1,"dir":"stderr","bytes":2000,"text":"' + "x" * 2_000 + '"}}\n'
    (tmp_path / "transcript.jsonl").write_text("".join(line.format(number) for number in numbers))
    report = tally(read_events(tmp_path / "events.jsonl"))
    tracemalloc.start()
    read_frames(tmp_path / "transcript.jsonl", frozenset({1, 9_999}))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    write_report(report, tmp_path)
    assert peak < 1_000_000
    assert (tmp_path / "report.html").stat().st_size < 12_000_000
