"""SEC: the bounds between leases, host and secrets, tried with marks that nobody can guess and texts that would act.

Nothing here can harm more than the kit's own canaries: every hostile path and every hostile id leads to one of them.
A provider whose sandboxes are no more than directories on the worker's machine says so in the metadata of its leases,
``isolation: "local"``; then only those bounds are judged that directories have.
"""

from dataclasses import replace
from pathlib import Path

from conformance.answer import Answer, answer_of
from conformance.canaries import (
    Injections,
    expect_unseen,
    is_local,
    new_mark,
    pattern,
    sightings,
)
from conformance.checks import Capability, check
from conformance.expect import expect, expect_alive
from conformance.files.disk import build, write_new
from conformance.files.native import place_for_sync
from conformance.files.operations import command, directory, file, operation
from conformance.files.sandbox import place_tree, tree_at
from conformance.files.surroundings import Surroundings, expect_untouched, holds_marker
from conformance.files.tree import Link, Tree, tree_of
from conformance.gates import A_SECRET_IN_THE_CONFIG
from conformance.host.lease import Lease
from conformance.hostile import (
    ask_about,
    call_with_hostile_ids,
    fail_with_a_command,
    fail_with_the_config,
    hostile_commands,
    hostile_ids,
    run_there,
    secrets_of,
)
from conformance.model import Cost, Level
from conformance.overlap import fresh_directory, kept_open, until_file
from conformance.provider import Provider
from conformance.steps import quote, run_script, run_to_success

MUST, SHOULD = Level.MUST, Level.SHOULD
IN, OUT = Capability.NATIVE_SYNC_IN, Capability.NATIVE_SYNC_OUT

OWN_PLACES = '. "${HOME:-.}" "${TMPDIR:-/tmp}"'
"""The directories that every command has: its own, its home, and the one for temporary files."""

SAY_LOCAL = 'Run each lease in a sandbox of its own; where there is none, say isolation: "local" in the lease metadata.'
OWN_WORDS = "Tell what went wrong in words of your own; requests, configs and variables are never quoted."
NO_SHELL = "Start programs with a list of arguments, and never put a text from outside into a shell line."


# --- leases


@check("SEC-001", level=MUST, cost=Cost.SHARED)
async def a_lease_sees_nothing_of_another(provider: Provider, lease: Lease, spare: Lease) -> None:
    """Files, variables and processes of one lease do not exist for another, under whatever name it looks for them."""
    mark, name = new_mark(provider), f".kit-{provider.new_id()}"
    stop = f"{spare.remote_cwd}/{name}-stop"
    plant = (
        f'for d in {OWN_PLACES}; do (cd "$d" && echo {mark} > {name} && pwd); done; '
        f"nohup sh -c {quote(until_file(stop, 60))} {mark} > /dev/null 2>&1 < /dev/null &"
    )
    planted = await run_to_success(provider, spare, plant, env={"KIT_MARK": mark})
    elsewhere = " ".join(quote(f"{place}/{name}") for place in planted.stdout.splitlines())

    own = await run_script(provider, lease, f'for d in {OWN_PLACES}; do cat "$d/{name}"; done 2>/dev/null; env')
    search = f"cat {elsewhere} 2>/dev/null; grep -la {quote(pattern(mark))} /proc/[0-9]*/cmdline /proc/[0-9]*/environ"
    anywhere = await run_script(provider, lease, f"{search} 2>/dev/null; :")
    await run_script(provider, spare, f': > {quote(stop)}; for d in {OWN_PLACES}; do rm -f "$d/{name}"; done')

    expect(
        own,
        mark not in own.stdout,
        that="neither the directories of a command nor its variables hold what another lease put into its own",
        observed=own.came,
        advice="Give each lease a home, a temporary directory and variables of its own.",
    )
    expect(
        anywhere,
        is_local(lease) or not anywhere.stdout.strip(),
        that="files and processes of another lease do not exist, or the lease says that it is local",
        observed=anywhere.came,
        advice=SAY_LOCAL,
    )


# --- secrets


@check("SEC-002", level=MUST, cost=Cost.OWN, when=A_SECRET_IN_THE_CONFIG)
async def no_secret_of_the_config_comes_back(provider: Provider) -> None:
    """What a config keeps secret is in nothing that the worker writes, whether its calls work or fail."""
    async with provider.fresh_worker() as other:
        refused = await fail_with_the_config(other)
        await answer_of(other.shutdown())
        await other.worker.peer.process.wait_exit(provider.launch.limits.seconds("shutdown_grace"))

    found = sightings(other.worker, {**secrets_of(provider), **refused})
    expect_unseen(other, found, "every secret of the config", advice=OWN_WORDS)


@check("SEC-002", level=MUST, cost=Cost.SHARED)
async def no_variable_of_a_command_comes_back(provider: Provider, lease: Lease) -> None:
    """What env carries is for the command alone: it is in no log, error or result, unless the command prints it."""
    mark = new_mark(provider)
    async with provider.fresh_worker() as other:
        await fail_with_a_command(other, lease, env={"KIT_SECRET": mark})

    expect_unseen(other, sightings(other.worker, {"KIT_SECRET": mark}), "the value of a variable", advice=OWN_WORDS)


@check("SEC-002", level=SHOULD, cost=Cost.SHARED)
async def no_input_of_a_command_comes_back(provider: Provider, lease: Lease) -> None:
    """What stdin carries is for the command alone, too."""
    mark = new_mark(provider)
    async with provider.fresh_worker() as other:
        await fail_with_a_command(other, lease, stdin=f"{mark}\n")

    expect_unseen(other, sightings(other.worker, {"stdin": mark}), "the input of a command", advice=OWN_WORDS)


@check("SEC-003", level=SHOULD, cost=Cost.SHARED)
async def no_secret_is_left_in_arguments_or_files(provider: Provider, lease: Lease) -> None:
    """Other code in the sandbox can read command lines and temporary files, so env and stdin are put into neither."""
    folder = await fresh_directory(provider, lease)
    variable, given = new_mark(provider), new_mark(provider)
    look = f"-e {quote(pattern(variable))} -e {quote(pattern(given))}"
    waiting = f": > here; {until_file(f'{folder}/go', provider.launch.limits.seconds('bridge'))}; cat > /dev/null"
    during = (
        f"{until_file(f'{folder}/here', provider.launch.limits.seconds('bridge'))}; "
        f"grep -la {look} /proc/[0-9]*/cmdline 2>/dev/null; :"
    )

    async with kept_open(
        run_script(provider, lease, waiting, cwd=folder, env={"KIT_SECRET": variable}, stdin=f"{given}\n")
    ):
        arguments = await run_script(provider, lease, during, cwd=folder)
        await run_to_success(provider, lease, ": > go", cwd=folder)
    files = await run_script(
        provider,
        lease,
        f'for d in "${{HOME:-.}}" "${{TMPDIR:-/tmp}}" {quote(lease.remote_cwd)}; do '
        f'grep -ls {look} "$d"/* "$d"/.[!.]* 2>/dev/null; done; :',
    )

    for seen, where in ((arguments, "the arguments of a process"), (files, "a file that stays behind")):
        expect(
            seen,
            not seen.stdout.strip(),
            that=f"neither env nor stdin of a command shows up in {where}",
            observed=seen.came,
            advice="Hand variables and input to the process itself; remove a helper file as soon as it was read.",
        )


# --- texts that would act


@check("SEC-004", level=MUST, cost=Cost.SHARED)
async def no_text_of_a_command_is_run_on_the_host(provider: Provider, lease: Lease) -> None:
    """A program, argument, directory or variable with shell characters is only a text, whatever becomes of the call."""
    traps = Injections(provider.scratch)

    answers = await hostile_commands(provider, lease, traps)

    expect_nothing_made(answers[-1], traps, "the fields of a command")


@check("SEC-004", level=SHOULD, cost=Cost.SHARED)
async def no_text_of_a_command_is_run_in_the_sandbox(provider: Provider, lease: Lease) -> None:
    """In the sandbox, too, no shell reads the fields of a command but the one that the command itself is."""
    folder = await fresh_directory(provider, lease)

    await hostile_commands(provider, lease, Injections(folder))

    seen = await run_script(provider, lease, "ls", cwd=folder)
    expect(seen, not seen.stdout, that="no file was made in the sandbox", observed=seen.came, advice=NO_SHELL)


@check("SEC-004", level=MUST, cost=Cost.OWN)
async def no_id_is_run_on_the_host(provider: Provider, lease: Lease) -> None:
    """Ids and paths that the host sends are opaque: no backend command is built from them."""
    traps = Injections(provider.scratch)

    answers = await call_with_hostile_ids(provider, lease, traps)

    expect_nothing_made(answers[-1], traps, "the ids of a call")


@check("SEC-004", level=MUST, cost=Cost.SHARED, needs=IN)
async def no_path_of_a_sync_is_run_on_the_host(provider: Provider, lease: Lease) -> None:
    """Paths, patterns and names of a sync are only texts on the way in and out."""
    place = await place_for_sync(provider, lease)
    traps = Injections(place.host / "made")
    build(Tree({}), place.host / "made")
    build(tree_of({"file": b"file"}), place.host / "from")
    source = place.host / "from"
    for name in traps.of("name"):
        mapping = directory(source, f"{place.remote}/{name}", exclude=[name])
        answer = await answer_of(provider.sync_in(lease, [operation(mapping, commands=[])]))
        missing = file(f"{source}/{name}", f"{place.remote}/file")
        await answer_of(provider.sync_in(lease, [operation(missing)]))
        elsewhere = operation(file(source / "file", f"{place.remote}/a"), commands=[command(":", cwd=f"/{name}")])
        await answer_of(provider.sync_in(lease, [elsewhere]))
        out = directory(f"{place.remote}/{name}", place.host / "out", exclude=[name])
        await answer_of(provider.sync_out(lease, [operation(out)]))
        expect_nothing_made(answer, traps, "the paths of a sync")


@check("SEC-005", level=MUST, cost=Cost.SHARED, alone=True)
async def a_hostile_id_does_no_harm(provider: Provider, lease: Lease) -> None:
    """An id is compared as it is, never joined to a path, an address or a command: only its own lease answers to it."""
    around = Surroundings(provider.scratch, provider.new_id())
    traps = Injections(provider.scratch)
    for number in hostile_ids(str(lease.id), around.outside, traps):
        answer = await ask_about(provider, replace(lease, label="nobody", id=number))
        expect_untouched(answer, around, advice="Look an id up among those you gave out; join it to nothing.")
        expect_nothing_made(answer, traps, f"the id {number!a}")

    seen = await run_script(provider, lease, "echo alive")
    expect(
        seen,
        seen.exit_code == 0,
        that="a lease lives on when ids that only resemble its own are released and destroyed",
        observed=seen.came,
        advice="Compare ids as they are; nothing in them is normalised, trimmed or decoded.",
    )
    await expect_alive(provider)


# --- the host


@check("SEC-006", level=MUST, cost=Cost.SHARED, needs=IN)
async def a_sync_in_reads_nothing_but_its_source(provider: Provider, lease: Lease) -> None:
    """What stands beside the source on the host, or behind a link in it, does not get into the sandbox."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    build(tree_of({"file": b"wanted", "link": Link(b"../../outside/canary")}), around.mapped)
    write_new(around.mapped.with_name("mapped.orig"), around.marker.encode())
    target = f"{place.remote}/deep/er/to"

    answer = await answer_of(provider.sync_in(lease, [operation(directory(around.mapped, target))]))

    held = holds_marker(await tree_at(provider, lease, place.remote), around.marker)
    expect(
        answer,
        not held,
        that="nothing in the sandbox holds what only files outside sourcePath hold",
        observed=", ".join(held) or "nothing does",
        advice="Read the source and nothing above or beside it; a link goes in as a link.",
    )


@check("SEC-006", level=MUST, cost=Cost.SHARED, needs=OUT)
async def a_sync_out_writes_nothing_but_its_target(provider: Provider, lease: Lease) -> None:
    """What stands beside the target on the host is neither written nor cleaned away."""
    place = await place_for_sync(provider, lease)
    around = Surroundings(place.host, provider.new_id())
    await place_tree(provider, lease, place.remote, tree_of({"file": b"wanted", "canary": b"wanted"}))

    for mapping in (directory(place.remote, around.mapped), file(f"{place.remote}/file", around.mapped / "canary")):
        answer = await answer_of(provider.sync_out(lease, [operation(mapping)]))
        expect_untouched(answer, around, advice="Write below the target only, and clean up only what you made.")


@check("SEC-007", level=MUST, cost=Cost.SHARED)
async def a_command_does_not_see_the_host(provider: Provider, lease: Lease) -> None:
    """Commands run in the sandbox: a file of the worker's machine is not there for them."""
    mark = new_mark(provider)
    canary = provider.scratch / "canary"
    canary.write_text(mark, encoding="utf-8")

    seen = await run_script(provider, lease, f"cat {quote(str(canary))}", cwd="/")

    expect(
        seen,
        is_local(lease) or mark not in seen.stdout,
        that="a file of the host does not exist in the sandbox, or the lease says that it is local",
        observed=seen.came,
        advice=SAY_LOCAL,
    )


@check("SEC-008", level=SHOULD, cost=Cost.SHARED)
async def the_environment_of_the_worker_is_not_for_commands(provider: Provider, lease: Lease) -> None:
    """The worker's variables hold its credentials: no command finds them, among its own or those of a process."""
    mark = new_mark(provider)
    search = f"grep -la {quote(pattern(mark))} /proc/[0-9]*/environ 2>/dev/null; :"
    async with provider.fresh_worker({"KIT_WORKER_SECRET": mark}) as other:
        own = await run_there(other, lease, "env")
        anywhere = await run_there(other, lease, search)

    for seen, holds in ((own, mark not in own.stdout), (anywhere, is_local(lease) or not anywhere.stdout.strip())):
        expect(
            seen,
            holds,
            that="no variable of the worker is found by a command, or only because the lease says that it is local",
            observed=f"exitCode {seen.exit_code}, and {'nothing' if holds else 'the mark'} was found",
            advice="Make the environment of a command from nothing, and run it apart from the worker.",
        )


def expect_nothing_made(answer: Answer, traps: Injections, what: str) -> None:
    """Demand that no shell of the host has acted on a text."""
    made = traps.files()
    expect(
        answer,
        not made,
        that=f"no shell on the host reads {what}",
        observed=f"these files were made: {', '.join(made)}" if made else f"nothing in {Path(traps.folder).name}",
        advice=NO_SHELL,
    )
