"""SYNC: files moved by the provider itself, between the host's disk and the sandbox."""

import asyncio
import hashlib
from typing import Any
from uuid import uuid4

from conformance.checks import Capability, check
from conformance.expect import expect, expect_alive, expect_answered, expect_equal, expect_error, expect_shape
from conformance.files.archive import pack
from conformance.files.compare import expect_tree
from conformance.files.disk import build, entry_at, listing, write_new
from conformance.files.examples import expect_both_ways_alike
from conformance.files.exclusion import EXCLUSIONS, FULL, names_of
from conformance.files.generate import Variety
from conformance.files.native import commands_beside, large_file, place_for_sync, with_time
from conformance.files.operations import command, directory, file, operation
from conformance.files.readers import end_readers, start_readers
from conformance.files.sandbox import digest_at, place_tree, tree_at
from conformance.files.specimens import (
    CONTENTS,
    FOLLOWED,
    FOLLOWED_TREE,
    LINKS_THAT_LEAD_OUT,
    LINKS_TREE,
    MANY_FILES,
    MODES_TREE,
    ODD_FILES,
    ODD_TREE,
)
from conformance.files.surroundings import Surroundings, expect_untouched, holds_marker
from conformance.files.swapping import start_swapping, stop_swapping
from conformance.files.tree import File, Folder, Link, Special, SpecialKind, Tree, tree_of
from conformance.files.watch import watching_modes
from conformance.host.lease import Lease
from conformance.model import Cost, Level
from conformance.provider import Provider, answer_of
from conformance.steps import quote, run_to_success
from conformance.transfer.steps import unpack_workspace

MUST, SHOULD, SHARED = Level.MUST, Level.SHOULD, Cost.SHARED
IN, OUT = Capability.NATIVE_SYNC_IN, Capability.NATIVE_SYNC_OUT

LARGE_BYTES = 10_000_000
"""More than any backend takes in one request of an ordinary API."""

SWAPPED_SYNCS = 5
"""How often a tree comes out while its directories turn into links and back."""

SAME_NAME = "everybody-has-this"

QUOTE = "Hand paths over as data: in an API, as separate arguments, or in single quotes with each of these as '\\''."
ATOMIC = "Write to a new name in the same directory, and rename it: then a reader has the old file or the new one."
REJECT = "Answer with an error at the first step that fails, and do nothing after it."


# -- files in --------------------------------------------------------------------------------------------------------


@check("SYNC-002", level=MUST, needs=IN, cost=SHARED)
async def files_go_in_byte_for_byte(provider: Provider, lease: Lease) -> None:
    """A file that goes in has the same bytes inside: none at all, all 256 values, text with any line ends."""
    place = await place_for_sync(provider, lease)
    build(CONTENTS, place.host / "from")
    names = [path.decode() for path in CONTENTS.entries]

    answer = await provider.sync_in(
        lease, [operation(*[file(place.host / "from" / name, f"{place.remote}/{name}") for name in names])]
    )

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory in the sandbox", seen, CONTENTS, advice="Move bytes, never text.")


@check("SYNC-002", level=MUST, needs=IN, cost=SHARED)
async def a_file_of_10_mb_goes_in(provider: Provider, lease: Lease) -> None:
    """The size of a file is not limited by what the backend takes in one request."""
    place = await place_for_sync(provider, lease)
    content = provider.random.randbytes(LARGE_BYTES)
    write_new(place.host / "large", content)

    answer = await provider.sync_in(lease, [operation(file(place.host / "large", f"{place.remote}/large"))])

    digest, wanted = await digest_at(provider, lease, f"{place.remote}/large"), hashlib.sha256(content).hexdigest()
    expect_equal(answer, "the SHA-256 of the file inside", digest, wanted, advice="Send large files in pieces.")


@check("SYNC-002", level=SHOULD, needs=IN, cost=SHARED)
async def single_files_go_in_under_any_name(provider: Provider, lease: Lease) -> None:
    """Blanks, quotes, a dash, a newline in sourcePath and targetPath are letters of a name, and nothing else."""
    place = await place_for_sync(provider, lease)
    build(ODD_FILES, place.host / "from")
    names = [path.decode() for path in ODD_FILES.entries]

    answer = await answer_of(
        provider.sync_in(
            lease, [operation(*[file(place.host / "from" / name, f"{place.remote}/{name}") for name in names])]
        )
    )

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory in the sandbox", seen, ODD_FILES, advice=QUOTE)


@check("SYNC-002", level=MUST, needs=IN, cost=SHARED)
async def missing_parents_are_made_for_a_file(provider: Provider, lease: Lease) -> None:
    """The directories above a target file are made if they are missing."""
    place = await place_for_sync(provider, lease)
    write_new(place.host / "file", b"content")

    answer = await provider.sync_in(lease, [operation(file(place.host / "file", f"{place.remote}/a/b c/file"))])

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory in the sandbox", seen, tree_of({"a/b c/file": b"content"}))


@check("SYNC-002", level=MUST, needs=IN, cost=SHARED)
async def a_file_that_is_there_is_replaced(provider: Provider, lease: Lease) -> None:
    """A file that exists at the target is replaced, also a longer one by a shorter."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, tree_of({"file": b"a longer file that was there before"}))
    write_new(place.host / "file", b"new")

    answer = await provider.sync_in(lease, [operation(file(place.host / "file", f"{place.remote}/file"))])

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory in the sandbox", seen, tree_of({"file": b"new"}))


@check("SYNC-003", level=MUST, needs=IN, cost=SHARED)
async def a_reader_has_the_old_file_or_the_new_one(provider: Provider, lease: Lease) -> None:
    """A file is replaced at once: who is reading the old one gets all of it, and at no moment is there none."""
    place = await place_for_sync(provider, lease)
    path = f"{place.remote}/file"
    old, new = b"the old file\n" * 20_000, b"the new file\n" * 20_000
    write_new(place.host / "old", old)
    write_new(place.host / "new", new)
    await provider.sync_in(lease, [operation(file(place.host / "old", path))])
    readers = await start_readers(provider, lease, path)

    answer = await provider.sync_in(lease, [operation(file(place.host / "new", path))])

    reading = await end_readers(provider, lease, readers)
    wanted = hashlib.sha256(old).hexdigest()
    expect_equal(answer, "the SHA-256 of what was being read", reading.digest, wanted, advice=ATOMIC)
    seen = "there was none for a while" if reading.gaps else "there always was one"
    expect(answer, not reading.gaps, that="there is a file with content at every moment", observed=seen, advice=ATOMIC)


# -- directories in --------------------------------------------------------------------------------------------------


@check("SYNC-004", level=MUST, needs=IN, cost=SHARED)
async def a_directory_that_goes_in_replaces_what_was_there(provider: Provider, lease: Lease) -> None:
    """After a sync the target directory holds the source and nothing else: stale entries of all kinds are gone."""
    wanted = tree_of({"same": b"new", "was-folder": b"file", "was-file/inner": b"inner", "deep/er/file": b"file"})
    stale = {
        "same": b"old",
        "was-folder/inner": b"old",
        "was-file": b"old",
        "deep/stale": b"old",
        "stale/folder/file": b"old",
        ".stale": b"old",
        "link": Link(b"same"),
        "empty": Folder(),
    }
    place = await place_for_sync(provider, lease)
    build(wanted, place.host / "from")
    await place_tree(provider, lease, f"{place.remote}/to", tree_of(stale))

    answer = await provider.sync_in(lease, [operation(directory(place.host / "from", f"{place.remote}/to"))])

    seen = await tree_at(provider, lease, f"{place.remote}/to")
    expect_tree(answer, "the target", seen, wanted, advice="Remove what is there, names with a dot too, then copy.")


@check("SYNC-004", level=MUST, needs=IN, cost=SHARED)
async def an_empty_directory_goes_in(provider: Provider, lease: Lease) -> None:
    """An empty directory is a directory: the target is made, or emptied."""
    place = await place_for_sync(provider, lease)
    build(Tree({}), place.host / "from")
    await place_tree(provider, lease, f"{place.remote}/full", tree_of({"stale/file": b"old"}))
    targets = [f"{place.remote}/{name}" for name in ("new", "full")]

    answer = await provider.sync_in(lease, [operation(*[directory(place.host / "from", target) for target in targets])])

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory above", seen, tree_of({"new": Folder(), "full": Folder()}))


@check("SYNC-004", level=MUST, needs=IN, cost=SHARED)
async def a_directory_of_many_files_goes_in(provider: Provider, lease: Lease) -> None:
    """All files of a directory go in, also where a list of them has more than one page or does not fit in a command."""
    await _goes_in(provider, lease, MANY_FILES, MANY_FILES)


@check("SYNC-004", level=SHOULD, needs=IN, cost=Cost.SHARED)
async def a_directory_goes_in_at_the_workspace_itself(provider: Provider, spare: Lease) -> None:
    """The workspace itself can be the target: filling it needs no right to the directory that it stands in."""
    place = await place_for_sync(provider, spare)
    wanted = tree_of({"file": b"file", ".hidden/file": b"file", "empty": Folder()})
    build(wanted, place.host / "from")

    answer = await provider.sync_in(spare, [operation(directory(place.host / "from", spare.remote_cwd))])

    seen = await tree_at(provider, spare, spare.remote_cwd)
    expect_tree(answer, "the workspace", seen, wanted, advice="Empty the directory, and do not replace it.")


# -- what a tree carries ---------------------------------------------------------------------------------------------


async def _goes_in(provider: Provider, lease: Lease, tree: Tree, wanted: Tree, **options: Any) -> None:
    place = await place_for_sync(provider, lease)
    build(tree, place.host / "from")

    answer = await provider.sync_in(lease, [operation(directory(place.host / "from", f"{place.remote}/to", **options))])

    expect_tree(answer, "the directory in the sandbox", await tree_at(provider, lease, f"{place.remote}/to"), wanted)


async def _comes_out(provider: Provider, lease: Lease, tree: Tree, wanted: Tree, **options: Any) -> None:
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, f"{place.remote}/from", tree)

    answer = await provider.sync_out(
        lease, [operation(directory(f"{place.remote}/from", place.host / "to", **options))]
    )

    expect_tree(answer, "the directory on the host", listing(place.host / "to"), wanted)


@check("SYNC-005", level=MUST, needs=IN, cost=SHARED)
async def odd_names_and_empty_things_go_in(provider: Provider, lease: Lease) -> None:
    """Every name that a file can have goes in as it is, and so do empty files, empty directories and binary content."""
    await _goes_in(provider, lease, ODD_TREE, ODD_TREE)


@check("SYNC-005", level=MUST, needs=OUT, cost=SHARED)
async def odd_names_and_empty_things_come_out(provider: Provider, lease: Lease) -> None:
    """Every name that a file can have comes out as it is, and so do empty files, empty directories, binary content."""
    await _comes_out(provider, lease, ODD_TREE, ODD_TREE)


@check("SYNC-005", level=MUST, needs=OUT, cost=SHARED)
async def a_file_with_two_names_comes_out_under_both(provider: Provider, lease: Lease) -> None:
    """Two hard links to one file are two files with the same content, in whatever order they are met."""
    wanted = tree_of({"first": b"content", "folder/second": b"content"})
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, tree_of({"first": b"content", "folder": Folder()}))
    script = "ln first folder/second 2>/dev/null || cat first > folder/second"
    await run_to_success(provider, lease, script, cwd=place.remote)

    answer = await provider.sync_out(lease, [operation(directory(place.remote, place.host / "to"))])

    expect_tree(answer, "the directory on the host", listing(place.host / "to"), wanted)


@check("SYNC-006", level=MUST, needs=IN, cost=SHARED)
async def permission_bits_go_in(provider: Provider, lease: Lease) -> None:
    """A file in a directory has the same permission bits inside: scripts can be started, secrets stay closed."""
    await _goes_in(provider, lease, MODES_TREE, MODES_TREE)


@check("SYNC-006", level=MUST, needs=OUT, cost=SHARED)
async def permission_bits_come_out(provider: Provider, lease: Lease) -> None:
    """A file in a directory has the same permission bits on the host."""
    await _comes_out(provider, lease, MODES_TREE, MODES_TREE)


@check("SYNC-007", level=MUST, needs=IN, cost=SHARED)
async def links_go_in_as_links(provider: Provider, lease: Lease) -> None:
    """A symlink goes in as a symlink with the same text, wherever it leads and also when it leads nowhere."""
    links = Tree({**LINKS_TREE.entries, **LINKS_THAT_LEAD_OUT.entries})
    await _goes_in(provider, lease, links, links)


@check("SYNC-007", level=MUST, needs=OUT, cost=SHARED)
async def links_come_out_as_links(provider: Provider, lease: Lease) -> None:
    """A symlink that stays in its tree comes out as a symlink with the same text, also when it leads nowhere."""
    await _comes_out(provider, lease, LINKS_TREE, LINKS_TREE)


@check("SYNC-007", level=MUST, needs=IN, cost=SHARED)
async def followed_links_go_in_as_what_they_lead_to(provider: Provider, lease: Lease) -> None:
    """With followSymlinks the content goes in where the link was, of files and of whole directories."""
    await _goes_in(provider, lease, FOLLOWED_TREE, FOLLOWED, followSymlinks=True)


@check("SYNC-007", level=MUST, needs=OUT, cost=SHARED)
async def followed_links_come_out_as_what_they_lead_to(provider: Provider, lease: Lease) -> None:
    """With followSymlinks the content comes out where the link was, of files and of whole directories."""
    await _comes_out(provider, lease, FOLLOWED_TREE, FOLLOWED, followSymlinks=True)


@check("SYNC-005", level=MUST, needs=IN, cost=SHARED)
async def any_names_and_contents_are_the_same_both_ways(provider: Provider, lease: Lease) -> None:
    """Whatever is in a tree, it is the same tree whether it goes in and out natively or over commands."""
    await expect_both_ways_alike(provider, lease, Variety(things=True))


@check("SYNC-006", level=MUST, needs=IN, cost=SHARED)
async def any_modes_are_the_same_both_ways(provider: Provider, lease: Lease) -> None:
    """Whatever modes the files of a tree have, they have them too when it went in and out natively or over commands."""
    await expect_both_ways_alike(provider, lease, Variety(modes=True))


@check("SYNC-007", level=MUST, needs=IN, cost=SHARED)
async def any_links_are_the_same_both_ways(provider: Provider, lease: Lease) -> None:
    """Whatever links are in a tree, they are the same when it went in and out natively or over commands."""
    await expect_both_ways_alike(provider, lease, Variety(links=True))


@check("SYNC-008", level=MUST, needs=IN, cost=SHARED)
async def excluded_names_do_not_go_in(provider: Provider, lease: Lease) -> None:
    """NAME, NAME/*, */NAME and */NAME/* leave a name out at every depth, and a path leaves out exactly itself."""
    place = await place_for_sync(provider, lease)
    build(FULL, place.host / "from")
    cases = names_of(EXCLUSIONS)

    answer = await provider.sync_in(
        lease,
        [
            operation(
                *[
                    directory(place.host / "from", f"{place.remote}/{name}", exclude=list(case.patterns))
                    for name, case in cases
                ]
            )
        ],
    )

    inside = await tree_at(provider, lease, place.remote)
    for name, case in cases:
        seen = inside.below(name.encode())
        expect_tree(answer, f"the target of exclude {list(case.patterns)}", seen, case.wanted(seen))


@check("SYNC-009", level=MUST, needs=OUT, cost=SHARED)
async def excluded_names_do_not_come_out(provider: Provider, lease: Lease) -> None:
    """The patterns work in this direction too; without them .git and the host's runtime files would be overwritten."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, FULL)
    cases = names_of(EXCLUSIONS)

    answer = await provider.sync_out(
        lease,
        [operation(*[directory(place.remote, place.host / name, exclude=list(case.patterns)) for name, case in cases])],
    )

    for name, case in cases:
        seen = listing(place.host / name)
        expect_tree(answer, f"the target of exclude {list(case.patterns)}", seen, case.wanted(seen))


# -- modes of single files -------------------------------------------------------------------------------------------


@check("SYNC-010", level=MUST, needs=IN, cost=SHARED)
async def a_file_goes_in_with_the_mode_that_is_asked_for(provider: Provider, lease: Lease) -> None:
    """The target ends with exactly `mode`, whatever the source has and whatever a file had that was there before."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"open": File(b"secret", 0o644), "closed": File(b"tool", 0o600)}), place.host / "from")
    await place_tree(provider, lease, place.remote, tree_of({"old": File(b"old", 0o644)}))
    opened, closed = place.host / "from" / "open", place.host / "from" / "closed"

    answer = await provider.sync_in(
        lease,
        [
            operation(
                file(opened, f"{place.remote}/secret", mode=0o600),
                file(closed, f"{place.remote}/tool", mode=0o755),
                file(opened, f"{place.remote}/old", mode=0o600),
            )
        ],
    )

    wanted = tree_of({"secret": File(b"secret", 0o600), "tool": File(b"tool", 0o755), "old": File(b"secret", 0o600)})
    expect_tree(answer, "the directory in the sandbox", await tree_at(provider, lease, place.remote), wanted)


@check("SYNC-010", level=MUST, needs=OUT, cost=SHARED)
async def a_file_comes_out_with_the_mode_that_is_asked_for(provider: Provider, lease: Lease) -> None:
    """The target on the host ends with exactly `mode`, whatever the source has and whatever was there before."""
    place = await place_for_sync(provider, lease)
    sources = {"open": File(b"secret", 0o644), "closed": File(b"tool", 0o600)}
    await place_tree(provider, lease, place.remote, tree_of(sources))
    build(tree_of({"old": File(b"old", 0o644)}), place.host / "to")
    target = place.host / "to"

    answer = await provider.sync_out(
        lease,
        [
            operation(
                file(f"{place.remote}/open", target / "secret", mode=0o600),
                file(f"{place.remote}/closed", target / "tool", mode=0o755),
                file(f"{place.remote}/open", target / "old", mode=0o600),
            )
        ],
    )

    wanted = tree_of({"secret": File(b"secret", 0o600), "tool": File(b"tool", 0o755), "old": File(b"secret", 0o600)})
    expect_tree(answer, "the directory on the host", listing(target), wanted)


@check("SYNC-011", level=MUST, needs=OUT, cost=SHARED)
async def a_secret_is_open_to_nobody_while_it_comes_out(provider: Provider, lease: Lease) -> None:
    """While a file with mode 0600 is written on the host, neither it nor a draft of it can be read by others."""
    place = await place_for_sync(provider, lease)
    script = f"dd if=/dev/zero of={quote(f'{place.remote}/secret')} bs=1000000 count=16 2>/dev/null && chmod 644 "
    await run_to_success(provider, lease, script + quote(f"{place.remote}/secret"))
    target = place.host / "to"
    build(Tree({}), target)

    with watching_modes(target) as watch:
        answer = await provider.sync_out(
            lease, [operation(file(f"{place.remote}/secret", target / "secret", mode=0o600))]
        )

    expect(
        answer,
        not watch.wide,
        that="no file in the target's directory is open to group or others at any moment",
        observed=", ".join(f"{name!a} had mode {mode:04o}" for name, mode in watch.wide.items()) or "all were closed",
        advice="Create the draft with mode 0600, before the first byte, and give it its final mode at the end.",
    )


# -- commands after the upload ---------------------------------------------------------------------------------------


@check("SYNC-012", level=MUST, needs=IN, cost=SHARED)
async def commands_run_after_the_files_word_for_word(provider: Provider, lease: Lease) -> None:
    """Commands run by `sh -c` when all files of their operation are there, in order, and as they were written."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"a": b"first file\n", "b": b"second file\n"}), place.host / "from")
    log = f"{place.remote}/log"
    odd = '"it\'s $((40 + 2)) \\"odd\\" \\\\ " \'{{targetPath}} ${sourcePath} $HOME %s\''
    texts = [
        f"cat {quote(f'{place.remote}/a')} {quote(f'{place.remote}/b')} >> {quote(log)}",
        f"printf '%s|' {odd} >> {quote(log)}",
        f'for i in 1 2; do\n  echo "  line   $i  " >> {quote(log)}\ndone',
        f"echo 'ä 雪 \U0001f600' >> {quote(log)} # and a comment; exit 1",
        f"  echo last >> {quote(log)} && true || exit 1  ",
    ]
    files = [file(place.host / "from" / name, f"{place.remote}/{name}") for name in "ab"]

    answer = await provider.sync_in(lease, [operation(*files, commands=[command(text) for text in texts])])

    native = await tree_at(provider, lease, place.remote)
    await run_to_success(provider, lease, f"rm -f {quote(log)}")
    for text in texts:
        await run_to_success(provider, lease, text)
    by_hand = await tree_at(provider, lease, place.remote)
    advice = "Give the text to sh -c as one argument, without adding, trimming or filling in anything."
    expect_tree(answer, "the directory, with the log of the commands,", native, by_hand, advice=advice)


@check("SYNC-012", level=MUST, needs=IN, cost=SHARED)
async def a_workspace_goes_in_as_an_archive_that_a_command_unpacks(provider: Provider, lease: Lease) -> None:
    """This is how the host fills a workspace: two archives go in as files, and commands unpack one after the other."""
    place = await place_for_sync(provider, lease)
    workspace = f"{place.remote}/work space"
    await place_tree(provider, lease, workspace, tree_of({".paperclip-runtime/tool": b"kept"}))
    below = tree_of({"file": b"below", "deep/er/file": b"below"})
    write_new(place.host / "below.tar", pack(below))
    write_new(place.host / "top.tar", pack(tree_of({"file": b"on top"})))
    runtime = f"{workspace}/.paperclip-runtime"
    hints: Any = {"access": "rw", "writablePath": workspace}

    answer = await provider.sync_in(
        lease,
        [
            operation(
                file(place.host / "below.tar", f"{runtime}/below.tar", **hints),
                file(place.host / "top.tar", f"{runtime}/top.tar", **hints),
                commands=[
                    command(unpack_workspace(workspace, f"{runtime}/below.tar", None).script),
                    command(unpack_workspace(workspace, f"{runtime}/top.tar", None).script, timeoutMs=120_000),
                ],
            )
        ],
    )

    wanted = Tree({**below.entries, **tree_of({"file": b"on top", ".paperclip-runtime/tool": b"kept"}).entries})
    expect_tree(answer, "the workspace", await tree_at(provider, lease, workspace), wanted)


@check("SYNC-013", level=MUST, needs=IN, cost=SHARED)
async def the_first_command_that_fails_ends_the_sync(provider: Provider, lease: Lease) -> None:
    """When a postUploadCommand fails, the ones after it do not run, and the call is answered with an error."""
    place = await place_for_sync(provider, lease)
    write_new(place.host / "file", b"file")
    log = quote(f"{place.remote}/log")
    commands = [command(f"echo {number} >> {log}; exit {code}") for number, code in ((1, 0), (2, 3), (3, 0))]
    mapping = file(place.host / "file", f"{place.remote}/file")

    answer = await answer_of(provider.sync_in(lease, [operation(mapping, commands=commands)]))

    expect_error(answer, what="a sync whose second of three commands exits with 3", advice=REJECT)
    seen = await tree_at(provider, lease, place.remote)
    wanted = tree_of({"file": b"file", "log": b"1\n2\n"})
    expect_tree(answer, "the directory, with the log of the commands,", seen, wanted, advice=REJECT)
    await expect_alive(provider)


@check("SYNC-014", level=MUST, needs=IN, cost=SHARED)
async def commands_run_in_their_directory(provider: Provider, lease: Lease) -> None:
    """A postUploadCommand with a cwd runs in that directory, which is a target of its operation or lies in one."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"sub folder/file": b"file"}), place.host / "from")
    target = f"{place.remote}/to"

    answer = await provider.sync_in(
        lease,
        [
            operation(
                directory(place.host / "from", target),
                commands=[
                    command("cat 'sub folder/file' > here", cwd=target),
                    command("cat file > there", cwd=f"{target}/sub folder"),
                ],
            )
        ],
    )

    wanted = tree_of({"sub folder/file": b"file", "here": b"file", "sub folder/there": b"file"})
    expect_tree(answer, "the target", await tree_at(provider, lease, target), wanted)


@check("SYNC-014", level=MUST, needs=IN, cost=SHARED)
async def a_command_that_takes_too_long_ends_the_sync(provider: Provider, lease: Lease) -> None:
    """A postUploadCommand that is still running after its timeoutMs is ended, and counts as failed."""
    place = await place_for_sync(provider, lease)
    # Ends by itself after 15 s with success, so that a limit which is not kept shows in the answer.
    slow = "i=0; while [ $i -lt 300 ]; do sleep 0.05; i=$((i + 1)); done"
    write_new(place.host / "file", b"file")

    answer = await answer_of(
        provider.sync_in(
            lease,
            [
                operation(
                    file(place.host / "file", f"{place.remote}/file"),
                    commands=[command(slow, timeoutMs=500), command(f": > {quote(f'{place.remote}/after')}")],
                )
            ],
        )
    )

    expect_error(answer, what="a sync with a command of 15 seconds and a timeoutMs of 500", advice=REJECT)
    seen = await tree_at(provider, lease, place.remote)
    wanted = tree_of({"file": b"file"})
    expect_tree(answer, "the directory that the next command writes to", seen, wanted, advice=REJECT)


@check("SYNC-014", level=SHOULD, needs=IN, cost=SHARED)
async def a_command_elsewhere_is_refused_before_it_runs(provider: Provider, lease: Lease) -> None:
    """A cwd outside every target of its operation is refused; the host never sends one, so somebody else did."""
    place = await place_for_sync(provider, lease)
    write_new(place.host / "file", b"file")
    await place_tree(provider, lease, place.remote, tree_of({"elsewhere": Folder(), "to": Folder()}))

    answer = await answer_of(
        provider.sync_in(
            lease,
            [
                operation(
                    file(place.host / "file", f"{place.remote}/to/file"),
                    commands=[command(": > ran", cwd=f"{place.remote}/elsewhere")],
                )
            ],
        )
    )

    expect_error(answer, what="a command whose cwd is in no target of its operation")
    seen = await tree_at(provider, lease, f"{place.remote}/elsewhere")
    expect_tree(
        answer, "the directory elsewhere", seen, Tree({}), advice="Check every cwd before the first byte moves."
    )


# -- order and failure -----------------------------------------------------------------------------------------------


@check("SYNC-015", level=MUST, needs=IN, cost=SHARED)
async def operations_in_run_in_order(provider: Provider, lease: Lease) -> None:
    """Operations, and the files of one, are done one after another: the last one that writes a path wins."""
    place = await place_for_sync(provider, lease)
    contents = {f"{number}": f"version {number}".encode() for number in range(8)}
    build(tree_of({**contents}), place.host / "from")
    sources = [place.host / "from" / name for name in contents]

    answer = await provider.sync_in(
        lease,
        [
            operation(*[file(source, f"{place.remote}/within") for source in sources]),
            *[
                operation(file(source, f"{place.remote}/across"), number=number)
                for number, source in enumerate(sources, 2)
            ],
        ],
    )

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the target", seen, tree_of({"within": b"version 7", "across": b"version 7"}))


@check("SYNC-015", level=MUST, needs=IN, cost=SHARED)
async def files_and_directories_go_in_in_order(provider: Provider, lease: Lease) -> None:
    """A directory replaces what an operation before it brought, and a file that comes after it stays."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"file": b"file", "folder/inner": b"inner"}), place.host / "from")
    source = place.host / "from"

    answer = await provider.sync_in(
        lease,
        [
            operation(file(source / "file", f"{place.remote}/to/before"), number=1),
            operation(directory(source / "folder", f"{place.remote}/to"), number=2),
            operation(file(source / "file", f"{place.remote}/to/after"), number=3),
        ],
    )

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(answer, "the directory above", seen, tree_of({"to/inner": b"inner", "to/after": b"file"}))


@check("SYNC-015", level=MUST, needs=OUT, cost=SHARED)
async def operations_out_run_in_order(provider: Provider, lease: Lease) -> None:
    """On the way out too, the last one that writes a path wins."""
    place = await place_for_sync(provider, lease)
    contents = {f"{number}": f"version {number}".encode() for number in range(8)}
    await place_tree(provider, lease, place.remote, tree_of({**contents}))
    build(Tree({}), place.host / "to")
    sources = [f"{place.remote}/{name}" for name in contents]

    answer = await provider.sync_out(
        lease,
        [
            operation(*[file(source, place.host / "to" / "within") for source in sources]),
            *[
                operation(file(source, place.host / "to" / "across"), number=number)
                for number, source in enumerate(sources, 2)
            ],
        ],
    )

    wanted = tree_of({"within": b"version 7", "across": b"version 7"})
    expect_tree(answer, "the target", listing(place.host / "to"), wanted)


@check("SYNC-015", level=MUST, needs=IN, cost=SHARED)
async def a_missing_source_ends_the_sync_in(provider: Provider, lease: Lease) -> None:
    """A file or directory that is not there is an error: nothing takes its place, and no later operation is done."""
    place = await place_for_sync(provider, lease)
    write_new(place.host / "good", b"good")
    before = tree_of({"file/to": b"the old file", "folder/later": b"old"})
    await place_tree(provider, lease, place.remote, before)
    good, missing = place.host / "good", place.host / "missing"

    for mapping, kind in ((file, "file"), (directory, "folder")):
        target = f"{place.remote}/{kind}"
        answer = await answer_of(
            provider.sync_in(
                lease,
                [
                    operation(mapping(missing, f"{target}/to")),
                    operation(file(good, f"{target}/later"), number=2),
                ],
            )
        )
        expect_error(answer, what=f"a sync whose first of two operations has a missing source, a {kind}", advice=REJECT)
    seen = await tree_at(provider, lease, place.remote)
    expect_tree(provider, "the directory in the sandbox", seen, before, advice=REJECT)
    await expect_alive(provider)


@check("SYNC-015", level=MUST, needs=OUT, cost=SHARED)
async def a_missing_source_ends_the_sync_out(provider: Provider, lease: Lease) -> None:
    """A file or directory that is not in the sandbox is an error: the old file stays, and no later one is written."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, tree_of({"good": b"good"}))
    before = tree_of({"file/to": b"the old file", "folder/later": b"old"})
    build(before, place.host / "to")
    good, missing = f"{place.remote}/good", f"{place.remote}/missing"

    for mapping, kind in ((file, "file"), (directory, "folder")):
        target = place.host / "to" / kind
        answer = await answer_of(
            provider.sync_out(
                lease,
                [operation(mapping(missing, target / "to")), operation(file(good, target / "later"), number=2)],
            )
        )
        expect_error(answer, what=f"a sync whose first of two operations has a missing source, a {kind}", advice=REJECT)
    expect_tree(provider, "the directory on the host", listing(place.host / "to"), before, advice=REJECT)
    await expect_alive(provider)


@check("SYNC-015", level=SHOULD, needs=IN, cost=SHARED)
async def a_source_of_the_other_kind_does_not_go_in(provider: Provider, lease: Lease) -> None:
    """A directory that is mapped as a file is an error, and so is a file that is mapped as a directory."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"folder/file": b"file", "file": b"file"}), place.host / "from")
    source = place.host / "from"

    for mapping in (file(source / "folder", f"{place.remote}/a"), directory(source / "file", f"{place.remote}/b")):
        answer = await answer_of(provider.sync_in(lease, [operation(mapping)]))
        expect_error(answer, what=f"a source that is no {mapping['kind']}", advice=REJECT)


@check("SYNC-015", level=SHOULD, needs=OUT, cost=SHARED)
async def a_source_of_the_other_kind_does_not_come_out(provider: Provider, lease: Lease) -> None:
    """A directory that is mapped as a file is an error, and so is a file that is mapped as a directory."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, tree_of({"folder/file": b"file", "file": b"file"}))

    for mapping in (
        file(f"{place.remote}/folder", place.host / "a"),
        directory(f"{place.remote}/file", place.host / "b"),
    ):
        answer = await answer_of(provider.sync_out(lease, [operation(mapping)]))
        expect_error(answer, what=f"a source that is no {mapping['kind']}", advice=REJECT)


# -- files and directories out ---------------------------------------------------------------------------------------


@check("SYNC-016", level=MUST, needs=OUT, cost=SHARED)
async def a_directory_comes_out_to_an_empty_or_a_missing_one(provider: Provider, lease: Lease) -> None:
    """The host makes the target directory before it asks, or does not: both are right, and both work."""
    wanted = tree_of({"file": b"file", "deep/er/file": b"file"})
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, wanted)
    build(tree_of({"empty": Folder()}), place.host / "to")

    for name in ("empty", "missing"):
        target = place.host / "to" / name
        answer = await answer_of(provider.sync_out(lease, [operation(directory(place.remote, target))]))
        expect_answered(answer, advice=f"The target directory is {name} before the sync.")
        expect_tree(answer, f"the target that was {name}", listing(target), wanted)


@check("SYNC-016", level=MUST, needs=OUT, cost=SHARED)
async def a_directory_of_many_files_comes_out(provider: Provider, lease: Lease) -> None:
    """All files of a directory come out, also where a list of them has more than one page or is a long command."""
    await _comes_out(provider, lease, MANY_FILES, MANY_FILES)


@check("SYNC-016", level=MUST, needs=OUT, cost=Cost.SHARED)
async def the_workspace_itself_comes_out(provider: Provider, spare: Lease) -> None:
    """At the end of a run the host takes the workspace as a whole, into an empty directory."""
    place = await place_for_sync(provider, spare)
    wanted = tree_of({"file": b"file", "deep/er/file": b"file"})
    await place_tree(provider, spare, place.remote, wanted)
    build(Tree({}), place.host / "to")

    answer = await provider.sync_out(spare, [operation(directory(spare.remote_cwd, place.host / "to"))])

    # The provider may keep files of its own in a fresh workspace, so only a part of it is known.
    seen = listing(place.host / "to").below(place.remote.rpartition("/")[2].encode())
    expect_tree(answer, "the part of the workspace that was filled", seen, wanted)


@check("SYNC-017", level=MUST, needs=OUT, cost=SHARED)
async def files_come_out_byte_for_byte(provider: Provider, lease: Lease) -> None:
    """A file that comes out has the same bytes on the host, and none at all if it has none; an old one is replaced."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, CONTENTS)
    build(tree_of({"text": b"a longer file that was there before the sync"}), place.host / "to")
    names = [path.decode() for path in CONTENTS.entries]

    answer = await provider.sync_out(
        lease, [operation(*[file(f"{place.remote}/{name}", place.host / "to" / name) for name in names])]
    )

    expect_tree(answer, "the directory on the host", listing(place.host / "to"), CONTENTS)


@check("SYNC-017", level=SHOULD, needs=OUT, cost=SHARED)
async def single_files_come_out_under_any_name(provider: Provider, lease: Lease) -> None:
    """Blanks, quotes, a dash, a newline in sourcePath and targetPath are letters of a name, and nothing else."""
    place = await place_for_sync(provider, lease)
    await place_tree(provider, lease, place.remote, ODD_FILES)
    build(Tree({}), place.host / "to")
    names = [path.decode() for path in ODD_FILES.entries]

    answer = await answer_of(
        provider.sync_out(
            lease, [operation(*[file(f"{place.remote}/{name}", place.host / "to" / name) for name in names])]
        )
    )

    expect_tree(answer, "the directory on the host", listing(place.host / "to"), ODD_FILES, advice=QUOTE)


@check("SYNC-017", level=MUST, needs=OUT, cost=SHARED)
async def a_file_of_10_mb_comes_out(provider: Provider, lease: Lease) -> None:
    """The size of a file is not limited by what the backend hands out in one answer."""
    place = await place_for_sync(provider, lease)
    path = f"{place.remote}/large"
    await run_to_success(provider, lease, f"dd if=/dev/urandom of={quote(path)} bs=1000000 count=10 2>/dev/null")
    wanted = await digest_at(provider, lease, path)

    answer = await provider.sync_out(lease, [operation(file(path, place.host / "large"))])

    seen = entry_at(place.host / "large")
    content = seen.content if isinstance(seen, File) else b""
    digest = hashlib.sha256(content).hexdigest()
    expect_equal(answer, "the SHA-256 of the file on the host", digest, wanted, advice="Fetch large files in pieces.")


# -- a hostile sandbox -----------------------------------------------------------------------------------------------


@check("SYNC-018", level=MUST, needs=OUT, cost=SHARED)
async def a_second_sync_does_not_go_through_links_of_the_first(provider: Provider, lease: Lease) -> None:
    """A link that one sync brought out is replaced by the next, never followed: behind it lies the host."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    links = {
        "door": Link(b"../../outside"),
        "absolute": Link(str(around.outside).encode()),
        "chain": Link(b"door/private"),
        "file": Link(b"../../outside/canary"),
        "deep/door": Link(b"../../../outside"),
    }
    await place_tree(provider, lease, f"{place.remote}/first", tree_of(links))
    bait = {"canary": b"pwned", "key": b"pwned", "new": b"pwned"}
    through = {
        f"{door}/{name}": content
        for door in ("door", "absolute", "chain", "deep/door")
        for name, content in bait.items()
    }
    await place_tree(provider, lease, f"{place.remote}/second", tree_of({**through, "file": b"pwned"}))

    for name in ("first", "second"):
        answer = await answer_of(
            provider.sync_out(lease, [operation(directory(f"{place.remote}/{name}", around.mapped))])
        )
        expect_untouched(
            answer, around, advice="Open the target with O_NOFOLLOW at every step, or unpack elsewhere first."
        )


@check("SYNC-018", level=MUST, needs=OUT, cost=SHARED)
async def a_target_that_became_a_link_is_not_followed(provider: Provider, lease: Lease) -> None:
    """A file or directory goes where the host says, also when an earlier sync left a link of that name there."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    links = {
        "file": Link(b"../../outside/canary"),
        "folder": Link(b"../../outside"),
        "none": Link(b"../../outside/new"),
    }
    await place_tree(provider, lease, f"{place.remote}/links", tree_of(links))
    await place_tree(provider, lease, f"{place.remote}/bait", tree_of({"canary": b"pwned"}))
    await answer_of(provider.sync_out(lease, [operation(directory(f"{place.remote}/links", around.mapped))]))

    for mapping, source, name in (
        (file, "bait/canary", "file"),
        (file, "bait/canary", "none"),
        (directory, "bait", "folder"),
    ):
        answer = await answer_of(
            provider.sync_out(lease, [operation(mapping(f"{place.remote}/{source}", around.mapped / name))])
        )
        expect_untouched(answer, around, advice="Replace a link at the target, never write through it.")


@check("SYNC-018", level=MUST, needs=OUT, cost=SHARED)
async def a_tree_of_traps_stays_inside_the_target(provider: Provider, lease: Lease) -> None:
    """Names like paths, links in circles and out, a deep tree, a pipe, a device: nothing is written elsewhere."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    traps = {
        "..\\..\\outside\\new": b"pwned",
        "%2e%2e%2foutside%2fnew": b"pwned",
        "..;": b"pwned",
        "circle": Link(b"circle"),
        "here": Link(b"."),
        "up": Link(b".."),
        "root": Link(b"/"),
        "down/up": Link(b"../.."),
        "/".join(["deep"] * 100): b"deep",
        "pipe": Special(SpecialKind.PIPE),
    }
    await place_tree(provider, lease, place.remote, tree_of(traps))
    script = "dd if=/dev/zero of=sparse bs=1 count=1 seek=16777216 2>/dev/null; mknod device c 1 3 2>/dev/null || true"
    await run_to_success(provider, lease, script, cwd=place.remote)

    answer = await answer_of(provider.sync_out(lease, [operation(directory(place.remote, around.mapped))]))

    expect_untouched(answer, around)
    await expect_alive(provider)


@check("SYNC-018", level=SHOULD, needs=OUT, cost=SHARED)
async def a_pipe_in_the_tree_holds_nobody_up(provider: Provider, lease: Lease) -> None:
    """A pipe has no content: it is left out, or refused, but never waited for."""
    place = await place_for_sync(provider, lease)
    tree = tree_of({"before": b"file", "pipe": Special(SpecialKind.PIPE), "zebra": b"file"})
    await place_tree(provider, lease, place.remote, tree)

    answer = await answer_of(provider.sync_out(lease, [operation(directory(place.remote, place.host / "to"))]))

    expect(
        answer,
        answer.fault is None or answer.error_code is not None,
        that="the sync is answered, with a result or an error",
        observed=answer.came,
        advice="Look at the kind of each entry before you open it, and open with O_NONBLOCK.",
    )


@check("SYNC-019", level=MUST, needs=OUT, cost=SHARED)
async def nothing_is_read_through_links_that_lead_out(provider: Provider, lease: Lease) -> None:
    """A link that leads out of sourcePath comes out as a link or not at all; what it leads to never does."""
    place = await place_for_sync(provider, lease)
    marker = provider.new_id()
    await place_tree(provider, lease, f"{place.remote}/outside", tree_of({"secret": marker.encode()}))
    outside = f"{place.remote}/outside"
    links = {
        "relative": Link(b"../outside/secret"),
        "absolute": Link(f"{outside}/secret".encode()),
        "folder": Link(b"../outside"),
        "chain": Link(b"folder/secret"),
        "deep/er/link": Link(b"../../../outside/secret"),
    }
    await place_tree(provider, lease, f"{place.remote}/from", tree_of(links))

    answer = await answer_of(
        provider.sync_out(lease, [operation(directory(f"{place.remote}/from", place.host / "to"))])
    )

    leaked = holds_marker(listing(place.host), marker)
    expect(
        answer,
        not leaked,
        that="nothing from outside sourcePath is on the host",
        observed=f"the secret stands in {', '.join(leaked)}" if leaked else "no file holds the secret",
        advice="Never follow a link while you read the tree, unless followSymlinks is true.",
    )


@check("SYNC-019", level=MUST, needs=OUT, cost=SHARED)
async def a_source_that_is_a_link_does_not_read_the_host(provider: Provider, lease: Lease) -> None:
    """A sandbox may put a link in the place of a source: files of the host that it names are never read."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    links = {
        "file": Link(str(around.secret).encode()),
        "folder": Link(str(around.outside).encode()),
        "parent": Link(str(around.outside.parent).encode()),
    }
    await place_tree(provider, lease, place.remote, tree_of(links))

    for mapping, source in ((file, "file"), (directory, "folder"), (file, "parent/outside/canary")):
        answer = await answer_of(
            provider.sync_out(lease, [operation(mapping(f"{place.remote}/{source}", around.mapped))])
        )
        leaked = holds_marker(
            listing(around.mapped.parent).without([b"canary", b"mappe", b"mapped-too"]), around.marker
        )
        single = entry_at(around.mapped)
        expect(
            answer,
            not leaked and not (isinstance(single, File) and around.marker.encode() in single.content),
            that="no file of the host is read through the sandbox",
            observed=f"the host's file came back as {leaked or 'the target'}",
            advice="Open every part of a sandbox path with O_NOFOLLOW, starting from the sandbox's own root.",
        )
    expect_untouched(provider, around)


@check("SYNC-019", level=MUST, needs=OUT, cost=SHARED)
async def a_directory_that_turns_into_a_link_is_not_followed(provider: Provider, lease: Lease) -> None:
    """Code in the sandbox may swap a directory for a link between look and read; the host behind it is not read."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    build(Tree({}), around.mapped)
    end = await start_swapping(provider, lease, f"{place.remote}/swapping", around.outside)
    source = f"{place.remote}/swapping/tree"

    answers = [
        await answer_of(provider.sync_out(lease, [operation(directory(source, around.mapped / f"{number}"))]))
        for number in range(SWAPPED_SYNCS)
    ]

    await stop_swapping(provider, lease, end)
    leaked = holds_marker(listing(around.mapped), around.marker)
    expect(
        answers[-1],
        not leaked,
        that="no file of the host from behind the links is in the target",
        observed=f"the host's file stands in {', '.join(leaked)}" if leaked else "no file holds the host's secret",
        advice="Open with O_NOFOLLOW, relative to the directory that is open already, and look at what was opened.",
    )
    expect_untouched(answers[-1], around)


@check("SYNC-020", level=SHOULD, needs=IN, cost=SHARED)
async def nothing_is_written_through_a_link_above_the_target(provider: Provider, lease: Lease) -> None:
    """Code in the sandbox may turn a directory above a target into a link: what lies behind it stays as it is."""
    place = await place_for_sync(provider, lease)
    # Sandboxes of a local provider share this place, those of another run with the same seed too: no id from the seed.
    outside = f"{'/var/tmp' if lease.remote_cwd == '/tmp' else '/tmp'}/{uuid4()}"
    before = tree_of({"file": b"outside", "folder/file": b"outside"})
    await place_tree(provider, lease, outside, before)
    await place_tree(
        provider, lease, place.remote, tree_of({"door": Link(outside.encode()), "in/door": Link(outside.encode())})
    )
    build(tree_of({"file": b"pwned"}), place.host / "from")
    source = place.host / "from"

    for mapping in (
        file(source / "file", f"{place.remote}/door/file"),
        file(source / "file", f"{place.remote}/door/new/file"),
        directory(source, f"{place.remote}/door/folder"),
        directory(source, f"{place.remote}/in/door"),
    ):
        answer = await answer_of(provider.sync_in(lease, [operation(mapping)]))
        seen = await tree_at(provider, lease, outside)
        advice = "Walk to the target from the workspace's root, and follow no link that leads out of it."
        expect_tree(answer, "the directory behind the link", seen, before, advice=advice)
    await run_to_success(provider, lease, f"rm -rf {quote(outside)}")


@check("SYNC-021", level=SHOULD, needs=IN, cost=SHARED)
async def a_failed_sync_in_leaves_no_scratch_files(provider: Provider, lease: Lease) -> None:
    """Whatever fails, drafts and archives that the sync needed are removed on both sides."""
    place = await place_for_sync(provider, lease)
    build(tree_of({"file": b"file", "folder/file": b"file"}), place.host / "from")
    await place_tree(provider, lease, place.remote, tree_of({"plain": b"file"}))
    source, before = place.host / "from", listing(place.host)

    for failing in (
        operation(file(source / "file", f"{place.remote}/{'x' * 300}")),
        operation(file(source / "file", f"{place.remote}/plain/file")),
        operation(file(source / "file", f"{place.remote}/good"), file(source / "missing", f"{place.remote}/to")),
        operation(directory(source / "folder", f"{place.remote}/folder"), commands=[command("exit 3")]),
    ):
        await answer_of(provider.sync_in(lease, [failing]))

    seen = await tree_at(provider, lease, place.remote)
    made = tree_of({"plain": b"file", "good": b"file", "folder/file": b"file"})
    # What was done before the failure may stay or go; nothing else may be there.
    wanted = Tree({path: entry for path, entry in made.entries.items() if path in seen.entries})
    expect_tree(provider, "the directory in the sandbox", seen, wanted, advice="Remove drafts in a finally block.")
    expect_tree(provider, "the directory on the host", listing(place.host), before)


@check("SYNC-021", level=SHOULD, needs=OUT, cost=SHARED)
async def a_failed_sync_out_leaves_no_scratch_files(provider: Provider, lease: Lease) -> None:
    """Whatever fails, drafts and archives that the sync needed are removed on both sides."""
    place = await place_for_sync(provider, lease)
    before = tree_of({"file": b"file", "folder/file": b"file"})
    await place_tree(provider, lease, place.remote, before)
    build(tree_of({"plain": b"file"}), place.host / "to")
    target = place.host / "to"

    for failing in (
        operation(file(f"{place.remote}/file", target / ("x" * 300))),
        operation(file(f"{place.remote}/file", target / "plain" / "file")),
        operation(file(f"{place.remote}/file", target / "good"), file(f"{place.remote}/missing", target / "bad")),
        operation(directory(f"{place.remote}/missing", target / "folder")),
    ):
        await answer_of(provider.sync_out(lease, [failing]))

    made = tree_of({"plain": b"file", "good": b"file"})
    seen = listing(target)
    wanted = Tree({path: entry for path, entry in made.entries.items() if path in seen.entries})
    expect_tree(provider, "the directory on the host", seen, wanted, advice="Remove drafts in a finally block.")
    expect_tree(provider, "the directory in the sandbox", await tree_at(provider, lease, place.remote), before)


# -- the call itself -------------------------------------------------------------------------------------------------


@check("SYNC-001", level=MUST, needs=IN, cost=SHARED, since="2026.831")
async def the_answer_accounts_for_every_operation(provider: Provider, lease: Lease) -> None:
    """The answer lists each operation under its own id, with counts that are numbers and not negative."""
    place = await place_for_sync(provider, lease)
    write_new(place.host / "file", b"file")
    operations = [operation(file(place.host / "file", f"{place.remote}/{number}"), number=number) for number in (7, 3)]

    answer = await provider.sync_in(lease, operations)

    expect_shape(answer)
    ids = [entry["operationId"] for entry in answer.fields["operations"]]
    expect_equal(answer, "the list of operation ids", sorted(ids), ["sync-op-3", "sync-op-7"])


@check("SYNC-022", level=MUST, needs=IN, cost=SHARED)
async def a_sync_in_of_nothing_works(provider: Provider, lease: Lease) -> None:
    """No operations, an operation without files, and one with commands only are all answered with a result."""
    place = await place_for_sync(provider, lease)
    only_commands = operation(commands=[command(f": > {quote(f'{place.remote}/ran')}")])

    for operations in ([], [operation()], [operation(commands=[])], [only_commands]):
        answer = await answer_of(provider.sync_in(lease, operations))
        expect_answered(answer, advice="An empty list is nothing to do, and nothing to do is a success.")
    seen = await tree_at(provider, lease, place.remote)
    expect_tree(provider, "the directory that the command writes to", seen, tree_of({"ran": b""}))


@check("SYNC-022", level=MUST, needs=OUT, cost=SHARED)
async def a_sync_out_of_nothing_works(provider: Provider, lease: Lease) -> None:
    """No operations, and an operation without files, are answered with a result."""
    await place_for_sync(provider, lease)

    for operations in ([], [operation()]):
        answer = await answer_of(provider.sync_out(lease, operations))
        expect_answered(answer, advice="An empty list is nothing to do, and nothing to do is a success.")


@check("SYNC-023", level=MUST, needs=IN, cost=Cost.SHARED)
async def syncs_of_two_leases_do_not_mix(provider: Provider, lease: Lease, spare: Lease) -> None:
    """Two leases are synced at once, in and out, under the same operation ids and names: each keeps its own files."""
    leases = [lease, spare]
    places = [await place_for_sync(provider, one) for one in leases]
    names = [SAME_NAME, *[f"folder/{number}" for number in range(20)]]
    trees = [tree_of({name: f"{name} of lease {index}".encode() * 100 for name in names}) for index in range(2)]
    everywhere = list(zip(leases, places, trees, strict=True))
    for _, place, tree in everywhere:
        build(tree, place.host / "from")
        build(Tree({}), place.host / "to")

    into, out_of = (
        [
            [
                operation(
                    directory(f"{source}/folder", f"{target}/folder"),
                    file(f"{source}/{SAME_NAME}", f"{target}/{SAME_NAME}"),
                )
            ]
            for source, target in pairs
        ]
        for pairs in (
            [(place.host / "from", place.remote) for place in places],
            [(place.remote, place.host / "to") for place in places],
        )
    )
    await asyncio.gather(*(provider.sync_in(one, moved) for one, moved in zip(leases, into, strict=True)))
    inside = [await tree_at(provider, one, place.remote) for one, place, _ in everywhere]
    await asyncio.gather(*(provider.sync_out(one, moved) for one, moved in zip(leases, out_of, strict=True)))

    advice = "Give every scratch file a name of its own, or keep it in the sandbox that it belongs to."
    for (_, place, tree), seen in zip(everywhere, inside, strict=True):
        expect_tree(provider, "the directory in the sandbox", seen, tree, advice=advice)
        expect_tree(provider, "the directory on the host", listing(place.host / "to"), tree, advice=advice)


@check("SYNC-025", level=SHOULD, needs=IN, cost=Cost.LONG, alone=True)
async def a_large_sync_ends_in_time_and_holds_nobody_up(provider: Provider, spare: Lease) -> None:
    """A sync of 200 MB, in and out, is answered in time, and short commands on the lease are answered meanwhile."""
    lease = with_time(provider, spare)
    place = await place_for_sync(provider, lease)
    inside = f"{place.remote}/large"

    with large_file(provider) as source:
        into = await commands_beside(provider, lease, provider.sync_in(lease, [operation(file(source, inside))]))
        back = source.with_name("back")
        out = await commands_beside(provider, lease, provider.sync_out(lease, [operation(file(inside, back))]))
        sizes = (source.stat().st_size, back.stat().st_size)

    for name, beside in (("in", into), ("out", out)):
        expect(
            beside.answer,
            not beside.held_up,
            that=f"a short command is answered while the sync {name} is open",
            observed=f"{beside.overtook} answered before it; the quickest took {beside.best:.3f} s beside it and "
            f"{beside.alone:.3f} s alone",
            advice="Do not hold a lock on the lease while bytes move.",
        )
    expect_equal(out.answer, "the size of the file that came back", sizes[1], sizes[0])
