"""FALL: files moved by the host over commands, in exactly the shapes that it sends."""

import asyncio
import hashlib
import re

from conformance.checks import check
from conformance.expect import expect, expect_equal
from conformance.files.compare import expect_tree
from conformance.files.readers import END_ROUNDS, end_readers, start_readers
from conformance.files.sandbox import digest_at, make_place, place_tree, tree_at, wait_for
from conformance.files.tools import IMAGE_TOOLS, RUN_TOOLS, expect_tools
from conformance.files.tree import OWNER_BITS, File, Folder, Link, Tree, tree_of
from conformance.host.lease import Lease
from conformance.model import Cost, Level
from conformance.provider import Provider
from conformance.steps import quote, run_script, run_to_success
from conformance.transfer.bridge import CHANNEL, Bridge, read_from_queue, write_response, write_to_queue
from conformance.transfer.carrier import Carrier
from conformance.transfer.steps import (
    ALWAYS_OUT,
    BLOCK_BYTES,
    Step,
    delete_paths,
    list_files,
    patterns_of,
    set_mode,
    unpack_workspace,
)

MUST, SHOULD, SHARED = Level.MUST, Level.SHOULD, Cost.SHARED

LARGE_BYTES = 10_000_000
"""Three whole blocks of the host's transfer and a rest."""

FEW_ROUNDS = 4
"""The host looks longer whether the process has ended; the check waits for what it does at its end."""

ODD_NAME = 'it\'s "odd" -- $HOME `id` *\nä'
"""Quotes of all kinds, blanks, a newline, what a shell would expand; no backslash, which some tars take for a sign."""

WHOLE_STDIN = "Pass stdin on whole, whatever its size: the host sends 4,194,304 characters at a time."
WHOLE_STDOUT = "Return stdout whole and add nothing to it: the host reads 4.3 MB at a time."


# -- files -----------------------------------------------------------------------------------------------------------


@check("FALL-001", level=MUST, cost=SHARED)
async def a_file_of_10_mb_goes_up_in_blocks(provider: Provider, lease: Lease) -> None:
    """A large file goes up in blocks of 3 MiB over stdin, one command after another, and is the same file then."""
    content = provider.random.randbytes(LARGE_BYTES)
    place = await make_place(provider, lease)

    outcome = await Carrier(provider, lease).upload(f"{place.remote}/large", content)

    digest = await digest_at(provider, lease, f"{place.remote}/large")
    wanted = hashlib.sha256(content).hexdigest()
    expect_equal(outcome, "the SHA-256 of the file", digest, wanted, advice=WHOLE_STDIN)


@check("FALL-001", level=MUST, cost=SHARED)
async def empty_files_and_odd_paths_go_up(provider: Provider, lease: Lease) -> None:
    """A file of no bytes and a path with quotes, blanks and a newline are nothing special to the host's upload."""
    wanted = tree_of({"empty": b"", f"new/folder/{ODD_NAME}": b"odd\0\xff", "-rf": b"dash"})
    place = await make_place(provider, lease)
    carrier = Carrier(provider, lease)

    await carrier.upload(f"{place.remote}/empty", b"")
    await carrier.upload(f"{place.remote}/-rf", b"dash")
    outcome = await carrier.upload(f"{place.remote}/new/folder/{ODD_NAME}", b"odd\0\xff")

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(outcome, "the directory", seen, wanted, advice="Hand the script to the shell as one argument, unread.")


@check("FALL-001", level=MUST, cost=SHARED)
async def a_file_goes_up_with_its_mode(provider: Provider, lease: Lease) -> None:
    """A file with a mode goes up under another name, gets the mode, and is put in place: 0600 stays 0600."""
    wanted = tree_of({"secret": File(b"hidden", 0o600), "tool": File(b"#!/bin/sh\n", 0o755)})
    place = await make_place(provider, lease)
    carrier = Carrier(provider, lease)

    await carrier.upload(f"{place.remote}/secret.up", b"hidden")
    await carrier.send(set_mode(f"{place.remote}/secret.up", f"{place.remote}/secret", 0o600))
    await carrier.upload(f"{place.remote}/tool.up", b"#!/bin/sh\n")
    outcome = await carrier.send(set_mode(f"{place.remote}/tool.up", f"{place.remote}/tool", 0o755))

    expect_tree(outcome, "the directory", await tree_at(provider, lease, place.remote), wanted)


@check("FALL-002", level=MUST, cost=SHARED)
async def a_file_of_10_mb_comes_down_in_blocks(provider: Provider, lease: Lease) -> None:
    """A large file comes down as its size and then blocks in base64, which together have that size."""
    place = await make_place(provider, lease)
    path = f"{place.remote}/large"
    await run_to_success(provider, lease, f"dd if=/dev/urandom of={quote(path)} bs=1000000 count=10 2>/dev/null")
    wanted = await digest_at(provider, lease, path)

    content = await Carrier(provider, lease).download(path)

    digest = hashlib.sha256(content).hexdigest()
    expect_equal(provider, "the SHA-256 of the file that came down", digest, wanted, advice=WHOLE_STDOUT)


@check("FALL-002", level=MUST, cost=SHARED)
async def files_of_no_byte_and_of_one_whole_block_come_down(provider: Provider, lease: Lease) -> None:
    """A file of no bytes needs no block, and one of exactly 3,145,728 bytes needs one; the path may be odd."""
    place = await make_place(provider, lease)
    empty, whole = f"{place.remote}/{ODD_NAME}", f"{place.remote}/whole"
    script = f": > {quote(empty)} && dd if=/dev/zero of={quote(whole)} bs={BLOCK_BYTES} count=1 2>/dev/null"
    await run_to_success(provider, lease, script)
    carrier = Carrier(provider, lease)

    contents = [await carrier.download(empty), await carrier.download(whole)]

    same = contents == [b"", bytes(BLOCK_BYTES)]
    sizes = [len(content) for content in contents]
    expect(provider, same, that="0 bytes, and 3,145,728 zero bytes, come down", observed=f"{sizes} bytes came")


# -- directories -----------------------------------------------------------------------------------------------------


@check("FALL-003", level=MUST, cost=SHARED)
async def a_directory_goes_up_as_an_archive(provider: Provider, lease: Lease) -> None:
    """A directory goes up as a tar that replaces what was there: stale entries go, modes and links stay."""
    wanted = tree_of(
        {
            "plain": b"text\n",
            "tool": File(b"#!/bin/sh\n", 0o755),
            "secret": File(b"hidden", 0o600),
            f"deep/er/{ODD_NAME}": bytes(range(256)),
            "empty": Folder(),
            "link": Link(b"deep/er"),
            "dangling": Link(b"no/where"),
        }
    )
    place = await make_place(provider, lease)
    folder = f"{place.remote}/it's a folder"
    await place_tree(provider, lease, folder, tree_of({"stale/file": b"old", ".stale": b"old", "plain": b"old"}))

    outcome = await Carrier(provider, lease).put_directory(folder, wanted)

    seen = await tree_at(provider, lease, folder)
    # Unpacking as an ordinary user takes away what the umask says, so only the owner's bits are sure.
    expect_tree(outcome, "the directory", seen.with_bits(OWNER_BITS), wanted.with_bits(OWNER_BITS))


@check("FALL-003", level=MUST, cost=SHARED)
async def an_empty_directory_goes_up(provider: Provider, lease: Lease) -> None:
    """An empty directory is an archive of 1,024 zero bytes, and the image's tar has to take it."""
    place = await make_place(provider, lease)
    folder = f"{place.remote}/folder"
    await place_tree(provider, lease, folder, tree_of({"stale": b"old"}))

    outcome = await Carrier(provider, lease).put_directory(folder, Tree({}))

    seen = await tree_at(provider, lease, place.remote)
    expect_tree(outcome, "the directory above", seen, tree_of({"folder": Folder()}))


@check("FALL-004", level=MUST, cost=SHARED)
async def the_wipe_of_the_workspace_spares_the_names_to_keep(provider: Provider, lease: Lease) -> None:
    """Before the workspace is unpacked all in it goes, also names with a dot or a dash, but not the kept ones."""
    place = await make_place(provider, lease)
    workspace = f"{place.remote}/work space"
    kept = {".paperclip-runtime/tools/a": File(b"tool", 0o755), ".git/config": b"kept"}
    stale = {"old/file": b"old", ".old": b"old", "-old": b"old", ODD_NAME: b"old", "link": Link(b"old/file")}
    await place_tree(provider, lease, workspace, tree_of({**kept, **stale}))
    carrier = Carrier(provider, lease)
    archive = f"{workspace}/.paperclip-runtime/workspace-upload.tar"
    new = {"new": b"new", "old/other": b"new"}
    await carrier.upload_tree(archive, tree_of(new))

    outcome = await carrier.send(unpack_workspace(workspace, archive, [".paperclip-runtime", ".git"]))

    seen = await tree_at(provider, lease, workspace)
    expect_tree(outcome, "the workspace", seen, tree_of({**kept, **new}))


@check("FALL-004", level=MUST, cost=SHARED)
async def a_layer_on_top_of_the_workspace_removes_nothing(provider: Provider, lease: Lease) -> None:
    """A second archive goes on top of the workspace, and then only those paths go that were deleted on the host."""
    place = await make_place(provider, lease)
    workspace = f"{place.remote}/work space"
    below = {"a": b"below", "b": b"below", "folder/c": b"below", ODD_NAME: b"below"}
    await place_tree(provider, lease, workspace, tree_of(below))
    carrier = Carrier(provider, lease)
    archive = f"{workspace}/.runtime/upload.tar"
    await carrier.upload_tree(archive, tree_of({"a": b"on top", "folder/d": b"on top"}))

    await carrier.send(unpack_workspace(workspace, archive, None))
    outcome = await carrier.send(delete_paths(workspace, [ODD_NAME, "folder/c", "never there"]))

    wanted = tree_of({"a": b"on top", "b": b"below", "folder/d": b"on top", ".runtime": Folder()})
    expect_tree(outcome, "the workspace", await tree_at(provider, lease, workspace), wanted)


@check("FALL-005", level=MUST, cost=SHARED)
async def the_workspace_comes_down_through_two_levels_of_quotes(provider: Provider, lease: Lease) -> None:
    """The workspace is archived by a script in quotes within a script, with patterns that must not expand."""
    kept = tree_of(
        {
            "file": b"text\n",
            ".hidden": b"dot",
            "..two": b"dots",
            "-dash": b"dash",
            ODD_NAME: File(bytes(range(256)), 0o755),
            "source/builder/out.txt": b"not a build",
            "source/link": Link(b"../file"),
            "empty": Folder(),
        }
    )
    out = {
        "build/a": b"x",
        "source/node_modules/b": b"x",
        "source/deep/dist/c": b"x",
        ".git/config": b"x",
        "._file": b"x",
    }
    place = await make_place(provider, lease)
    workspace = f'{place.remote}/it\'s a "work" space'
    await place_tree(provider, lease, workspace, Tree({**tree_of(out).entries, **kept.entries}))

    seen = await Carrier(provider, lease).take_directory(workspace, *patterns_of(ALWAYS_OUT), ".git", ".git/*")

    wanted = Tree({**kept.entries, b"source/deep": Folder()})
    expect_tree(provider, "the archive", seen, wanted, advice="Hand each argument to the program as it came.")


@check("FALL-005", level=MUST, cost=SHARED)
async def an_empty_workspace_comes_down(provider: Provider, lease: Lease) -> None:
    """In an empty workspace the wildcard finds nothing, and the host gets 1,024 zero bytes in place of an error."""
    place = await make_place(provider, lease)

    seen = await Carrier(provider, lease).take_directory(place.remote)

    expect_tree(provider, "the archive", seen, Tree({}))


# -- the bridge ------------------------------------------------------------------------------------------------------


@check("FALL-006", level=MUST, cost=SHARED)
async def the_bridge_writes_a_file_through_arguments(provider: Provider, lease: Lease) -> None:
    """A file goes into the bridge's queue as arguments of 32 KiB of base64, and comes back as it was."""
    content = provider.random.randbytes(200 * 1024)
    place = await make_place(provider, lease)
    path = f"{place.remote}/queue/{provider.new_id()}.json"
    carrier = Carrier(provider, lease)

    for step in write_to_queue(path, content, provider.new_id()):
        await carrier.send(step, cwd=lease.remote_cwd, env=CHANNEL)

    outcome = await carrier.send(read_from_queue(path), cwd=lease.remote_cwd, env=CHANNEL)
    came = hashlib.sha256(carrier.decoded(outcome)).hexdigest()
    wanted = hashlib.sha256(content).hexdigest()
    expect_equal(outcome, "the SHA-256 of the file", came, wanted, advice="Pass arguments of 40 KiB on whole.")
    seen = await tree_at(provider, lease, f"{place.remote}/queue")
    expect(outcome, len(seen.entries) == 1, that="no draft is left beside the file", observed=sorted(seen.entries))


@check("FALL-006", level=MUST, cost=SHARED)
async def the_bridge_tells_what_it_wrote_in_json(provider: Provider, lease: Lease) -> None:
    """The bridge's script goes up only when it has changed, an answer is written under a lock; both say so in JSON."""
    place = await make_place(provider, lease)
    bridge = Bridge(f"{place.remote}/bridge's")
    script = b"exit 0\n"
    upload = bridge.upload(script, hashlib.sha256(script).hexdigest())
    answer = write_response(f"{bridge.responses}/1.json", '{"text": "it\'s\\n$HOME"}', provider.new_id())
    carrier = Carrier(provider, lease)

    said = [
        (await carrier.send(step, cwd=lease.remote_cwd, env=CHANNEL)).stdout.strip()
        for step in (upload, upload, answer)
    ]

    wanted = ['{"uploaded":true}', '{"uploaded":false}', '{"wrote":true}']
    expect_equal(provider, "what the three commands printed", said, wanted, advice=WHOLE_STDOUT)
    seen = await tree_at(provider, lease, bridge.folder)
    files = {path: entry.content for path, entry in seen.entries.items() if isinstance(entry, File)}
    expected = {b"server": script, b"queue/responses/1.json": b'{"text": "it\'s\\n$HOME"}'}
    expect(provider, files == expected, that="both files are there, whole", observed=str(files))


@check("FALL-007", level=MUST, cost=SHARED)
async def the_bridge_runs_between_calls_until_it_is_stopped(provider: Provider, lease: Lease) -> None:
    """The bridge is started by one call, outlives it, is seen by others, and is ended by yet another through its id."""
    place = await make_place(provider, lease)
    bridge = Bridge(place.remote)
    script = (
        f"trap ': > {bridge.requests}/2-ended; exit 0' TERM\n: > {quote(bridge.requests)}/1-asked\n"
        f"echo serving\nprintf '{{}}' > {quote(bridge.ready)}\n"
        "i=0; while [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done\n"
    ).encode()
    carrier = Carrier(provider, lease)
    await carrier.upload(bridge.entry, script)

    started = await carrier.send(bridge.start(), cwd=lease.remote_cwd, env=CHANNEL)
    expect(
        started,
        re.fullmatch(r'\{"pid":[0-9]+\}', started.stdout.strip()) is not None,
        that="the command that starts the bridge prints its process id as JSON, and nothing else",
        observed=started.came,
        advice=WHOLE_STDOUT,
    )
    # Ends with 0 when the process is alive and its ready file is there.
    await carrier.send(bridge.wait_until_ready(), cwd=lease.remote_cwd, env=CHANNEL)
    await carrier.send(bridge.stop(FEW_ROUNDS), cwd=lease.remote_cwd, env=CHANNEL)
    await run_script(provider, lease, wait_for(f"{bridge.requests}/2-ended", rounds=END_ROUNDS))
    asked = await carrier.send(list_files(bridge.requests), cwd=lease.remote_cwd, env=CHANNEL)
    expect_equal(
        asked,
        "the list of what the process wrote while it ran and when it was ended",
        asked.stdout.split(),
        ["1-asked", "2-ended"],
        advice="All calls of a lease must see the same processes, so that one can end what another started.",
    )


# -- commands side by side -------------------------------------------------------------------------------------------


@check("FALL-008", level=MUST, cost=SHARED)
async def of_ten_who_make_one_directory_one_succeeds(provider: Provider, lease: Lease) -> None:
    """The host's bridge takes a directory for a lock: of ten commands that make it at once, exactly one may succeed."""
    place = await make_place(provider, lease)
    script = f"mkdir {quote(f'{place.remote}/lock')} 2>/dev/null && echo mine || echo taken"

    outcomes = await asyncio.gather(*(run_script(provider, lease, script) for _ in range(10)))

    said = sorted(outcome.stdout.strip() for outcome in outcomes)
    wanted = ["mine", *["taken"] * 9]
    expect_equal(outcomes[0], "what the ten commands printed", said, wanted, advice="mkdir must be atomic.")


@check("FALL-008", level=MUST, cost=SHARED)
async def a_reader_never_meets_a_file_that_mv_replaces(provider: Provider, lease: Lease) -> None:
    """A file that mv puts the place of another is there at once: whoever reads meanwhile gets one of the two, whole."""
    place = await make_place(provider, lease)
    path = f"{place.remote}/file"
    await run_to_success(provider, lease, f"cd {quote(place.remote)} && {_fill('file', 1)} && {_fill('next', 2)}")
    before = await digest_at(provider, lease, path)
    readers = await start_readers(provider, lease, path)

    moved = await Carrier(provider, lease).send(Step(f"mv -f {quote(f'{place.remote}/next')} {quote(path)}"))

    reading = await end_readers(provider, lease, readers)
    advice = "The workspace needs a file system whose rename is atomic."
    expect_equal(reading.outcome, "the SHA-256 of what was being read", reading.digest, before, advice=advice)
    expect(
        moved,
        not reading.gaps,
        that="there is a file at every moment",
        observed="there was none for a while",
        advice=advice,
    )


# -- the image -------------------------------------------------------------------------------------------------------


@check("FALL-009", level=SHOULD, cost=SHARED)
async def the_image_has_the_tools_of_the_transfer(provider: Provider, lease: Lease) -> None:
    """The host's commands use the usual small tools, with a few options; the busybox of Alpine has all of them."""
    await expect_tools(provider, lease, IMAGE_TOOLS)


@check("FALL-009", level=SHOULD, cost=SHARED)
async def the_image_has_git_and_node(provider: Provider, lease: Lease) -> None:
    """Runs take the history of the workspace along with git, and the bridge and most agents are node programs."""
    await expect_tools(provider, lease, RUN_TOOLS)


def _fill(name: str, number: int) -> str:
    return f"awk 'BEGIN {{ for (i = 0; i < 40000; i++) print \"file {number}, line\", i }}' > {name}"
