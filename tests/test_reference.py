"""Facts about the reference provider that certifying it would not show."""

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import fixtures
from conformance.fixtures.mutants import all_mutants, find_mutant, mutants_by_requirement
from conformance.fixtures.mutants.mutant import Mutant
from conformance.fixtures.reference import worker
from conformance.fixtures.reference.manifest import manifest
from conformance.fixtures.reference.store import IDLE_SECONDS, RECORD_FILE, Record, Store

FIXTURES = Path(fixtures.__path__[0])
SOURCES = sorted([*(FIXTURES / "reference").glob("*.py"), *(FIXTURES / "mutants").glob("*.py")])
START_SECONDS = 20
"""Far more than a start takes, so that a loaded machine does not fail a test about something else."""


def declaring_otherwise() -> list[tuple[str, type[Mutant]]]:
    """Return the mutants that change what the reference declares."""
    return [(name, mutant) for name, mutant in all_mutants().items() if mutant.manifest() != manifest()]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: f"{source.parent.name}/{source.name}")
def test_it_imports_the_standard_library_and_its_own_folder_only(source: Path) -> None:
    foreign = [
        name
        for name in imports(source)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith("conformance.fixtures")
    ]

    assert foreign == []


def test_running_it_loads_nothing_of_the_kit() -> None:
    script = (
        "import sys; before = set(sys.modules); import conformance.fixtures.reference.launch; "
        "print('\\n'.join(sorted(set(sys.modules) - before)))"
    )

    loaded = run("-c", script).split()

    kit = [name for name in loaded if name.startswith("conformance.") and not name.startswith("conformance.fixtures")]
    assert "conformance.fixtures.reference.provider" in loaded
    assert kit == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["conformance.fixtures.reference"], manifest()),
        *((["conformance.fixtures.mutants", name], mutant.manifest()) for name, mutant in declaring_otherwise()),
    ],
    ids=["reference", *(name for name, _ in declaring_otherwise())],
)
def test_the_printed_manifest_is_the_manifest(arguments: list[str], expected: dict[str, object]) -> None:
    assert json.loads(run("-m", *arguments, "--manifest")) == expected


def test_the_worker_file_lies_in_the_package() -> None:
    assert (FIXTURES / manifest()["entrypoints"]["worker"]).is_file()


def test_each_mutant_is_found_by_its_name_and_says_what_it_breaks() -> None:
    mutants = all_mutants()

    assert [find_mutant(name) for name in mutants] == list(mutants.values())
    assert all(mutant.__doc__ for mutant in mutants.values())
    assert set(mutants_by_requirement()) == {broken for mutant in mutants.values() for broken in mutant.breaks}


def test_an_unknown_mutant_is_named_in_the_error() -> None:
    with pytest.raises(LookupError, match="no mutant named who"):
        find_mutant("who")


def test_a_kept_sandbox_expires_a_day_after_its_release() -> None:
    now = time.time()

    assert Record(company="c", state="released", released_at=now - IDLE_SECONDS - 1).is_expired()
    assert not Record(company="c", state="released", released_at=now - IDLE_SECONDS + 60).is_expired()
    assert not Record(company="c").is_expired()


def test_a_removal_that_was_cut_off_can_be_tried_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    sandbox = store.create(Record(company="c"))
    for directory in ("workspace", "tmp"):
        (Path(sandbox.directory) / directory).rmdir()

    found = store.find(sandbox.id)
    assert found is not None
    store.remove(found)

    assert list(tmp_path.iterdir()) == []


def test_a_record_that_a_sandbox_spoilt_hides_no_other(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    spoilt, whole = (store.create(Record(company="c")) for _ in range(2))
    (Path(spoilt.directory) / RECORD_FILE).write_text("{", encoding="utf-8")

    assert [sandbox.id for sandbox in store.all()] == [whole.id]


@pytest.mark.parametrize(
    "lease_id", ["../x", "ref-..", "", "ref-" + "0" * 33, "ref-" + "0" * 32 + "\n", "a\0b", 5, None]
)
def test_only_an_id_of_the_right_shape_becomes_a_path(tmp_path: Path, lease_id: object) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / RECORD_FILE).write_text('{"company": "c"}', encoding="utf-8")

    assert Store(str(tmp_path / "root")).find(lease_id) is None


def test_the_worker_knows_nothing_of_sandboxes() -> None:
    assert worker.__file__ is not None
    own = [name for name in imports(Path(worker.__file__)) if name.startswith("conformance.")]

    assert sorted(own) == ["conformance.fixtures.reference.call", "conformance.fixtures.reference.errors"]


def imports(source: Path) -> Iterator[str]:
    """Yield the modules that a file imports; relative imports are not used here and would show as empty names."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module if node.module is not None and node.level == 0 else ""


def run(*arguments: str) -> str:
    """Run Python with these arguments and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-P", *arguments], capture_output=True, text=True, timeout=START_SECONDS, check=True
    )
    return done.stdout
