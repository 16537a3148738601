"""Finding and reading a package: what the host takes, and one clear sentence for everything it does not."""

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.errors import EnvironmentFault, UsageFault
from conformance.host import package as reading
from conformance.host.find import find_package
from conformance.host.node import find_node
from conformance.host.package import Package
from conformance.host.tool import run_tool
from tests.packages import DESCRIPTION, MANIFEST, write_package
from tests.running import processes_of


def find(source: str, work: Path, *, manifest: Path | None = None, node: str | None = None) -> Package:
    """Find a package, with a working directory of its own."""
    (work / "work").mkdir(exist_ok=True)
    return find_package(source, manifest=manifest, node=node, work=work / "work")


# -- sources


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "there is no such file or directory"),
        ("~no-such-user/plugin", "there is no such file or directory"),
        ("x" * 5000, "there is no such file or directory"),
        ("a\0b", "there is no such file or directory"),
        ("referense", "Did you mean 'reference'"),
        ("npm:", "names no package"),
        ("npm:--help", "names no package"),
        ("cmd:", "names no command"),
        ("cmd:python 'worker", "cannot be split into words"),
    ],
)
def test_a_source_that_is_none_is_refused_in_a_sentence(tmp_path: Path, source: str, says: str) -> None:
    with pytest.raises(UsageFault, match=says) as refusal:
        find(source, tmp_path)

    assert "\n" not in refusal.value.sentence()


def test_a_manifest_goes_only_with_a_command(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="goes only with --provider 'cmd:"):
        find("reference", tmp_path, manifest=tmp_path / "manifest.json")


def test_the_manifest_of_a_command_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="there is no such file"):
        find("cmd:python worker.py", tmp_path, manifest=tmp_path / "manifest.json")


@pytest.mark.parametrize("text", ["{", "[]", '{"id": NaN}', "[" * 100_000])
def test_the_manifest_of_a_command_has_to_be_a_json_object(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")

    package = find(f"cmd:{sys.executable} worker.py", tmp_path, manifest=tmp_path / "manifest.json")

    assert [fault.requirement for fault in package.faults] == ["MAN-001"]


def test_a_file_that_is_no_archive_is_refused_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "box.tgz").write_text("hello", encoding="utf-8")

    with pytest.raises(UsageFault, match="cannot be unpacked") as refusal:
        find(str(tmp_path / "box.tgz"), tmp_path)

    assert "\n" not in refusal.value.sentence()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"README": "hello"}, "holds no npm package"),
        ({"package/package.json": "{"}, "cannot be read"),
        ({"package/package.json": "[]"}, "not a plugin package"),
        ({"package/package.json": '{"name": "box"}'}, "not a plugin package"),
        ({"one/package.json": "{}", "two/package.json": "{}"}, "holds no npm package"),
    ],
)
def test_an_archive_of_something_else_is_refused(tmp_path: Path, content: Mapping[str, str], says: str) -> None:
    with tarfile.open(tmp_path / "box.tgz", "w:gz") as archive:
        for name, text in content.items():
            path = tmp_path / "content" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            archive.add(path, name)

    with pytest.raises(UsageFault, match=says):
        find(str(tmp_path / "box.tgz"), tmp_path)


# -- Node


def test_a_program_that_is_no_node_is_told_apart_from_none(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match="answers --version with exit code 0"):
        find_node(sys.executable)
    with pytest.raises(EnvironmentFault, match="No such file"):
        find_node(str(tmp_path / "node"))


def test_a_tool_leaves_nothing_running(tmp_path: Path) -> None:
    script = f"sleep 60 > /dev/null & echo started; echo {tmp_path} >&2"

    run = run_tool(["sh", "-c", script], seconds=30, environment={"PATH": os.defpath, "IN": str(tmp_path)})

    assert (run.exit_code, run.stdout, run.said) == (0, "started\n", str(tmp_path))
    assert processes_of(tmp_path) == []


def test_a_tool_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        run_tool(["sleep", "60"], seconds=0.1, environment={"PATH": os.defpath, "IN": str(tmp_path)})

    assert processes_of(tmp_path) == []


# -- packages


@pytest.mark.parametrize(
    ("description", "is_one"),
    [
        ({"name": "paperclip-plugin-box"}, True),
        ({"name": "@acme/plugin-box"}, True),
        ({"name": "box", "paperclipPlugin": {}}, True),
        ({"name": "box", "paperclipPlugin": None}, True),
        ({"name": "plugin-box"}, False),
        ({"name": "@plugin-acme/box"}, False),
        ({"name": "my-paperclip-plugin-box"}, False),
        ({}, False),
    ],
)
def test_a_plugin_package_is_known_by_its_name_or_its_key(
    description: dict[str, Any],
    is_one: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert reading.is_plugin_package(description) is is_one


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("process.exit(7);", "Node ended with exit code 7 before the import was done"),
        ("await new Promise(() => {});", "Node ended with exit code 13 before the import was done"),
        ("export default {,};", "cannot be imported: SyntaxError"),
        ('throw new Error("one\\ntwo");', "cannot be imported: Error: one two."),
        ('import "./missing.js";', "missing.js"),
        ("export default 7;", "is not an object but 7"),
        ("export default { id: () => 1 };", "$.id is a function"),
        ("export default { id: 1n };", "$.id is a bigint"),
        ("export default { list: [1, undefined] };", "$.list[1] is undefined"),
        ("export default { id: new Date() };", "$.id is an instance of Date"),
        ("export default { id: NaN };", "$.id is NaN"),
        ("const m = {}; m.self = m; export default m;", "$.self refers back to an object that contains it"),
    ],
)
def test_a_manifest_that_cannot_be_used_breaks_man_001(tmp_path: Path, manifest: str, says: str) -> None:
    package = find(str(write_package(tmp_path / "package", manifest=manifest)), tmp_path)

    [fault] = package.faults
    assert fault.requirement == "MAN-001"
    assert says in fault.problem
    assert "\n" not in fault.sentence()


def test_a_manifest_that_waits_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MANIFEST_LIMIT_S", 1.0)
    waiting = "setInterval(() => {}, 1000); await new Promise(() => {});"

    [fault] = find(str(write_package(tmp_path / "package", manifest=waiting)), tmp_path).faults

    assert "did not end within 1 s" in fault.problem
    assert processes_of(tmp_path) == []


def test_the_manifest_is_looked_for_at_three_places_in_order(tmp_path: Path) -> None:
    named = {**DESCRIPTION, "paperclipPlugin": {"manifest": "build/m.js"}}
    root = write_package(tmp_path / "package", manifest=named_manifest("root"), worker="")
    assert display_name(find(str(root), tmp_path)) == "root"

    (root / "dist").mkdir()
    (root / "dist" / "manifest.js").write_text(f"export default {json.dumps(named_manifest('dist'))};")
    assert display_name(find(str(root), tmp_path)) == "dist"

    (root / "package.json").write_text(json.dumps(named))
    [fault] = find(str(root), tmp_path).faults
    assert "'build/m.js'" in fault.problem

    (root / "build").mkdir()
    module = "".join(f"export const {key} = {json.dumps(value)};\n" for key, value in named_manifest("named").items())
    (root / "build" / "m.js").write_text(module)
    assert display_name(find(str(root), tmp_path)) == "named"


@pytest.mark.parametrize(
    ("worker", "says"),
    [
        ("dist/worker.js", "there is no such file"),
        ("../worker.js", "lies outside the package"),
        ("dist/../../worker.js", "lies outside the package"),
        ("/bin/sh", "lies outside the package"),
        (".", "there is no such file"),
        ("x" * 5000, "there is no such file"),
        ("", "names no file"),
        (7, "names no file"),
    ],
)
def test_a_worker_has_to_be_a_file_of_the_package(tmp_path: Path, worker: object, says: str) -> None:
    (tmp_path / "worker.js").write_text("", encoding="utf-8")
    manifest = {**MANIFEST, "entrypoints": {"worker": worker}}

    package = find(str(write_package(tmp_path / "package", manifest=manifest)), tmp_path)

    [fault] = package.faults
    assert fault.requirement == "MAN-008"
    assert says in fault.problem
    assert package.argv is None


def named_manifest(name: str) -> dict[str, Any]:
    """The good manifest under another name."""
    return {**MANIFEST, "displayName": name}


def display_name(package: Package) -> object:
    """The name in the manifest that was found."""
    assert package.faults == ()
    assert isinstance(package.manifest, dict)
    return package.manifest["displayName"]
