"""INIT: the start of the worker, its first answer, and whether what it lists is there."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

from conformance.answer import Answer, answer_of
from conformance.checks import check
from conformance.errors import AnswerTimeout, WorkerGone
from conformance.evidence import Blocked, show
from conformance.expect import REFUSALS, expect, expect_equal
from conformance.gates import A_SETUP
from conformance.harmless import MAKING, harmless_call, unknown_lease
from conformance.host.environment import initialize_params
from conformance.model import Cost, Level, RequirementId, items_of, object_of
from conformance.provider import Launcher, Provider
from conformance.setup_tour import SetupTour, Step
from conformance.steps import advertised_methods, initialize_worker

MUST, SHOULD = Level.MUST, Level.SHOULD

CLOSING = ("environmentReleaseLease", "environmentDestroyLease")
"""Methods that the host skips when they are not listed, and with them the end of the sandbox."""

CALLED_ANYWAY = (
    "environmentValidateConfig",
    "environmentProbe",
    "environmentAcquireLease",
    "environmentRealizeWorkspace",
    "environmentExecute",
)
"""Methods that the host calls without looking at the list."""

START = "environmentStartInteractiveSetup"

SENT_BY_EVERY_RUN = frozenset({"initialize", "shutdown"})
"""Methods that need no call of their own: every worker gets them at its start and at its end."""

ROOM_FOR_STDERR = 3_000
"""Characters of a finding about a start: the last lines of stderr are what the author needs."""


@check("INIT-001", level=MUST)
async def the_worker_answers_initialize_in_time(launcher: Launcher) -> None:
    """The worker answers initialize, its first message, with ok: true; after 15 s the host kills it for good."""
    async with launcher.worker() as provider:
        answer = await answer_of(provider.initialize())

    expect_start(
        answer,
        that=f"initialize is answered with ok: true within {launcher.launch.limits.seconds('initialize'):g} s",
        advice="Read stdin from the start, answer initialize before anything slow, and write only messages to stdout.",
    )
    expect_equal(answer, "ok", answer.fields.get("ok"), expected=True, advice="Answer ok: true.")


@check("INIT-002", level=MUST)
async def the_methods_are_listed_as_texts(provider: Provider) -> None:
    """The list supportedMethods holds strings; without it the host takes every capability for absent."""
    listed = provider.worker.supported
    expect(
        provider.greeting,
        isinstance(listed, list) and all(isinstance(name, str) for name in items_of(listed)),
        that="supportedMethods in the answer to initialize is a list of strings",
        observed=f"supportedMethods is {show(listed)}",
        advice="List the name of every method that the worker serves.",
    )


@check("INIT-003", level=MUST)
async def every_listed_method_is_there(provider: Provider) -> None:
    """The host plans a run with the list and never asks again, so nothing listed may turn out to be missing."""
    listed = sorted({*advertised_methods(provider)} - SENT_BY_EVERY_RUN - MAKING)
    for method in listed:
        expect_there(await answer_of(harmless_call(provider, method)))


@check("INIT-003", level=MUST, cost=Cost.OWN)
async def every_listed_method_that_makes_something_is_there(provider: Provider, acquired: Answer) -> None:
    """The same for what cannot be called without making a sandbox; it is removed at once."""
    expect_there(acquired)
    # Where setups are offered, one is started for all checks that look at it.
    elsewhere = {START} if A_SETUP.holds(provider.subject) else set[str]()
    for method in sorted({*advertised_methods(provider)} & MAKING - {acquired.method} - elsewhere):
        expect_there(await answer_of(harmless_call(provider, method)))


@check("INIT-003", level=MUST, cost=Cost.SHARED, when=A_SETUP)
async def the_start_of_a_setup_is_there_if_it_is_listed(provider: Provider, setup: SetupTour) -> None:
    """A listed start is called as soon as an operator asks for a setup."""
    start = setup.of(Step.START)

    expect(
        start,
        START not in advertised_methods(provider) or start.error_code not in REFUSALS["unknown or not implemented"],
        that=f"{START} is listed only where it is there",
        observed=start.came,
        advice="Take what is not implemented off the list.",
    )


@check("INIT-004", level=MUST)
async def the_methods_that_end_a_lease_are_listed(provider: Provider) -> None:
    """The host calls release and destroy only when they are listed; else every run leaves a sandbox behind."""
    expect_listed(provider, CLOSING, advice="List both, also when one of them does all the work of the other.")


@check("INIT-005", level=MUST, cost=Cost.OWN)
async def what_every_run_needs_is_there(provider: Provider) -> None:
    """The host calls validate, probe, acquire, realize and execute without a look at the list."""
    validated = await answer_of(provider.validate_config())
    probed = await answer_of(provider.probe())
    acquired = await answer_of(provider.acquire())
    lease = provider.leased(acquired) or unknown_lease(provider)
    realized = await answer_of(provider.realize(lease))
    executed = await answer_of(provider.execute(lease, "true"))

    for answer in (validated, probed, acquired, realized, executed):
        expect_there(answer)


@check("INIT-005", level=SHOULD)
async def what_every_run_needs_is_listed(provider: Provider) -> None:
    """What is there should be listed: capabilities rest on environmentExecute, and later hosts look at more."""
    expect_listed(provider, CALLED_ANYWAY, advice="List the name of every method that the worker serves.")


@check("INIT-007", level=MUST)
async def unknown_keys_do_not_keep_the_worker_from_starting(launcher: Launcher) -> None:
    """A newer host sends keys that no published type names; the worker must pass over them."""
    async with launcher.worker() as provider:
        params = initialize_params(launcher.launch.package.manifest, launcher.launch.contract)
        told = {**object_of(params["instanceInfo"]), provider.new_id(): {"any": ["value"]}}
        answer = await answer_of(
            provider.call("initialize", {**params, "instanceInfo": told, provider.new_id(): {"any": ["value"]}})
        )

    await expect_start_where_others_do(
        answer,
        launcher.worker(),
        that="initialize is answered with ok: true although it has keys that the worker does not know",
        advice="Read the keys that you need and pass over all others.",
    )


@check("INIT-008", level=MUST)
async def the_worker_starts_without_a_home(launcher: Launcher) -> None:
    """The host builds the environment from nothing: there is no HOME, no TMPDIR and no variable of the author's."""
    bare = replace(launcher, launch=replace(launcher.launch, pass_through=()))
    async with bare.worker() as provider:
        answer = await answer_of(provider.initialize())

    await expect_start_where_others_do(
        answer,
        launcher.worker({"HOME": str(Path.cwd()), **launcher.launch.own_environment}),
        that="the worker answers initialize with no environment variables but those of the host",
        advice="Read no variable of your own while the worker starts; settings come with the config of each call.",
    )


@check("INIT-009", level=MUST)
async def the_worker_starts_in_any_directory(launcher: Launcher) -> None:
    """The worker starts in the host's own directory, where nothing of the package can be found."""
    package = launcher.launch.package.root
    async with _started_in(launcher, launcher.launch.directory.parent / "elsewhere").worker() as provider:
        answer = await answer_of(provider.initialize())

    await expect_start_where_others_do(
        answer,
        _started_in(launcher, Path.cwd() if package is None else package).worker(),
        that="the worker answers initialize in a directory that has nothing to do with the package",
        advice="Find files by the place of the module (import.meta.url), not by the working directory.",
    )


def expect_start(answer: Answer, *, that: str, advice: str) -> None:
    """Demand that an initialize was answered as a host needs it; what the worker wrote is shown where it was not."""
    answer.trace.decide(
        holds=_started(answer),
        expected=that,
        observed=_account(answer),
        frames=answer.frames,
        sent="initialize, as the first message",
        advice=advice,
        most=ROOM_FOR_STDERR,
    )


async def expect_start_where_others_do(
    answer: Answer, ordinary: AbstractAsyncContextManager[Provider], *, that: str, advice: str
) -> None:
    """Demand that a start under a special condition worked; blocked by INIT-001 where an ordinary one does not."""
    if not _started(answer):
        async with ordinary as provider:
            await initialize_worker(provider)
    expect_start(answer, that=that, advice=advice)


def expect_there(answer: Answer) -> None:
    """Demand that a method is not refused as unknown or not implemented; any other answer means that it is there.

    Blocked by LIFE-006 or RPC-008 where there was no answer.
    """
    if isinstance(answer.fault, WorkerGone):
        raise Blocked(RequirementId("LIFE-006"), answer.came, answer.frames)
    if isinstance(answer.fault, AnswerTimeout):
        raise Blocked(RequirementId("RPC-008"), answer.came, answer.frames)
    expect(
        answer,
        answer.error_code not in REFUSALS["unknown or not implemented"],
        that=f"{answer.method} is there: it is answered with anything but error -32601 or -32004",
        observed=answer.came,
        advice=f"Serve {answer.method}, or take it off supportedMethods where a provider may do without it.",
    )


def expect_listed(provider: Provider, methods: tuple[str, ...], *, advice: str) -> None:
    """Demand that methods stand in supportedMethods."""
    listed = advertised_methods(provider)
    missing = [method for method in methods if method not in listed]
    expect(
        provider.greeting,
        not missing,
        that=f"supportedMethods lists {', '.join(methods)}",
        observed=f"{', '.join(missing)} not among {show(sorted(listed))}" if missing else "all of them are listed",
        advice=advice,
    )


def _started_in(launcher: Launcher, directory: Path) -> Launcher:
    return replace(launcher, launch=replace(launcher.launch, directory=directory))


def _started(answer: Answer) -> bool:
    return answer.fault is None and bool(answer.fields.get("ok"))


def _account(answer: Answer) -> str:
    """What came, and what the worker wrote instead of an answer or beside it."""
    peer = answer.worker.peer
    tail = peer.process.stderr_tail.strip()
    stray = [f"On stdout came {violation.observed}." for violation in peer.violations]
    # The sentence about a worker that is gone ends with its stderr already.
    said = [f"Its stderr ended with: {tail[-800:]}"] if tail and not isinstance(answer.fault, WorkerGone) else []
    return " ".join([answer.came, *(stray + said if not _started(answer) else [])])
