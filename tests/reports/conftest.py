"""What the tests of the pages share: one browser, and a few pages of real and made-up runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from conformance.reports.write import write_all
from tests.running import run_pytest

from .browser import chromium, launch_flags
from .hostile import hostile_run, hostile_transcript


# While it lives, its event loop runs in this thread and no other test can start one: a module is long enough.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=chromium(), args=launch_flags())
        yield program
        program.close()


@pytest.fixture(scope="session")
def reference_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report folder of a real run on the reference provider, of the area lease."""
    return _run(tmp_path_factory.mktemp("reference"), "reference")


@pytest.fixture(scope="session")
def failing_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report folder of a real run on a provider that hands out destroyed leases."""
    return _run(tmp_path_factory.mktemp("failing"), "mutant:destroyed-lease-comes-back")


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report folder of a run on a provider whose every string is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile_run().write(folder / "events.jsonl")
    hostile_transcript(folder / "transcript.jsonl")
    write_all(folder / "events.jsonl", folder)
    return folder


def _run(folder: Path, provider: str) -> Path:
    done = run_pytest(folder, "--provider", provider, "-k", "LEASE", "-p", "no:cacheprovider")
    assert done.code in {0, 1, 20}, done.output
    return done.report
