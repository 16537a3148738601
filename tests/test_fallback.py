"""What the checks of FALL stand on: the shapes of the host's commands, run by the shells of this machine."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.files.archive import EMPTY_ARCHIVE, pack, unpack
from conformance.files.compare import differences
from conformance.files.disk import build, listing
from conformance.files.strategies import trees
from conformance.files.tools import IMAGE_TOOLS
from conformance.files.tree import Folder, Tree, tree_of
from conformance.model import Blame, State
from conformance.steps import quote
from conformance.transfer.bridge import Bridge, read_from_queue, write_response, write_to_queue
from conformance.transfer.steps import (
    ALWAYS_OUT,
    BLOCK_BYTES,
    Step,
    block_of,
    delete_paths,
    list_files,
    pack_workspace,
    patterns_of,
    set_mode,
    size_of,
    unpack_directory,
    unpack_workspace,
    write_file,
)

from .lenient import judged
from .toolboxes import BUSYBOX, environment_of, program_of

SHELLS = [shell for shell in ("sh", "bash", "dash", BUSYBOX) if shutil.which(shell)]
FEW = settings(max_examples=25, deadline=None)


def run(step: Step, shell: str = "sh") -> str:
    done = subprocess.run(
        program_of(shell, step.script),
        env=environment_of(shell),
        input=step.stdin or "",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def lacking(shell: str) -> list[str]:
    """The tools of every transfer that a shell does not find, or not as the host needs them."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            tool
            for tool, script in IMAGE_TOOLS.items()
            if subprocess.run(
                program_of(shell, script),
                env=environment_of(shell),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            ).returncode
        ]


LACKING = {shell: lacking(shell) for shell in SHELLS}
"""The busybox of some systems is a small one: the tar of Debian's knows no excludes."""

WITH_TAR, WITH_NOHUP = ([shell for shell in SHELLS if tool not in LACKING[shell]] for tool in ("tar", "nohup"))
"""Shells whose tar knows excludes, and those from which a process can be left behind."""


def test_the_machine_has_what_the_host_needs() -> None:
    assert LACKING["sh"] == []


def run_all(steps: Iterable[Step], shell: str = "sh") -> None:
    for step in steps:
        run(step, shell)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 7])
def test_a_file_goes_up_and_comes_down(size: int, shell: str, tmp_path: Path) -> None:
    content = os.urandom(size)
    path = str(tmp_path / "it's new" / 'a "file"\n')

    run_all(write_file(path, content, "unique"), shell)

    assert run(size_of(path), shell).strip() == f"{size}"
    blocks = [base64.b64decode(run(block_of(path, number), shell)) for number in range(-(-size // BLOCK_BYTES))]
    assert b"".join(blocks) == content
    assert [entry.name for entry in Path(path).parent.iterdir()] == ['a "file"\n']


def test_one_block_is_as_large_as_the_host_sends_it() -> None:
    prepare, first, second, move = write_file("/a/b", bytes(BLOCK_BYTES + 1), "u")

    assert (len(first.stdin or ""), second.stdin) == (4_194_304, "AA==")
    assert prepare.script == "mkdir -p '/a' && rm -f '/a/b.paperclip-upload.u' && : > '/a/b.paperclip-upload.u'"
    assert first.script == "base64 -d >> '/a/b.paperclip-upload.u'"
    assert move.script == "mv -f '/a/b.paperclip-upload.u' '/a/b'"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_mode_is_octal_without_what_is_no_permission(shell: str, tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert set_mode("/a", "/b", 0o100644).script == "chmod 644 '/a' && mv -f '/a' '/b'"
    run(set_mode(f"{tmp_path}/a", f"{tmp_path}/b", 0o4600), shell)

    assert (tmp_path / "b").stat().st_mode & 0o7777 == 0o4600


@FEW
@given(trees(), st.sampled_from(WITH_TAR))
def test_any_tree_goes_up_and_comes_down(tree: Tree, shell: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder, archive = f'{temporary}/it\'s a "folder"', f"{temporary}/x.tar"
        build(tree_of({"stale/file": b"old", ".stale": b"old"}), Path(folder))
        Path(archive).write_bytes(pack(tree, owner=os.getuid()))

        run(unpack_directory(folder, archive), shell)

        assert not Path(archive).exists()
        assert differences(tree, listing(Path(folder))) == []

        run(pack_workspace(folder, archive, []), shell)

        assert differences(tree, unpack(Path(archive).read_bytes())) == []


@pytest.mark.parametrize("shell", WITH_TAR)
def test_a_workspace_comes_down_without_what_the_host_leaves_out(shell: str, tmp_path: Path) -> None:
    kept = {"a": b"", ".b": b"", "..c": b"", "-d": b"", "e/buildings/f": b"", "*": b""}
    out = {f"{folder}{name}/file": b"" for name in ALWAYS_OUT for folder in ("", "e/", "e/g/")} | {
        "._h": b"",
        "e/._i": b"",
    }
    build(tree_of({**kept, **out}), tmp_path / "it's")

    run(pack_workspace(f"{tmp_path}/it's", f"{tmp_path}/new/x.tar", patterns_of(ALWAYS_OUT)), shell)

    seen = unpack((tmp_path / "new" / "x.tar").read_bytes())
    assert differences(Tree({**tree_of(kept).entries, b"e/g": Folder()}), seen) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_workspace_without_entries_comes_down(shell: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    run(pack_workspace(f"{tmp_path}/empty", f"{tmp_path}/x.tar", ["a"]), shell)

    assert (tmp_path / "x.tar").read_bytes() == EMPTY_ARCHIVE


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("keep", [None, [".runtime"], [".runtime", "kept it's", ".upload-*"]])
def test_the_workspace_is_wiped_but_for_the_names_to_keep(shell: str, keep: list[str] | None, tmp_path: Path) -> None:
    before = {".runtime/tool": b"", "kept it's/a": b"", ".upload-1": b"", "-b": b"", "c/d": b"", ".e": b"", "\n": b""}
    spared = {None: set(before), 1: {".runtime/tool"}, 3: {".runtime/tool", "kept it's/a", ".upload-1"}}
    build(tree_of(before), tmp_path / "w")
    (tmp_path / "x.tar").write_bytes(pack(tree_of({"new": b"new"}), owner=os.getuid()))

    run(unpack_workspace(f"{tmp_path}/w", f"{tmp_path}/x.tar", keep), shell)

    left = spared[None if keep is None else len(keep)]
    assert differences(tree_of({"new": b"new", **dict.fromkeys(left, b"")}), listing(tmp_path / "w")) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_deleted_paths_go_and_nothing_else(shell: str, tmp_path: Path) -> None:
    build(tree_of({"a/b": b"", "a/c": b"", "-rf": b"", "it's\n": b""}), tmp_path / "w")

    run(delete_paths(f"{tmp_path}/w", ["a/b", "-rf", "it's\n", "never"]), shell)

    assert listing(tmp_path / "w") == tree_of({"a/c": b""})


@pytest.mark.parametrize("shell", SHELLS)
def test_files_are_listed_and_nothing_else(shell: str, tmp_path: Path) -> None:
    build(tree_of({"a b": b"", "-c": b"", "d/e": b""}), tmp_path / "w")

    assert sorted(run(list_files(f"{tmp_path}/w"), shell).splitlines()) == ["-c", "a b"]
    assert run(list_files(f"{tmp_path}/nothing"), shell) == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_a_queue_holds_what_was_written(shell: str, tmp_path: Path) -> None:
    content, path = os.urandom(100_000), f"{tmp_path}/queue's/1.json"
    steps = list(write_to_queue(path, content, "unique"))

    run_all(steps, shell)

    assert max(len(step.script) for step in steps) < 40_960
    assert base64.b64decode(run(read_from_queue(path), shell)) == content
    assert base64.b64decode(run(read_from_queue(path, 10), shell)) == content[:10]
    assert list(Path(path).parent.iterdir()) == [Path(path)]


@pytest.mark.parametrize("shell", SHELLS)
def test_an_answer_is_written_unless_somebody_else_is_at_it(shell: str, tmp_path: Path) -> None:
    path = tmp_path / "responses" / "1.json"

    assert run(write_response(str(path), "first", "a"), shell) == '{"wrote":true}\n'
    (tmp_path / "responses" / "1.json.lock").mkdir()
    assert run(write_response(str(path), "second", "b"), shell) == '{"wrote":false}\n'
    assert path.read_text(encoding="utf-8") == "first"


@pytest.mark.parametrize("shell", WITH_NOHUP)
def test_the_bridge_is_uploaded_once_started_and_stopped(shell: str, tmp_path: Path) -> None:
    bridge = Bridge(f'{tmp_path}/bridge\'s "place"')
    script = f"trap ': > {tmp_path}/ended; exit 0' TERM\nprintf '{{}}' > {quote(bridge.ready)}\n"
    script += "while :; do sleep 0.05; done\n"
    upload = bridge.upload(script.encode(), hashlib.sha256(script.encode()).hexdigest())

    assert [run(upload, shell) for _ in range(2)] == ['{"uploaded":true}\n', '{"uploaded":false}\n']
    assert re.fullmatch(r'\{"pid":\d+\}\n', run(bridge.start(), shell))
    run(bridge.wait_until_ready(), shell)
    run(bridge.stop(), shell)

    assert (tmp_path / "ended").exists()
    assert not Path(bridge.ready).exists()
    assert not Path(bridge.process).exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_that_came_damaged_does_not_become_the_bridge(shell: str, tmp_path: Path) -> None:
    bridge = Bridge(f"{tmp_path}/bridge")
    upload = bridge.upload(b"exit 0\n", "0" * 64)

    with pytest.raises(subprocess.CalledProcessError):
        run(upload, shell)

    assert listing(tmp_path / "bridge") == Tree({})


@pytest.mark.parametrize("shell", WITH_NOHUP)
def test_a_bridge_that_ends_at_once_is_not_waited_for(shell: str, tmp_path: Path) -> None:
    bridge = Bridge(f"{tmp_path}/bridge")
    run_all(write_file(bridge.entry, b"exit 0\n", "u"), shell)
    run(bridge.start(), shell)
    # The id of a process that is gone for good: a dead one may stand in the table until its parent looks.
    Path(bridge.process).write_text("4194303\n", encoding="ascii")

    with pytest.raises(subprocess.CalledProcessError) as ended:
        run(bridge.wait_until_ready(), shell)

    assert ended.value.returncode == 3


@pytest.mark.parametrize("box", ["sh", *(shell for shell in SHELLS if shell == BUSYBOX)])
def test_an_image_is_blamed_for_the_tools_that_it_lacks_and_the_provider_for_nothing(box: str, tmp_path: Path) -> None:
    config = json.dumps({"root": str(tmp_path / "sandboxes"), "image": environment_of(box)["PATH"]})

    results = judged("Toolbox", tmp_path, "FALL-00", config=config)

    tools = next(result for result in results if result.check.name == "the_image_has_the_tools_of_the_transfer")
    rest = [result for result in results if result.check.requirement != "FALL-009"]
    assert (tools.state is State.PASS) is (not LACKING[box]), tools.observed
    assert all(tool in tools.observed for tool in LACKING[box])
    assert tools.blame in {None, Blame.ENVIRONMENT}
    assert {result.state for result in rest} <= ({State.PASS, State.BLOCKED} if LACKING[box] else {State.PASS})
    assert State.PASS in {result.state for result in rest}
    assert {result.blocked_by for result in rest if result.state is State.BLOCKED} <= {"FALL-009"}
