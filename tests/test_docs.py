"""The pages that are made by a command are up to date, and what the documents point at exists."""

import re
from pathlib import Path

import pytest

from conformance.catalogue import catalogue
from conformance.contract import load_contract
from conformance.events import read_events
from conformance.matrix import markdown
from conformance.model import Verdict
from conformance.reports import certification
from conformance.reports.tally import tally

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def test_the_page_of_rules_is_up_to_date() -> None:
    contract = load_contract("2026.824")

    made = markdown(contract.revision, catalogue(contract))

    hint = "make it again: provider-conformance list --markdown > docs/rules.md"
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == made, hint


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_example_is_made_by_its_own_record() -> None:
    example = ROOT / "docs" / "example"

    report = tally(read_events(example / "events.jsonl"))

    assert report.verdict is Verdict.CERTIFIED
    assert certification.render(report) == (example / "certification.json").read_text(encoding="utf-8")
