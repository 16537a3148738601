"""The table in ARCHITECTURE.md is true: imports point downwards, and the special rules hold."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = {"conformance": "conformance", "suites": "suites", "fixtures": "fixtures", "reports": "reports"}


def layers() -> dict[str, int]:
    """Layer number of every module of the table; 0 is the lowest."""
    lines = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("| layer | modules |")[2].splitlines()[2:]
    rows = [line.split("|")[2] for line in lines if line.startswith("|")]
    numbered = enumerate(reversed(rows))
    return {name.strip(" `"): number for number, row in numbered for name in row.split(",")}


def modules() -> dict[str, Path]:
    """Every Python file that ships, by its import name."""
    found: dict[str, Path] = {}
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            linked = folder == "conformance" and parts[0] in FOLDERS
            if linked or "node_modules" in parts or "sdk_provider" in parts:
                continue
            prefix = ("conformance",) if package == "conformance" else ("conformance", package)
            found[".".join((*prefix, *parts)).removesuffix(".__init__")] = path
    return found


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from (f"{module}.{name.name}" if module == "conformance" else module for name in names)
            case _:
                pass


def part_of(module: str) -> str:
    """The row entry a module belongs to."""
    return module.split(".")[1]


def ours(path: Path) -> list[str]:
    """Imports of the kit's own modules."""
    return [name for name in imports_of(path) if name.startswith("conformance.")]


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_downwards(name: str) -> None:
    layer = layers()
    if name == "conformance":
        assert ours(modules()[name]) == []
        return
    upwards = [target for target in ours(modules()[name]) if layer[part_of(target)] > layer[part_of(name)]]
    assert upwards == []


def test_the_table_names_what_exists_and_everything_that_exists() -> None:
    assert set(layers()) == {part_of(name) for name in modules() if name != "conformance"}


def test_nothing_imports_the_plugin() -> None:
    assert [name for name, path in modules().items() if "conformance.plugin" in ours(path)] == []


def test_reports_know_neither_pytest_nor_the_host() -> None:
    ground = ("conformance.model", "conformance.errors", "conformance.events", "conformance.budget")
    allowed = ("conformance.reports", *ground)
    for name, path in modules().items():
        if name.startswith("conformance.reports"):
            assert [target for target in ours(path) if not target.startswith(allowed)] == [], name
            assert not any(target.split(".")[0] == "pytest" for target in imports_of(path)), name


def test_fixtures_use_the_standard_library_and_themselves_only() -> None:
    for name, path in modules().items():
        if name.startswith("conformance.fixtures"):
            foreign = [
                target
                for target in imports_of(path)
                if target.split(".")[0] not in sys.stdlib_module_names and not target.startswith("conformance.fixtures")
            ]
            assert foreign == [], name


def test_suites_do_not_know_pytest() -> None:
    for name, path in modules().items():
        if name.startswith("conformance.suites"):
            assert not any(target.split(".")[0].startswith("pytest") for target in imports_of(path)), name
