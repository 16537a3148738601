"""SETUP: a sandbox that a person prepares, and the templates that are captured from it.

Most of these rules are judged on one tour, for a setup costs what a sandbox costs: `conformance.setup_tour` tells what
is asked in which order. Sandboxes of a setup are entered by a command in place of the person.
"""

from collections.abc import Mapping
from dataclasses import replace

from conformance.answer import Answer, answer_of
from conformance.backend import Backend
from conformance.checks import check
from conformance.evidence import Blocked, Undecided, show
from conformance.expect import expect, expect_answered, expect_nothing_left, expect_shape
from conformance.gates import A_SETUP, A_SETUP_AND_AN_INVENTORY, AN_SSH_CONNECTION, TEMPLATE_DELETE, TEMPLATES
from conformance.host.lease import Lease
from conformance.model import Cost, Level, RequirementId
from conformance.provider import Provider
from conformance.setup_tour import MISSING, NOWHERE, THERE, SetupTour, Step, is_captured, is_there
from conformance.setups import (
    a_setup_of_the_instance,
    commands_in,
    payloads_of,
    secrets_in,
    starts_that_fail,
    told_in,
    unknown_setup,
    unknown_template,
)
from conformance.states import failed, moment_of, those_refused

MUST, SHOULD = Level.MUST, Level.SHOULD

BY_ID_ALONE = "Find a setup at the backend by providerLeaseId alone: metadata comes back redacted, memory not at all."
GONE_IS_A_STATE = "Answer {status: missing} for a setup that is not there; what is gone is a state, not a fault."


# --- start and look


@check("SETUP-001", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_setup_begins_with_a_known_status(setup: SetupTour) -> None:
    """The answer to a start has providerLeaseId, a status that the host knows, and connectionSummary, at least null."""
    expect_shape(
        setup.of(Step.START),
        of="SETUP-001",
        advice="Translate the state of your backend into one of the host's; waiting_for_user says that it is ready.",
    )


@check("SETUP-001", level=SHOULD, cost=Cost.SHARED, when=A_SETUP)
async def a_setup_that_was_started_has_a_name(setup: SetupTour) -> None:
    """A setup without a providerLeaseId can neither be looked at nor captured nor cancelled."""
    started = setup.of(Step.START)
    number = started.fields.get("providerLeaseId")
    expect(
        started,
        isinstance(number, str) and bool(number),
        that="providerLeaseId is a text that is not empty",
        observed=f"providerLeaseId is {show(number)}",
        advice="Return the id under which your backend knows the sandbox.",
    )


@check("SETUP-001", level=SHOULD, cost=Cost.SHARED, when=A_SETUP)
async def every_look_has_the_form_of_a_start(setup: SetupTour) -> None:
    """The answer to a look at a setup has the same fields as that to its start."""
    setup.of(Step.UNASKED)
    for look in setup.looks:
        expect_shape(look, of="SETUP-001", advice="Answer get with the same session as start.")


@check("SETUP-002", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def the_end_of_a_setup_lies_ahead(setup: SetupTour) -> None:
    """An expiresAt of a setup that has an hour to go is a date in the future: else the host ends it at once."""
    for answer in (setup.of(Step.START), *setup.looks):
        expect_shape(answer, of="SETUP-002", advice="Return an ISO date with its zone, or null.")
        told = answer.fields.get("expiresAt")
        expect(
            answer,
            (moment_of(told) or float("inf")) > setup.began,
            that="expiresAt is left out, null, or in the future",
            observed=f"expiresAt is {show(told)}",
            advice="Return the end that your backend enforces, in UTC with a Z.",
        )


@check("SETUP-003", level=MUST, cost=Cost.SHARED, when=AN_SSH_CONNECTION)
async def the_command_of_an_ssh_connection_is_one_of_three(setup: SetupTour) -> None:
    """The host shows an ssh command only where it is ssh user@host, with -p and a port before or after, and no more."""
    for answer in answers_with_a_login(setup):
        expect_shape(answer, of="SETUP-003", advice="Leave options out of the command; the person adds their own.")


@check("SETUP-004", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_look_hands_out_no_login_unless_it_asks(setup: SetupTour) -> None:
    """The host looks again and again; only a look with includeConnectionPayload true gets a connectionPayload."""
    setup.of(Step.UNASKED)
    for look in setup.some(Step.UNASKED, Step.SILENT, Step.HIDDEN_LOOK, Step.BARE_LOOK):
        there = look.fields.get("connectionPayload") is not None
        expect(
            look,
            not there,
            that="there is no connectionPayload",
            # What it holds is a login, and does not belong into a report.
            observed=f"connectionPayload is {'there' if there else 'not there'}",
            advice="Make a login in get only when includeConnectionPayload is true.",
        )


@check("SETUP-005", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def no_secret_of_the_connection_is_in_what_is_stored(setup: SetupTour) -> None:
    """The host stores and shows connectionSummary and metadata: no token or password of the payload stands there."""
    expect_untold(setup, secrets_in(payloads_of(answers_with_a_login(setup))), "token or password of the connection")


@check("SETUP-005", level=SHOULD, cost=Cost.SHARED, when=A_SETUP)
async def no_command_of_the_connection_is_in_what_is_stored(setup: SetupTour) -> None:
    """The command that opens the connection belongs into the payload only: often it is all that one needs."""
    expect_untold(setup, commands_in(payloads_of(answers_with_a_login(setup))), "command of the connection")


def answers_with_a_login(setup: SetupTour) -> list[Answer]:
    """The answers that hold a connection; without one there is nothing to judge."""
    found = [answer for answer in (setup.of(Step.START), *setup.looks) if payloads_of([answer])]
    if not found:
        raise Undecided("No answer held a connectionPayload, although one look asked for it.")
    return found


def expect_untold(setup: SetupTour, secrets: Mapping[str, str], what: str) -> None:
    """Demand that nothing that the host stores holds a secret of the connection; what it is stays unsaid."""
    for answer in (setup.of(Step.START), *setup.looks, *setup.some(Step.CAPTURE, Step.CANCEL)):
        told = told_in(answer, secrets)
        expect(
            answer,
            not told,
            that=f"connectionSummary and metadata hold no {what}",
            observed="; ".join(told) or f"none of the {len(secrets)} of the payloads is there",
            advice="Keep what opens the connection in the payload, and make it anew when it is asked for.",
        )


# --- redacted metadata, and another process


@check("SETUP-006", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_fresh_worker_finds_a_setup_by_its_id(setup: SetupTour) -> None:
    """After a restart, a look works with metadata whose texts are hidden, and without metadata."""
    for step in (Step.HIDDEN_LOOK, Step.BARE_LOOK):
        look, before = setup.of(step), setup.of(Step.SILENT)
        expect(
            look,
            is_there(look) or not is_there(before),
            that=f"the setup, which was {before.fields.get('status')} before the restart, is there",
            observed=look.came,
            advice=BY_ID_ALONE,
        )


@check("SETUP-006", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_fresh_worker_captures_a_setup_by_its_id(setup: SetupTour) -> None:
    """After a restart, a capture works with metadata whose texts are hidden."""
    captured = setup.of(Step.CAPTURE)
    if not is_captured(captured) and not any(map(is_captured, setup.some(Step.CAPTURE_AGAIN))):
        raise Blocked(RequirementId("SETUP-009"), f"no capture works: {captured.came}", captured.frames)
    expect(
        captured,
        is_captured(captured),
        that="the setup is captured as it would have been before the restart",
        observed=captured.came,
        advice=BY_ID_ALONE,
    )


@check("SETUP-006", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_fresh_worker_cancels_a_setup_by_its_id(setup: SetupTour) -> None:
    """After a restart, a cancel without metadata works: the setup is not there any more."""
    cancelled, after, command = (setup.of(step) for step in (Step.CANCEL, Step.LOOK_AFTER, Step.COMMAND_AFTER))
    if not setup.is_gone and not setup.is_gone_again:
        raise Blocked(RequirementId("SETUP-008"), f"no cancel works: {cancelled.came}", cancelled.frames)
    expect(
        cancelled,
        setup.is_gone,
        that="the cancel is answered with a status, and the setup is not there afterwards",
        observed=f"{cancelled.came}; a look afterwards: {after.came}; a command in it: {command.came}",
        advice=BY_ID_ALONE,
    )


def expect_no_restart_to_blame(setup: SetupTour) -> None:
    """Block what cannot be told from a cancel that only a fresh worker cannot do."""
    cancelled = setup.of(Step.CANCEL)
    if not setup.is_gone and setup.is_gone_again:
        raise Blocked(RequirementId("SETUP-006"), f"a fresh worker cannot cancel: {cancelled.came}", cancelled.frames)


# --- cancel


@check("SETUP-007", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_setup_can_be_cancelled_twice(setup: SetupTour) -> None:
    """Each cancel is answered with a status: a host that did not get the first answer asks once more."""
    expect_no_restart_to_blame(setup)
    for step in (Step.CANCEL, Step.CANCEL_TWICE):
        expect_shape(setup.of(step), of="SETUP-007", advice=GONE_IS_A_STATE)


@check("SETUP-007", level=MUST, when=A_SETUP)
async def a_setup_that_never_was_can_be_cancelled(provider: Provider) -> None:
    """A cancel of an unknown id, or of none, is answered with a status: the session of the host has to end."""
    nobody = unknown_setup(provider)
    for setup in (nobody, replace(nobody, id=None)):
        expect_shape(await answer_of(provider.cancel_setup(setup)), of="SETUP-007", advice=GONE_IS_A_STATE)


@check("SETUP-008", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def a_cancelled_setup_is_gone(setup: SetupTour) -> None:
    """A cancel removes the sandbox, after a capture too: it is not there for a look, and no command runs in it."""
    expect_no_restart_to_blame(setup)
    if setup.of(Step.CANCEL).fault is not None:
        raise Blocked(RequirementId("SETUP-007"), f"no cancel works: {setup.of(Step.CANCEL).came}")
    after, command = setup.of(Step.LOOK_AFTER), setup.of(Step.COMMAND_AFTER)
    advice = "Remove the sandbox in cancel, whatever its reason is, and answer when it is gone."
    expect(after, not is_there(after), that="the setup is not there any more", observed=after.came, advice=advice)
    expect(command, failed(command), that="no command runs in its sandbox", observed=command.came, advice=advice)


@check("SETUP-008", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_template_outlives_its_setup(setup: SetupTour, lease: Lease) -> None:
    """The cancel that ends a setup after a capture leaves the template: a lease starts from it."""
    started = setup.of(Step.LEASE)
    if not setup.gave_a_lease(Step.LEASE) and not setup.gave_a_lease(Step.LEASE_AGAIN):
        raise Blocked(RequirementId("SETUP-009"), f"no lease starts from a template: {started.came}", started.frames)
    expect(
        started,
        setup.gave_a_lease(Step.LEASE),
        that=f"a lease starts from the template, as {lease.id} did without it",
        observed=started.came,
        advice="Keep a template apart from the sandbox that it was made of.",
    )


# --- templates


@check("SETUP-009", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_capture_names_its_template(setup: SetupTour) -> None:
    """The answer to a capture has a templateRef and a templateKind, neither of them empty."""
    captured = setup.some(Step.CAPTURE_AGAIN) or [setup.of(Step.CAPTURE)]
    expect_shape(captured[0], of="SETUP-009", advice="Return the id of the template at your backend, and its kind.")


@check("SETUP-009", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_lease_starts_from_a_template(setup: SetupTour, lease: Lease) -> None:
    """A template is of use when acquire takes it, through the setting that the driver or its kind binds it to."""
    started = setup.some(Step.LEASE_AGAIN) or [setup.of(Step.LEASE)]
    expect(
        started[0],
        setup.gave_a_lease(Step.LEASE) or setup.gave_a_lease(Step.LEASE_AGAIN),
        that=f"a lease starts from the template, as {lease.id} did without it",
        observed=started[0].came,
        advice="Name the setting for templates in templateConfigBinding, and start from it in acquire.",
    )


@check("SETUP-009", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_template_holds_what_was_changed(setup: SetupTour) -> None:
    """What a person has put into the setup, here a file in the home directory, is there in leases made from it."""
    if not setup.gave_a_lease(Step.LEASE):
        raise Blocked(RequirementId("SETUP-008"), f"no lease started from it: {setup.of(Step.LEASE).came}")
    if failed(setup.of(Step.MARK)):
        expect_as_much_as_can_be_seen(setup)
        return
    expect_a_mark_to_miss(setup)
    seen = setup.of(Step.READ)
    told = str(seen.fields.get("stdout"))
    if THERE not in told and MISSING not in told:
        raise Blocked(RequirementId("EXEC-002"), f"a plain command did not succeed: {seen.came}", seen.frames)
    expect(
        seen,
        THERE in told,
        that="a file from the setup is in the home directory of a lease that starts from the template",
        observed=seen.came,
        advice="Capture when all writes have reached the disk, and every file system that a person can write to.",
    )


def expect_as_much_as_can_be_seen(setup: SetupTour) -> None:
    """Demand no more than a lease where a setup takes no commands: a person would have to leave something in it."""
    started = setup.of(Step.LEASE)
    expect(
        started,
        setup.gave_a_lease(Step.LEASE),
        that="a lease starts from the template, of which no more is seen because the setup takes no commands",
        observed=started.came,
    )


def expect_a_mark_to_miss(setup: SetupTour) -> None:
    """Block what a template holds, where not even the setup that it was made of held the file."""
    left, seen = setup.of(Step.MARK), setup.of(Step.MARK_SEEN)
    if NOWHERE in str(left.fields.get("stdout")):
        raise Blocked(RequirementId("EXEC-011"), f"a command has no home directory: {left.came}", left.frames)
    if THERE not in str(seen.fields.get("stdout")):
        raise Blocked(RequirementId("EXEC-026"), f"the next command saw no file of the one before: {seen.came}")


@check("SETUP-010", level=MUST, cost=Cost.OWN, when=A_SETUP_AND_AN_INVENTORY, alone=True)
async def a_start_that_fails_leaves_no_sandbox(provider: Provider, backend: Backend, lease: Lease) -> None:
    """Of a start that fails the host has no id to cancel with, so what it had made already has to be removed again."""
    before = await backend.look_for(lease)
    refused = those_refused(
        await starts_that_fail(provider), "start with a wrong secret, an unknown template or a past end"
    )

    await expect_nothing_left(
        refused[-1],
        backend,
        before,
        provider.ledger,
        that=f"{len(refused)} starts that were refused have left no sandbox",
        advice="Remove what you have made when a later step of the start fails.",
    )


# --- what is gone


@check("SETUP-011", level=SHOULD, cost=Cost.SHARED, when=A_SETUP)
async def a_cancelled_setup_is_missing(setup: SetupTour) -> None:
    """A look at a setup that was cancelled says so with the status missing, and is no error."""
    after = setup.of(Step.LOOK_AFTER)
    if is_there(after):
        raise Blocked(RequirementId("SETUP-008"), f"it is there: {after.came}", after.frames)
    expect_missing(after)


@check("SETUP-011", level=SHOULD, when=A_SETUP)
async def a_setup_that_never_was_is_missing(provider: Provider) -> None:
    """A look at a setup that is not known says so with the status missing, and is no error."""
    expect_missing(await answer_of(provider.get_setup(unknown_setup(provider), with_payload=False)))


def expect_missing(look: Answer) -> None:
    """Demand that a look finds nothing, and says so in its status."""
    expect(
        look,
        look.fault is None and look.fields.get("status") == "missing",
        that="the status is missing",
        observed=look.came,
        advice="Answer {providerLeaseId: null, status: missing, connectionSummary: null}.",
    )


@check("SETUP-012", level=MUST, cost=Cost.SHARED, when=TEMPLATES)
async def a_delete_tells_whether_the_template_is_gone(setup: SetupTour, lease: Lease) -> None:
    """After deleted true no lease starts from the template; after deleted false one does."""
    deleted, late = setup.of(Step.DELETE), setup.of(Step.LEASE_AFTER)
    expect_shape(deleted, of="SETUP-012", advice="Answer {deleted: true} when it is gone, {deleted: false} when not.")
    if not setup.gave_a_lease(Step.LEASE):
        raise Blocked(RequirementId("SETUP-008"), f"no lease started from it: {setup.of(Step.LEASE).came}")
    works = setup.gave_a_lease(Step.LEASE_AFTER)
    expect(
        late,
        works is not deleted.fields.get("deleted"),
        that=f"an acquire with the template shows the same, as that of {lease.id} shows that leases start",
        observed=f"deleted is {show(deleted.fields.get('deleted'))}; the acquire afterwards: {late.came}",
        advice="Answer deleted true only once the backend has confirmed it.",
    )


@check("SETUP-012", level=SHOULD, cost=Cost.SHARED, when=TEMPLATES)
async def a_template_can_be_deleted_twice(setup: SetupTour) -> None:
    """A second delete finds nothing to do, and is no error: a host that did not get the first answer asks once more."""
    setup.of(Step.DELETE)
    expect_shape(setup.of(Step.DELETE_TWICE), of="SETUP-012", advice="Answer {deleted: false} for what is not there.")


@check("SETUP-012", level=SHOULD, when=TEMPLATE_DELETE)
async def a_template_that_never_was_can_be_deleted(provider: Provider) -> None:
    """A delete of a template that is not known is no error."""
    answer = await answer_of(provider.delete_template(unknown_template(provider)))
    expect_shape(answer, of="SETUP-012", advice="Answer {deleted: false} for what is not there.")


@check("SETUP-013", level=MUST, cost=Cost.OWN, when=A_SETUP)
async def a_setup_may_belong_to_the_instance(provider: Provider, setup: SetupTour) -> None:
    """The companyId of a setup or template that belongs to no company is the word instance: every call accepts it."""
    setup.of(Step.UNASKED)
    for answer in await a_setup_of_the_instance(provider):
        # What works for no company at all is judged by the rules about it.
        if setup.has_worked(answer.method):
            expect_answered(answer, advice="Treat companyId as an opaque text; it is not always a UUID.")
