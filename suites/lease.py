"""LEASE: what becomes of a sandbox, from acquire to destroy."""

from conformance.answer import Answer, answer_of
from conformance.backend import Backend
from conformance.checks import Capability, check
from conformance.errors import AnswerTimeout, RpcError
from conformance.evidence import show
from conformance.expect import (
    expect,
    expect_alive,
    expect_answered,
    expect_ended,
    expect_equal,
    expect_error,
    expect_exit,
    expect_gone,
    expect_none_of,
    expect_nothing_left,
    expect_off_the_list,
    expect_reported_lost,
    expect_shape,
    expect_stdout,
)
from conformance.files.operations import file, operation
from conformance.gates import (
    A_SECRET_IN_THE_CONFIG,
    A_TEMPLATE_BINDING,
    AN_INVENTORY,
    BOTH_HOOKS,
    LOGIN_TERMINAL,
    NO_LOGIN_TERMINAL,
)
from conformance.host.lease import Lease
from conformance.host.tenant import host_time
from conformance.model import Cost, Level, object_of
from conformance.overlap import fresh_directory, side_by_side
from conformance.provider import Provider
from conformance.states import (
    acquire_with_an_end,
    acquires_that_fail,
    awake,
    behind_its_release,
    busy,
    failed,
    lookalikes,
    moment_of,
    neighbour_of,
    no_lease,
    other_end,
    run_after,
    run_anywhere,
    seen_by_a_stranger,
    those_refused,
    ticks_around_a_rest,
    unknown_lease,
    with_wrong_secrets,
)
from conformance.steps import (
    acquire_lease,
    lease_of,
    quote,
    realize_workspace,
    release_lease,
    resume,
    resume_lease,
    run_program,
    run_script,
    write_file,
)

MUST, SHOULD = Level.MUST, Level.SHOULD
REUSABLE = Capability.REUSABLE_LEASES

NEEDED_TO_GO_ON = ("remoteCwd", "shellCommand", "backend", "nativeFileSyncUnsupported")
"""Metadata by which the host decides how to work with a lease."""

# --- acquire


@check("LEASE-001", level=MUST, cost=Cost.SHARED)
async def acquire_hands_out_a_lease_with_an_id(acquired: Answer) -> None:
    """Acquire answers with an object whose providerLeaseId is a non-empty string: the host's only handle."""
    expect_shape(acquired, of="LEASE-001")
    expect(
        acquired,
        bool(acquired.fields.get("providerLeaseId")),
        that="providerLeaseId is a non-empty string",
        observed=acquired.came,
        advice="Return the id under which release and destroy find the sandbox again.",
    )


@check("LEASE-002", level=MUST, cost=Cost.OWN)
async def acquire_of_an_environment_test_answers_in_time(provider: Provider) -> None:
    """The host waits 30 seconds for a sandbox, and config.timeoutMs longer where that is set; a later one is lost."""
    answer = await answer_of(provider.acquire({**provider.config, "archiveOnRelease": True}, bare=True))

    expect(
        answer,
        not isinstance(answer.fault, AnswerTimeout),
        that="acquire is answered before the host gives up",
        observed=f"{answer.came} ({answer.seconds:.1f} s)",
        advice="Tell the operator to set timeoutMs to what a cold start takes; end what comes too late yourself.",
        timed=True,
    )


@check("LEASE-003", level=MUST, cost=Cost.SHARED)
async def the_end_of_a_new_lease_is_a_date_or_nothing(acquired: Answer) -> None:
    """The expiresAt of a lease is left out, null, or a date that JavaScript reads: else the host cannot store it."""
    expect_shape(acquired, of="LEASE-003", advice="Return an ISO date such as 2026-08-24T12:00:00Z, or null.")


@check("LEASE-003", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def the_end_of_a_resumed_lease_is_a_date_or_nothing(provider: Provider, kept: Lease) -> None:
    """What holds for the expiresAt of acquire holds for that of resume."""
    answer, _ = await resume(provider, kept)

    expect_shape(answer, of="LEASE-003", advice="Return an ISO date such as 2026-08-24T12:00:00Z, or null.")
    await release_lease(provider, kept)


@check("LEASE-004", level=MUST, cost=Cost.SHARED)
async def metadata_is_an_object(acquired: Answer) -> None:
    """The host stores metadata as a JSON object; anything else it cannot merge into its record."""
    expect_shape(acquired, of="LEASE-004", advice="Return an object, or leave metadata out.")


@check("LEASE-004", level=MUST, cost=Cost.SHARED, when=A_SECRET_IN_THE_CONFIG)
async def no_secret_stands_in_a_new_lease(provider: Provider, acquired: Answer) -> None:
    """The host stores what acquire returns in clear, and shows it: no secret of the config may stand there."""
    expect_none_of(
        acquired,
        provider.subject.secret_ids.values(),
        show(acquired.result),
        where="the answer",
        advice="Secrets come with every call again: there is no need to keep them in metadata.",
    )


@check("LEASE-005", level=MUST, cost=Cost.SHARED)
async def metadata_names_the_working_directory(acquired: Answer) -> None:
    """The host runs every command in metadata.remoteCwd; without an absolute path there it works in /tmp."""
    named = object_of(acquired.fields.get("metadata")).get("remoteCwd")

    expect(
        acquired,
        isinstance(named, str) and named.startswith("/"),
        that="metadata.remoteCwd is an absolute path",
        observed=f"metadata.remoteCwd is {show(named)}",
        advice="Return the directory of the workspace inside the sandbox; the cwd of realize is not used for this.",
    )


@check("LEASE-005", level=MUST, cost=Cost.SHARED, alone=True)
async def the_working_directory_exists_in_the_sandbox(provider: Provider, acquired: Answer) -> None:
    """Once realize has answered, metadata.remoteCwd is a directory inside the sandbox."""
    lease = lease_of(provider, acquired)
    await answer_of(provider.realize(lease))
    seen = await run_script(provider, lease, f"[ -d {quote(lease.remote_cwd)} ]", cwd="/")

    expect_exit(seen, 0, advice="Name a path inside the sandbox, and make the directory in realize at the latest.")


@check("LEASE-006", level=MUST, cost=Cost.SHARED)
async def metadata_leaves_the_keys_of_the_host_alone(provider: Provider, lease: Lease, acquired: Answer) -> None:
    """Metadata goes over the host's own record, so a key of the host in it sends later calls to the wrong place."""
    told = object_of(acquired.fields.get("metadata"))
    reserved = ("provider", *provider.subject.contract.reserved_metadata_keys)
    without = provider.keeper.lease("", lease.tenant, acquired.params, {"providerLeaseId": lease.id})
    own = object_of(without.record if without is not None else None)

    changed = {key: told[key] for key in reserved if key in told and told[key] != own.get(key)}

    expect(
        acquired,
        not changed,
        that="no key of the host stands in metadata with a value of its own",
        observed=f"metadata has {show(changed)}" if changed else "metadata leaves them alone",
        advice="Give your keys names of their own; `provider`, if you return it, is the driver key.",
    )


@check("LEASE-007", level=SHOULD, cost=Cost.SHARED)
async def metadata_repeats_no_config_key_with_another_value(acquired: Answer) -> None:
    """A config value that comes back changed becomes the stored one: timers move, and the lease is never reused."""
    config = object_of(acquired.params.get("config"))
    told = object_of(acquired.fields.get("metadata"))

    changed = sorted(key for key in config if key in told and show(told[key]) != show(config[key]))

    expect(
        acquired,
        not changed,
        that="no key of the config stands in metadata with another value",
        observed=f"changed: {', '.join(changed)}" if changed else "no config key is changed",
        advice="Leave config keys out of metadata, or keep what you made of them under another name.",
    )


@check("LEASE-008", level=MUST, cost=Cost.SHARED)
async def the_shell_that_metadata_names_is_there(provider: Provider, lease: Lease) -> None:
    """The host runs its scripts with metadata.shellCommand, bash or sh (sh when nothing is named)."""
    proof = {"bash": "${BASH_VERSION:+ran}", "sh": "ran"}[lease.shell]
    seen = await run_program(provider, lease, lease.shell, "-c", f"echo {proof}", cwd="/")

    expect_stdout(seen, "ran\n", advice="Name bash only for images that have it; sh is always right.")


@check("LEASE-009", level=MUST, cost=Cost.OWN, leases=2)
async def two_acquires_at_once_give_two_sandboxes(provider: Provider) -> None:
    """Runs start at the same time, also in one environment, and each gets a sandbox of its own."""
    answers = await side_by_side(answer_of(provider.acquire()), answer_of(provider.acquire()))
    for answer in answers:
        expect_answered(answer, advice="Settle conflicts over shared things inside the provider.")
    first, second = [await realize_workspace(provider, lease_of(provider, answer)) for answer in answers]

    await write_file(provider, first, f"{first.remote_cwd}/mine", "of the first")
    seen = await run_script(provider, second, f"[ ! -e {quote(f'{second.remote_cwd}/mine')} ]")

    expect(answers[1], first.id != second.id, that="the ids differ", observed=f"{first.id} and {second.id}")
    expect_exit(seen, 0, advice="A file of one lease must not be in the workspace of another.")


@check("LEASE-009", level=SHOULD, cost=Cost.OWN, alone=True)
async def runs_with_alike_ids_do_not_meet(provider: Provider, lease: Lease) -> None:
    """A sandbox is found by its exact id, not by the beginning of a name made from run or environment."""
    provider.tenant = lease.tenant
    run = other_end(str(lease.run))
    answer = await provider.acquire_with(provider.make.acquire(provider.tenant, provider.config, run))
    other = await realize_workspace(provider, lease_of(provider, answer))
    name = provider.new_id()
    for one in (lease, other):
        await write_file(provider, one, f"{one.remote_cwd}/{name}", str(one.run))

    seen = await run_script(provider, lease, f"cat {quote(f'{lease.remote_cwd}/{name}')}")

    expect_stdout(seen, str(lease.run), advice="Use the whole run id in names, or names that nobody can guess.")


@check("LEASE-009", level=SHOULD, cost=Cost.SHARED)
async def another_company_cannot_use_a_lease(provider: Provider, lease: Lease) -> None:
    """To know an id is not enough: a lease serves the company that it was acquired for."""
    answer = await run_anywhere(provider, seen_by_a_stranger(provider, lease))

    expect(
        answer,
        failed(answer),
        that="a command for another company is an error or has no exit code 0",
        observed=answer.came,
        advice="Keep the companyId of the acquire with the sandbox, and compare it in every call.",
    )


@check("LEASE-010", level=MUST, cost=Cost.OWN, when=AN_INVENTORY, alone=True)
async def an_acquire_that_fails_leaves_no_sandbox(provider: Provider, backend: Backend, lease: Lease) -> None:
    """Of an acquire that fails the host keeps no id, so whatever it had made already has to be removed again."""
    before = await backend.look_for(lease)
    refused = those_refused(
        await acquires_that_fail(provider), "acquire with a wrong config, a wrong secret or a past end"
    )

    await expect_nothing_left(
        refused[-1],
        backend,
        before,
        provider.ledger,
        that=f"{len(refused)} acquires that were refused have left no sandbox",
        advice="Remove what you have made when a later step of acquire fails.",
    )


@check("LEASE-011", level=MUST, cost=Cost.LONG, when=LOGIN_TERMINAL)
async def a_login_lease_ends_when_it_was_asked_to(provider: Provider) -> None:
    """With requestedExpiresAt the lease says when it ends, not later than asked for, and keeps to it."""
    await the_end_is_kept(provider)


@check("LEASE-011", level=SHOULD, cost=Cost.LONG, when=NO_LOGIN_TERMINAL)
async def a_lease_ends_when_it_was_asked_to(provider: Provider) -> None:
    """With requestedExpiresAt the lease says when it ends, not later than asked for, and keeps to it."""
    await the_end_is_kept(provider)


async def the_end_is_kept(provider: Provider) -> None:
    """Demand an expiresAt that is not later than the end that was asked for, and no command after that end."""
    answer, end = await acquire_with_an_end(provider)
    expect_answered(answer, advice="Accept a requestedExpiresAt two minutes away.")
    lease, told = lease_of(provider, answer), answer.fields.get("expiresAt")
    expect(
        answer,
        (moment_of(told) or float("inf")) <= (moment_of(end) or 0.0),
        that=f"expiresAt is a date not later than {end}",
        observed=f"expiresAt is {show(told)}",
        advice="Return the end that your backend enforces. If it cannot end that early, answer with an error.",
    )

    late = await run_after(provider, lease, end)

    expect(
        late,
        failed(late),
        that="a command fails once the end has passed",
        observed=late.came,
        advice="Set the lifetime at the backend, so that the sandbox ends although nobody calls.",
        timed=True,
    )


@check("LEASE-011", level=SHOULD, cost=Cost.OWN, leases=2)
async def an_end_that_cannot_be_kept_is_refused(provider: Provider) -> None:
    """An end that has passed, or is no date, is an error before anything is made; it is never bent or ignored."""
    for end in (host_time(-3600), "in an hour"):
        answer = await answer_of(provider.acquire(requested_expires_at=end))

        expect_error(answer, what=f"the end {end!r}", advice="Read requestedExpiresAt before you make the sandbox.")
    await expect_alive(provider)


# --- release


@check("LEASE-012", level=MUST, cost=Cost.SHARED, alone=True)
async def releasing_no_lease_changes_nothing(provider: Provider, lease: Lease) -> None:
    """A release with the id null succeeds and touches no sandbox: there was nothing to clean up."""
    answer = await answer_of(provider.release(no_lease(lease)))
    seen = await run_anywhere(provider, lease)

    expect_answered(answer, advice="Return at once when providerLeaseId is null.")
    expect(seen, not failed(seen), that="a lease that was there still runs commands", observed=seen.came)


@check("LEASE-013", level=MUST, cost=Cost.SHARED)
async def releasing_an_unknown_lease_succeeds(provider: Provider, lease: Lease) -> None:
    """The host retries a release until it succeeds, so an id that nobody knows is a success."""
    answer = await answer_of(provider.release(unknown_lease(provider, lease)))

    expect_answered(answer, advice="Take not found for success.")
    await expect_alive(provider)


@check("LEASE-013", level=MUST, cost=Cost.SHARED)
async def releasing_a_destroyed_lease_succeeds(provider: Provider, gone: Lease) -> None:
    """A release may come after the destroy of a sweep; what is gone is released."""
    answer = await answer_of(provider.release(gone))

    expect_answered(answer, advice="Take not found for success.")


@check("LEASE-014", level=MUST, cost=Cost.SHARED)
async def releasing_twice_succeeds_twice(provider: Provider, released: Lease) -> None:
    """The host repeats a release after a timeout, so the second one must succeed like the first."""
    again = await answer_of(provider.release(released))

    expect_answered(again, advice="A lease that is already gone is a success: there is nothing left to do.")
    await expect_alive(provider)


@check("LEASE-014", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def releasing_a_kept_lease_again_keeps_it(provider: Provider, kept: Lease) -> None:
    """A repeated release with reuseLease true succeeds, and the lease can still be resumed."""
    again = await answer_of(provider.release(kept))

    expect_answered(again, advice="A lease that is suspended already is a success.")
    async with awake(provider, kept) as lease:
        seen = await run_anywhere(provider, lease)
    expect(seen, not failed(seen), that="the lease runs commands after a resume", observed=seen.came)


@check("LEASE-015", level=MUST, cost=Cost.SHARED)
async def a_single_use_sandbox_is_gone_after_its_release(provider: Provider, released: Lease) -> None:
    """Nobody destroys a lease that was released well, so release with reuseLease false removes the sandbox."""
    await expect_gone(provider, released, advice="Dispose of the sandbox in release, not only in destroy.")


@check("LEASE-015", level=MUST, cost=Cost.SHARED, when=AN_INVENTORY)
async def the_inventory_shows_no_sandbox_after_a_release(backend: Backend, lease: Lease, released: Lease) -> None:
    """Seen at the backend itself: a single-use sandbox is off its list once its release was answered."""
    await expect_off_the_list(
        backend, lease, released, how="released", advice="Wait in release until the backend has removed the sandbox."
    )


@check("LEASE-015", level=MUST, cost=Cost.OWN, needs=REUSABLE)
async def a_reusable_sandbox_released_without_reuse_is_gone(provider: Provider) -> None:
    """Where the release does not say reuseLease, the sandbox is removed, however it was acquired."""
    lease = await acquire_lease(provider, reuse=True)
    config = {key: value for key, value in lease.config.items() if key != "reuseLease"}

    answer = await answer_of(provider.release(lease, config))

    expect_answered(answer)
    await expect_gone(provider, lease, advice="Keep a sandbox only if its release says reuseLease true.")


@check("LEASE-015", level=SHOULD, cost=Cost.OWN, needs=REUSABLE)
async def a_single_use_sandbox_is_gone_whatever_the_config_says_later(provider: Provider, doomed: Lease) -> None:
    """A lease that was acquired as single-use has no record that would ever find it again, so it is not kept."""
    answer = await answer_of(provider.release(doomed, {**doomed.config, "reuseLease": True}))

    expect_answered(answer)
    await expect_gone(provider, doomed, advice="Remember with the sandbox whether it was acquired to be kept.")


@check("LEASE-016", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE)
async def a_kept_sandbox_does_not_go_on_working(provider: Provider, kept: Lease) -> None:
    """Release with reuseLease true ends or suspends what runs: nobody wants to pay for it between two runs."""
    seen, most = await ticks_around_a_rest(provider, kept)

    expect(
        seen,
        int(seen.stdout) <= most,
        that=f"a clock in the sandbox ticks at most {most} times while the lease is in use",
        observed=f"it ticked {seen.stdout.strip()} times, also while the lease was released",
        advice="Stop, pause or suspend the sandbox in release, so that nothing in it runs on.",
    )


@check("LEASE-016", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE)
async def a_command_sent_behind_a_release_does_not_run_on(provider: Provider, kept: Lease) -> None:
    """What is sent behind a release is refused or ended, and answered: it does not work in a released sandbox."""
    async with awake(provider, kept) as lease, behind_its_release(provider, lease) as late:
        await expect_ended(
            provider, late, advice="Close the lease to new commands the moment its release arrives, and end what runs."
        )


@check("LEASE-017", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def files_survive_a_reusable_release(provider: Provider, kept: Lease) -> None:
    """A release with reuseLease true keeps the files of remoteCwd, so that the next run finds its work again."""
    name = provider.new_id()
    async with awake(provider, kept) as lease:
        await write_file(provider, lease, f"{lease.remote_cwd}/{name}", "the work of the first run")
    async with awake(provider, kept) as lease:
        seen = await run_script(provider, lease, f"cat {quote(f'{lease.remote_cwd}/{name}')}")

    expect_stdout(seen, "the work of the first run", advice="Suspend the sandbox at release, do not reset it.")


@check("LEASE-018", level=MUST, cost=Cost.OWN, alone=True, leases=2)
async def the_end_of_a_lease_leaves_its_neighbour_alone(provider: Provider, lease: Lease, doomed: Lease) -> None:
    """Release and destroy end one sandbox, not what else the company or the environment has."""
    path = f"{await fresh_directory(provider, lease)}/work"
    await write_file(provider, lease, path, "goes on")
    other = await neighbour_of(provider, lease, doomed)

    for end in (provider.release, provider.destroy):
        await answer_of(end(other))
        seen = await run_script(provider, lease, f"cat {quote(path)}")

        expect_stdout(seen, "goes on", advice="Remove by the exact id, never by a label that others carry too.")


@check("LEASE-018", level=MUST, cost=Cost.SHARED, alone=True)
async def an_id_that_resembles_a_lease_ends_nothing(provider: Provider, lease: Lease) -> None:
    """An id that begins like another, or is the beginning of one, names another sandbox, or none."""
    for other in lookalikes(provider, lease):
        await answer_of(provider.release(other))
        await answer_of(provider.destroy(other))
        seen = await run_anywhere(provider, lease)

        expect(
            seen,
            not failed(seen),
            that=f"the lease {lease.id} still runs commands after an end of {other.id}",
            observed=seen.came,
            advice="Compare ids exactly: many backends find things by the beginning of a name.",
        )


@check("LEASE-018", level=SHOULD, cost=Cost.SHARED, alone=True)
async def another_company_cannot_end_a_lease(provider: Provider, lease: Lease) -> None:
    """To know an id is not enough: only the company that acquired a lease can end it."""
    stranger = seen_by_a_stranger(provider, lease)
    await answer_of(provider.release(stranger))
    await answer_of(provider.destroy(stranger))
    seen = await run_anywhere(provider, lease)

    expect(
        seen,
        not failed(seen),
        that="the lease still runs commands after release and destroy for another company",
        observed=seen.came,
        advice="Keep the companyId of the acquire with the sandbox, and compare it in every call.",
    )


@check("LEASE-019", level=MUST, cost=Cost.OWN, alone=True)
async def a_release_ends_a_running_command(provider: Provider, doomed: Lease) -> None:
    """A cancelled run is released while its command runs: both are answered, and the worker lives on."""
    async with busy(provider, doomed) as running:
        answer = await answer_of(provider.release(doomed))

        expect_answered(answer, advice="Do not wait for the command: end it.")
        await expect_ended(provider, running, advice="Answer a command whose sandbox went away with an error.")
    await expect_alive(provider)


@check("LEASE-019", level=MUST, cost=Cost.OWN, alone=True)
async def a_destroy_ends_a_running_command(provider: Provider, doomed: Lease) -> None:
    """A reusable lease of a cancelled run is destroyed while its command runs: the same holds."""
    async with busy(provider, doomed) as running:
        answer = await answer_of(provider.destroy(doomed))

        expect_answered(answer, advice="Do not wait for the command: end it.")
        await expect_ended(provider, running, advice="Answer a command whose sandbox went away with an error.")
    await expect_alive(provider)


# --- destroy


@check("LEASE-020", level=MUST, cost=Cost.OWN, needs=REUSABLE)
async def a_destroy_removes_a_kept_sandbox(provider: Provider, kept: Lease) -> None:
    """Destroy ends a lease for good, also after a release, and although its config says reuseLease true."""
    answer = await answer_of(provider.destroy(kept))

    expect_answered(answer)
    await expect_gone(provider, kept, advice="Do not look at reuseLease in destroy.")


@check("LEASE-020", level=MUST, cost=Cost.OWN)
async def a_destroy_removes_a_lease_that_the_host_could_not_store(provider: Provider) -> None:
    """Right after an acquire the host may have to give a sandbox back: unused, with its own keys in the config."""
    lease = await acquire_lease(provider, reuse=True)

    answer = await answer_of(provider.destroy(lease, lease.orphan_config))

    expect_answered(answer, advice="Ignore config keys that you do not know.")
    await expect_gone(provider, lease, advice="Destroy a sandbox in any state, also one that nobody has used.")


@check("LEASE-020", level=MUST, cost=Cost.SHARED, when=AN_INVENTORY)
async def the_inventory_shows_no_sandbox_after_a_destroy(backend: Backend, lease: Lease, gone: Lease) -> None:
    """Seen at the backend itself: a sandbox is off its list once its destroy was answered."""
    await expect_off_the_list(
        backend, lease, gone, how="destroyed", advice="Wait in destroy until the backend has removed the sandbox."
    )


@check("LEASE-021", level=MUST, cost=Cost.OWN, when=BOTH_HOOKS)
async def the_end_of_a_sandbox_that_vanished_succeeds(provider: Provider, backend: Backend, doomed: Lease) -> None:
    """Backends reap, users click: release and destroy of a sandbox that is gone already are successes."""
    await backend.remove(doomed)

    for end in (provider.release, provider.destroy):
        answer = await answer_of(end(doomed))

        expect_answered(answer, advice="Take not found for success, also for a sandbox that you have made yourself.")
    await expect_alive(provider)


@check("LEASE-021", level=MUST, cost=Cost.SHARED)
async def destroying_what_is_not_there_succeeds(provider: Provider, lease: Lease, gone: Lease) -> None:
    """The sweep of the host gives up after five errors, so a null, an unknown and a destroyed id are successes."""
    for nothing in (no_lease(lease), unknown_lease(provider, lease), gone):
        answer = await answer_of(provider.destroy(nothing))

        expect_answered(answer, advice="Take not found for success, and return at once when providerLeaseId is null.")
    await expect_alive(provider)


@check("LEASE-021", level=MUST, cost=Cost.OWN)
async def a_destroy_after_a_release_succeeds(provider: Provider, released: Lease) -> None:
    """When the answer to a release is lost, the sweep sends a destroy for what is gone already."""
    answer = await answer_of(provider.destroy(released))

    expect_answered(answer, advice="Take not found for success.")


@check("LEASE-021", level=SHOULD, cost=Cost.OWN)
async def two_destroys_at_once_succeed(provider: Provider, doomed: Lease) -> None:
    """Two destroys of one lease may cross; the one that comes second finds what it wants."""
    answers = await side_by_side(answer_of(provider.destroy(doomed)), answer_of(provider.destroy(doomed)))

    for answer in answers:
        expect_answered(answer, advice="Let a second destroy wait for the first, or take its not found for success.")
    await expect_gone(provider, doomed)


@check("LEASE-022", level=MUST, cost=Cost.OWN, when=A_SECRET_IN_THE_CONFIG)
async def a_destroy_that_the_backend_refuses_is_an_error(provider: Provider, doomed: Lease) -> None:
    """A destroy that succeeds ends all further tries, so one that could not remove the sandbox has to fail."""
    config = with_wrong_secrets(provider, doomed.config)

    # Past the ledger: whatever the answer, the lease is destroyed again sooner or later.
    answer = await answer_of(provider.call("environmentDestroyLease", provider.make.end(doomed, config)))
    seen = await run_anywhere(provider, doomed)

    expect(
        answer,
        answer.error_code is not None or (answer.fault is None and failed(seen)),
        that="a destroy with wrong credentials is an error, or the sandbox is gone",
        observed=f"{answer.came}, and a command was answered with {seen.came}",
        advice="Only not found is a success. Pass every other failure of the backend on as an error.",
    )


@check("LEASE-023", level=MUST, cost=Cost.OWN)
async def another_worker_takes_over_from_one_that_was_killed(provider: Provider, doomed: Lease) -> None:
    """After a crash the host uses its leases through a new worker, which has only the ids, config and metadata."""
    path = f"{doomed.remote_cwd}/{provider.new_id()}"
    async with provider.fresh_worker() as first:
        await write_file(first, doomed, path, "still there")
        await first.worker.kill()
    async with provider.fresh_worker() as second:
        seen = await run_script(second, doomed, f"cat {quote(path)}")
        expect_stdout(seen, "still there", advice="Find a sandbox by its id at the backend, not in a map in memory.")

    async with provider.fresh_worker() as third:
        answer = await answer_of(third.destroy(doomed))

    expect_answered(answer)
    await expect_gone(provider, doomed, advice="Destroy a sandbox that this process has never seen.")


@check("LEASE-023", level=MUST, cost=Cost.OWN)
async def another_worker_releases_a_lease(provider: Provider, doomed: Lease) -> None:
    """A release may reach a worker that was started after the run."""
    async with provider.fresh_worker() as other:
        answer = await answer_of(other.release(doomed))

    expect_answered(answer)
    await expect_gone(provider, doomed, advice="Release a sandbox that this process has never seen.")


@check("LEASE-023", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def another_worker_resumes_a_lease(provider: Provider, kept: Lease) -> None:
    """The next run of a reusable environment may come days later, to a worker that knows nothing of the last one."""
    async with awake(provider, kept):
        pass
    async with provider.fresh_worker() as other:
        answer = await answer_of(other.resume(kept))
        seen = await run_anywhere(other, other.leased(answer) or kept)
        await release_lease(other, kept)

    expect(
        seen,
        answer.fields.get("providerLeaseId") is not None and not failed(seen),
        that="resume hands the lease out, and it runs commands",
        observed=f"{answer.came}, then {seen.came}",
        advice="Find a sandbox by its id at the backend, not in a map in memory.",
    )


# --- resume


@check("LEASE-024", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def resume_hands_a_kept_lease_out(provider: Provider, kept: Lease) -> None:
    """A lease that was released to be kept is there for the next run; without an id the host starts cold."""
    answer = await answer_of(provider.resume(kept))

    expect_answered(answer)
    expect(
        answer,
        bool(answer.fields.get("providerLeaseId")),
        that="providerLeaseId is a non-empty string",
        observed=answer.came,
        advice="Ask the backend whether the sandbox is there, and return its id.",
    )
    await release_lease(provider, kept)


@check("LEASE-024", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def a_resumed_lease_takes_commands_at_once(provider: Provider, kept: Lease) -> None:
    """When resume answers, the sandbox is up: the host sends its first command right behind."""
    for _ in range(2):
        lease = await resume_lease(provider, kept)
        seen = await run_anywhere(provider, lease)
        await release_lease(provider, lease)

        expect(
            seen,
            not failed(seen),
            that="the first command after a resume ends with 0",
            observed=seen.came,
            advice="Wait in resume until the sandbox runs, not only until the backend has accepted the wish.",
        )


@check("LEASE-024", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE, when=A_SECRET_IN_THE_CONFIG)
async def a_refused_login_is_not_taken_for_a_loss(provider: Provider, kept: Lease) -> None:
    """A backend that turns the credentials away has not lost the sandbox: that is an error, and nothing is removed."""
    refused = await answer_of(provider.resume(kept, with_wrong_secrets(provider, provider.reuse_config)))
    again = await answer_of(provider.resume(kept))
    seen = await run_anywhere(provider, provider.leased(again) or kept)
    await release_lease(provider, kept)

    expect(
        refused,
        isinstance(refused.fault, RpcError) or bool(refused.fields.get("providerLeaseId")),
        that="a resume with wrong credentials is an error, and does not say that the lease is lost",
        observed=refused.came,
        advice="Answer with providerLeaseId null only when the backend says that there is no such sandbox.",
    )
    expect(
        seen,
        bool(again.fields.get("providerLeaseId")) and not failed(seen),
        that="the next resume, with the right credentials, hands the sandbox out",
        observed=f"{again.came}, then {seen.came}",
        advice="Remove nothing because a call to the backend failed.",
    )


@check("LEASE-025", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE)
async def resume_returns_the_same_id(provider: Provider, kept: Lease) -> None:
    """The host puts the new id in place of the old one, and forgets the old."""
    answer, _ = await resume(provider, kept)

    expect_equal(answer, "providerLeaseId", answer.fields.get("providerLeaseId"), kept.id, advice="Keep one id.")
    await release_lease(provider, kept)


@check("LEASE-026", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def resume_returns_what_the_host_needs_to_go_on(provider: Provider, kept: Lease) -> None:
    """The host carries no metadata over, so resume says again where the workspace is and how to work with it."""
    answer, _ = await resume(provider, kept)
    told = object_of(answer.fields.get("metadata"))

    missing = [key for key in NEEDED_TO_GO_ON if kept.metadata.get(key) and not told.get(key)]

    expect(
        answer,
        not missing,
        that=f"metadata has those of {', '.join(NEEDED_TO_GO_ON)} again that acquire returned",
        observed=f"missing: {', '.join(missing)}" if missing else "nothing is missing",
        advice="Make the metadata of acquire and resume with the same piece of code.",
    )
    await release_lease(provider, kept)


@check("LEASE-026", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE)
async def resume_returns_every_key_again(provider: Provider, kept: Lease) -> None:
    """Keys that resume leaves out are gone from the host's record, and from every later call."""
    answer, _ = await resume(provider, kept)
    told = object_of(answer.fields.get("metadata"))

    missing = sorted(kept.metadata.keys() - told.keys())

    expect(
        answer,
        not missing,
        that="metadata has every key that acquire returned",
        observed=f"missing: {', '.join(missing)}" if missing else "nothing is missing",
        advice="Make the metadata of acquire and resume with the same piece of code.",
    )
    await release_lease(provider, kept)


@check("LEASE-027", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def resuming_an_active_lease_changes_nothing(provider: Provider, kept: Lease) -> None:
    """A run that is picked up again resumes a lease that was never released: it goes on with its files."""
    async with awake(provider, kept) as lease:
        path = f"{lease.remote_cwd}/{provider.new_id()}"
        await write_file(provider, lease, path, "goes on")

        answer = await answer_of(provider.resume(lease))
        seen = await run_script(provider, lease, f"cat {quote(path)}")

    expect(
        answer,
        bool(answer.fields.get("providerLeaseId")),
        that="resume hands the active lease out",
        observed=answer.came,
        advice="A sandbox that runs already needs no start: return its lease.",
    )
    expect_stdout(seen, "goes on", advice="Do not reset a sandbox that is in use.")


@check("LEASE-028", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def resuming_a_destroyed_lease_brings_no_sandbox_back(provider: Provider, gone: Lease) -> None:
    """A destroyed lease is gone: resume must say so, and never hand out a sandbox, old or new."""
    answer = await answer_of(provider.resume(gone))

    expect_reported_lost(answer)
    await expect_alive(provider)


@check("LEASE-028", level=MUST, cost=Cost.SHARED, needs=REUSABLE)
async def resuming_an_unknown_lease_makes_no_sandbox(provider: Provider, lease: Lease) -> None:
    """An id that nobody ever gave out names no sandbox, and resume makes none for it."""
    answer = await answer_of(provider.resume(unknown_lease(provider, lease)))

    expect_reported_lost(answer)
    await expect_alive(provider)


@check("LEASE-028", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE, when=A_TEMPLATE_BINDING)
async def a_sandbox_of_another_template_is_not_resumed(provider: Provider, kept: Lease) -> None:
    """When the config names another template, the old sandbox is not what the run asked for; and it stays as it is."""
    changed = {**provider.reuse_config, provider.subject.template_field: provider.new_id()}
    answer = await answer_of(provider.resume(kept, changed))
    expect_reported_lost(answer)

    async with awake(provider, kept) as lease:
        seen = await run_anywhere(provider, lease)

    expect(seen, not failed(seen), that="with its own config the lease is resumed", observed=seen.came)


@check("LEASE-028", level=MUST, cost=Cost.OWN, needs=REUSABLE, when=BOTH_HOOKS)
async def a_kept_sandbox_that_vanished_is_reported_lost(provider: Provider, backend: Backend, kept: Lease) -> None:
    """A kept sandbox may vanish at the backend: resume must look there, and never make another in its place."""
    await backend.remove(kept)

    answer = await answer_of(provider.resume(kept))

    expect_reported_lost(answer)
    await answer_of(provider.destroy(kept))


@check("LEASE-029", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE)
async def the_loss_of_a_lease_is_an_answer_and_no_error(provider: Provider, gone: Lease) -> None:
    """A lost sandbox is a fact and no fault: the null id tells the host so, an error looks like a sick backend."""
    answer = await answer_of(provider.resume(gone))

    expect_answered(answer, advice="Answer {providerLeaseId: null, metadata: {expired: true}}.")


# --- after the end


@check("LEASE-038", level=SHOULD, cost=Cost.SHARED)
async def a_command_on_a_destroyed_lease_fails(provider: Provider, gone: Lease) -> None:
    """A late command finds no sandbox: an error or an exit code that is not 0, with and without a session."""
    for bypass in (True, False):
        call = provider.execute(gone, gone.shell, ["-c", "echo alive"], cwd="/", bypass_session=bypass)
        answer = await answer_of(call)

        expect(
            answer,
            failed(answer),
            that="the command is an error or has no exit code 0",
            observed=answer.came,
            advice="Look a sandbox up for a command; never make one.",
        )


@check("LEASE-038", level=SHOULD, cost=Cost.SHARED, needs=Capability.NATIVE_SYNC_IN)
async def a_sync_to_a_destroyed_lease_is_an_error(provider: Provider, gone: Lease) -> None:
    """A late sync finds no sandbox, and says so."""
    source = provider.scratch / "late"
    source.write_text("late", encoding="utf-8")
    mapping = file(source, f"{gone.remote_cwd}/late")

    answer = await answer_of(provider.sync_in(gone, [operation(mapping)]))

    expect_error(answer, what="a sync to a destroyed lease", advice="Look a sandbox up for a sync; never make one.")


@check("LEASE-038", level=SHOULD, cost=Cost.SHARED, needs=REUSABLE, alone=True)
async def nothing_brings_a_destroyed_lease_back(provider: Provider, gone: Lease) -> None:
    """Calls that come too late leave no sandbox behind that no record knows."""
    await run_anywhere(provider, gone)
    await answer_of(provider.realize(gone))

    answer = await answer_of(provider.resume(gone))

    expect(
        answer,
        answer.fields.get("providerLeaseId") != gone.id,
        that="resume does not hand the destroyed lease out",
        observed=answer.came,
        advice="Look a sandbox up for a call; never make one.",
    )
