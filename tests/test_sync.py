"""What the checks of SYNC stand on: trees as data, on disk and in archives, and the canaries around them."""

import asyncio
import io
import os
import re
import subprocess
import tarfile
import tempfile
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.errors import KitError
from conformance.files.archive import EMPTY_ARCHIVE, UnreadableArchiveError, pack, unpack
from conformance.files.canaries import canary_of, disturbances, make_folder
from conformance.files.compare import differences, told
from conformance.files.disk import DEEPEST_LEVEL, build, entry_at, listing
from conformance.files.examples import smaller
from conformance.files.exclusion import EXCLUSIONS, FULL, Exclusion
from conformance.files.generate import EVERYTHING, Variety, generated
from conformance.files.inotify import notes_about
from conformance.files.strategies import trees
from conformance.files.surroundings import Surroundings
from conformance.files.tree import LARGEST_BYTES, File, Folder, Link, Special, SpecialKind, Tree, tree_of
from conformance.files.watch import watching_modes
from conformance.model import State
from tests.kill import judge_provider, violated

from .npm import installed, node
from .trees import move_trees

ROOT = Path(__file__).parents[1]
FEW = settings(max_examples=30, deadline=None)


# -- trees as data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/etc", "a/", "a//b", ".", "..", "../up", "a/../b", "a/./b", "a\0b"])
def test_a_tree_has_no_path_that_could_lead_out_of_it(path: str) -> None:
    with pytest.raises(KitError):
        Tree({b"a": Folder(), path.encode(): File()})


@pytest.mark.parametrize("above", [File(), Link(b"b"), None])
def test_only_a_directory_holds_entries(above: File | Link | None) -> None:
    entries = {b"a/b": File()} if above is None else {b"a": above, b"a/b": File()}
    with pytest.raises(KitError):
        Tree(entries)


@FEW
@given(trees(), st.data())
def test_what_is_left_out_is_gone_with_all_below(tree: Tree, data: st.DataObject) -> None:
    gone = data.draw(st.lists(st.sampled_from(sorted(tree.entries)), max_size=3)) if tree.entries else []

    left = tree.without(gone)

    kept = [path for path in tree.entries if not any((path + b"/").startswith(one + b"/") for one in gone)]
    assert list(left.entries) == kept


# -- trees on disk and in archives -----------------------------------------------------------------------------------


@FEW
@given(trees())
def test_a_tree_that_is_built_is_the_tree_that_is_listed(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        build(tree, Path(folder) / "tree")

        assert differences(tree, listing(Path(folder) / "tree")) == []


@FEW
@given(trees())
def test_a_tree_that_is_packed_is_the_tree_that_is_unpacked(tree: Tree) -> None:
    assert unpack(pack(tree)) == tree


@FEW
@given(trees())
def test_the_tar_of_this_machine_reads_and_writes_the_same_trees(tree: Tree) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "to").mkdir()
        archive = pack(tree, owner=os.getuid())
        subprocess.run(["tar", "-xpf", "-", "-C", f"{folder}/to"], input=archive, check=True)

        assert listing(Path(folder) / "to") == tree

        packed = subprocess.run(["tar", "-cf", "-", "-C", f"{folder}/to", "."], capture_output=True, check=True)
        assert unpack(packed.stdout) == tree


def test_nothing_is_packed_as_the_host_packs_it() -> None:
    assert pack(Tree({})) == EMPTY_ARCHIVE
    assert unpack(EMPTY_ARCHIVE) == Tree({})


def archive_of(*names: str, **fields: object) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            for key, value in fields.items():
                setattr(member, key, value)
            archive.addfile(member)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../up", "a"])
def test_an_archive_with_names_that_climb_is_no_tree(name: str) -> None:
    with pytest.raises(UnreadableArchiveError):
        unpack(archive_of(name, f"{name}/below"))


def test_an_archive_that_was_cut_is_no_tree() -> None:
    whole = pack(tree_of({"a": bytes(2_000), "b": bytes(2_000)}))
    with pytest.raises(UnreadableArchiveError):
        unpack(whole[:3_000])


def test_a_file_that_claims_to_be_enormous_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    packed = subprocess.run(["tar", "-cSf", "-", "-C", tmp_path, "large"], capture_output=True, check=True)

    assert len(packed.stdout) < LARGEST_BYTES
    assert unpack(packed.stdout) == Tree({b"large": Special(SpecialKind.OVERSIZED)})


def test_a_second_name_of_a_file_is_the_file_again() -> None:
    assert unpack(archive_of("a")[:512] + archive_of("b", type=tarfile.LNKTYPE, linkname="a")) == tree_of(
        {"a": File(b"", 0o644), "b": File(b"", 0o644)}
    )


# -- a hostile disk --------------------------------------------------------------------------------------------------


def test_a_listing_follows_no_link_and_opens_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    seen = tmp_path / "seen"
    seen.mkdir()
    (seen / "folder").symlink_to("../outside")
    (seen / "file").symlink_to("../outside/secret")
    (seen / "circle").symlink_to("circle")
    os.mkfifo(seen / "pipe")

    assert listing(seen) == tree_of(
        {
            "folder": Link(b"../outside"),
            "file": Link(b"../outside/secret"),
            "circle": Link(b"circle"),
            "pipe": Special(SpecialKind.PIPE),
        }
    )
    assert listing(seen / "folder") == Tree({})
    assert entry_at(seen / "folder" / "secret") is None
    assert entry_at(seen / "file") == Link(b"../outside/secret")
    assert entry_at(seen / "nothing") is None


def test_a_listing_stops_at_what_is_too_large_or_too_deep(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    deep = tmp_path
    for _ in range(DEEPEST_LEVEL + 2):
        deep = deep / "d"
        deep.mkdir()

    seen = listing(tmp_path)

    assert seen.entries[b"large"] == Special(SpecialKind.OVERSIZED)
    deepest = max(seen.entries, key=len)
    assert (deepest.count(b"/") + 1, seen.entries[deepest]) == (DEEPEST_LEVEL, Special(SpecialKind.TOO_DEEP))


def test_names_that_are_no_text_are_listed_as_they_are(tmp_path: Path) -> None:
    name = b"\xff\xfe no text"
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"x")

    assert listing(tmp_path).entries == {name: File(b"x")}
    assert unpack(pack(listing(tmp_path))) == listing(tmp_path)


HARMS: dict[str, Callable[[Surroundings], object]] = {
    "changed": lambda around: around.secret.write_bytes(b"pwned"),
    "removed": lambda around: around.secret.unlink(),
    "opened": lambda around: around.secret.chmod(0o777),
    "added": lambda around: (around.outside / "new").write_bytes(b""),
    "linked": lambda around: (around.mapped.parent / "x").symlink_to("/"),
    "above": lambda around: (around.folder / "beside").mkdir(),
    "emptied": lambda around: (around.mapped.parent / "empty").rmdir(),
}


@pytest.mark.parametrize("harm", HARMS)
def test_canaries_see_every_change_around_the_mapped_path(harm: str, tmp_path: Path) -> None:
    around = Surroundings(tmp_path / "here", "marker")
    build(tree_of({"anything": b"marker"}), around.mapped)
    (around.mapped.parent / ".paperclip-upload-1").write_bytes(b"a draft that was forgotten breaks another rule")
    assert around.changes() == []

    HARMS[harm](around)

    assert len(around.changes()) == 1


def test_a_canary_beside_a_directory_sees_what_happens_around_it(tmp_path: Path) -> None:
    one, two = (make_folder(tmp_path, str(uuid4())) for _ in range(2))
    (one / "anything").write_bytes(b"")
    assert disturbances(tmp_path, [one, two]) == []

    canary_of(one).write_bytes(b"pwned")
    canary_of(two).unlink()
    (tmp_path / "new").touch()

    assert len(disturbances(tmp_path, [one, two])) == 3


def test_what_a_sync_does_outside_of_its_target_counts_whoever_is_looking() -> None:
    judged = asyncio.run(judge_provider("mutant:log-is-written-on-the-host", ["SYNC-016"]))

    assert {result.state for result in judged.results} == {State.PASS}
    assert violated(judged.results) == {"SYNC-018"}


def test_a_moment_in_which_others_could_read_is_seen(tmp_path: Path) -> None:
    (tmp_path / "closed").touch(0o600)
    looked = threading.Event()
    with watching_modes(tmp_path) as watch:
        while not watch.looks:
            looked.wait(0.001)
        assert watch.wide == {}
        (tmp_path / "draft").touch()
        (tmp_path / "draft").chmod(0o640)
        while not watch.wide:
            looked.wait(0.001)
        (tmp_path / "draft").unlink()

    assert set(watch.wide) == {"draft"}


def test_the_kernel_names_each_file_that_was_touched(tmp_path: Path) -> None:
    with notes_about(tmp_path) as notes:
        assert notes is not None
        assert notes.names(0) == set()

        (tmp_path / "new\nline").touch(0o600)
        (tmp_path / "new\nline").chmod(0o644)
        (tmp_path / "other").mkdir()

        assert notes.names(10) == {"new\nline", "other"}


def test_without_notes_of_the_kernel_a_directory_is_watched_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with notes_about(tmp_path) as notes:
        assert notes is None


# -- differences, excludes, generated trees --------------------------------------------------------------------------


@FEW
@given(trees(), trees())
def test_trees_without_differences_are_equal(one: Tree, other: Tree) -> None:
    assert (differences(one, other) == []) == (one == other)
    assert told(differences(one, other)).isascii() or "…" in told(differences(one, other))


def test_a_difference_says_what_and_where() -> None:
    wanted = tree_of({"a\nb": b"same then old", "mode": File(b"", 0o600), "gone": b"x", "kind": Folder()})
    seen = tree_of({"a\nb": b"same then new!", "mode": File(b"", 0o644), "extra": Link(b"\xff"), "kind": b""})

    assert [re.sub(r" \(sha256 \w+…\)", "", sentence) for sentence in differences(wanted, seen)] == [
        "'a\\nb' holds 14 bytes and should hold 13 bytes, different from byte 10 on",
        "'extra' should not be there: a link to '\\\\xff'",
        "'gone' is missing: a file of 1 bytes, mode 0644",
        "'kind' is a file of 0 bytes, mode 0644 and should be a directory",
        "'mode' has mode 0644 and should have 0600",
    ]


@pytest.mark.parametrize("case", EXCLUSIONS, ids=lambda case: " ".join(case.patterns))
def test_what_the_hosts_own_tar_leaves_out_is_right(case: Exclusion, tmp_path: Path) -> None:
    build(FULL, tmp_path / "tree")
    names = sorted(path.name for path in (tmp_path / "tree").iterdir())
    options = [word for pattern in case.patterns for word in ("--exclude", pattern)]
    packed = subprocess.run(
        ["tar", "-cf", "-", *options, "--", *names], cwd=tmp_path / "tree", capture_output=True, check=True
    )

    seen = unpack(packed.stdout)

    assert differences(case.wanted(seen), seen) == []


@pytest.mark.parametrize("case", EXCLUSIONS, ids=lambda case: " ".join(case.patterns))
def test_an_exclusion_accepts_neither_all_nor_nothing(case: Exclusion) -> None:
    assert differences(case.wanted(FULL), FULL) != []
    assert differences(case.wanted(Tree({})), Tree({})) != []


def test_a_seed_gives_its_trees_again_and_nobody_elses() -> None:
    assert generated(EVERYTHING, 7, 20) == generated(EVERYTHING, 7, 20)
    assert generated(EVERYTHING, 7, 20) != generated(EVERYTHING, 8, 20)


@FEW
@given(trees(Variety(modes=True)), trees(Variety(links=True)), trees(Variety(things=True)))
def test_a_variety_is_about_one_thing(modes: Tree, links: Tree, things: Tree) -> None:
    plain = [entry for tree in (modes, links) for entry in tree.entries.values() if isinstance(entry, File)]
    assert all(entry.content == b"text" for entry in plain)
    assert not any(isinstance(entry, Link) for tree in (modes, things) for entry in tree.entries.values())
    for tree in (links, things):
        assert {entry.mode for entry in tree.entries.values() if isinstance(entry, File)} <= {0o644}
    for tree in (modes, links):
        assert all(tree.below(path).entries for path, entry in tree.entries.items() if isinstance(entry, Folder))


@FEW
@given(trees())
def test_a_generated_tree_fits_on_a_disk_that_folds_names(tree: Tree) -> None:
    folded = [unicodedata.normalize("NFC", path.decode()).casefold() for path in tree.entries]
    assert len(set(folded)) == len(folded)


@FEW
@given(trees())
def test_what_is_tried_instead_of_a_tree_is_another_tree(tree: Tree) -> None:
    for (simpler,) in smaller([tree]):
        assert simpler != tree
        assert len(simpler.entries) <= len(tree.entries)


def test_a_batch_is_halved_before_anything_else() -> None:
    one, two, three = (tree_of({name: b""}) for name in "abc")

    assert list(smaller([one, two, three]))[:2] == [[one], [two, three]]


# -- the law of the two ways -----------------------------------------------------------------------------------------


def test_generated_trees_of_all_kinds_are_the_same_both_ways(long: bool) -> None:  # noqa: FBT001
    judged = asyncio.run(move_trees("reference", 2_000 if long else 36))

    assert {(result.state, result.reason) for result in judged} == {(State.PASS, "")}


def test_generated_trees_are_the_same_both_ways_with_the_sdk(long: bool) -> None:  # noqa: FBT001
    package = installed(ROOT / "fixtures" / "sdk_provider")

    judged = asyncio.run(move_trees(str(package), 2_000 if long else 12, node=str(node())))

    assert {(result.state, result.reason) for result in judged} == {(State.PASS, "")}
