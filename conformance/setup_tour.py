"""A tour of one interactive setup from its start to its end: rules on setups and templates are judged on its answers.

A setup is a sandbox, so many checks look at the same one. Half-way a fresh worker goes on, as after a restart of the
host. Where the tour gets stuck, a second setup in one worker shows which step is to blame.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from conformance.answer import Answer, answer_of
from conformance.errors import ProviderFault
from conformance.evidence import Blocked, Trace
from conformance.gates import TEMPLATES
from conformance.host.lease import Lease
from conformance.host.setup import Setup, Template, all_hidden, template_of, with_template
from conformance.model import RequirementId, object_of
from conformance.provider import Provider
from conformance.purse import OverBudget
from conformance.states import NOBODY, failed, run_anywhere
from conformance.steps import remove

LIVE = frozenset({"starting", "waiting_for_user", "capturing"})
"""States of a setup that is there (contract: the others are ends)."""

READY_S = 120.0
"""How long a setup may say that it is starting before the tour goes on all the same (our choice)."""

POLL_S = 1.0
"""Between two looks at a setup that is starting (contract: as often as a recorded host looks)."""

NOWHERE = "there is no home directory"
THERE = "the mark is there"
MISSING = "the mark is missing"


class Step(StrEnum):
    """The calls of the tour, in their order. `again`: on the second setup."""

    START = "start"
    UNASKED = "look that does not ask for the login"
    SILENT = "look that says nothing about the login"
    ASKED = "look that asks for the login"
    MARK = "command that leaves a mark"
    MARK_SEEN = "command that sees the mark"
    HIDDEN_LOOK = "look of a fresh worker, every text of the metadata hidden"
    BARE_LOOK = "look of a fresh worker, without metadata"
    CAPTURE = "capture by a fresh worker, every text of the metadata hidden"
    CANCEL = "cancel by a fresh worker, without metadata"
    LOOK_AFTER = "look after the cancel"
    COMMAND_AFTER = "command after the cancel"
    CANCEL_TWICE = "second cancel"
    LEASE = "acquire with the template after the cancel"
    READ = "command that looks for the mark"
    DELETE = "delete of the template"
    DELETE_TWICE = "second delete"
    LEASE_AFTER = "acquire with the deleted template"
    START_AGAIN = "start again"
    CAPTURE_AGAIN = "capture again, in the same worker"
    LEASE_AGAIN = "acquire with the template before the cancel"
    CANCEL_AGAIN = "cancel again, in the same worker"
    LOOK_AGAIN = "look after the cancel again"
    COMMAND_AGAIN = "command after the cancel again"


@dataclass(frozen=True)
class SetupTour:
    """What became of each step, in the hands of one check; a step that could not be taken has no answer.

    `began` is when the start was answered, in seconds since the epoch.
    """

    trace: Trace
    began: float
    answers: Mapping[Step, Answer] = field(repr=False)

    def seen_by(self, trace: Trace) -> "SetupTour":
        """The same tour in the hands of another check."""
        own = {step: replace(answer, trace=trace) for step, answer in self.answers.items()}
        return replace(self, trace=trace, answers=own)

    def of(self, step: Step) -> Answer:
        """The answer of one step; blocked by the rule about the step without which it could not be taken."""
        if step in self.answers:
            return self.answers[step]
        by = Step.CAPTURE if _is_named(self.answers[Step.START]) else Step.START
        rule = {Step.CAPTURE: "SETUP-009", Step.START: "SETUP-001"}[by]
        came = self.answers[by]
        # A result may hold a login, which does not belong into a report.
        told = "it named nothing to go on with" if came.fault is None else came.came
        raise Blocked(RequirementId(rule), f"there was no {step}, because of the {by}: {told}", came.frames)

    def some(self, *steps: Step) -> list[Answer]:
        """The answers of those steps that were taken."""
        return [self.answers[step] for step in steps if step in self.answers]

    @property
    def looks(self) -> list[Answer]:
        """All looks before the end."""
        return self.some(Step.UNASKED, Step.SILENT, Step.ASKED, Step.HIDDEN_LOOK, Step.BARE_LOOK)

    def gave_a_lease(self, step: Step) -> bool:
        """Whether an acquire of the tour handed one out."""
        return step in self.answers and _is_named(self.answers[step])

    @property
    def is_gone(self) -> bool:
        """Whether the cancel of a fresh worker was answered, and nothing shows the setup any more."""
        return _is_gone(self.some(Step.CANCEL, Step.LOOK_AFTER, Step.COMMAND_AFTER))

    @property
    def is_gone_again(self) -> bool:
        """The same of the second setup, which one worker started and cancelled; False when there was none."""
        return _is_gone(self.some(Step.CANCEL_AGAIN, Step.LOOK_AGAIN, Step.COMMAND_AGAIN))

    def has_worked(self, method: str) -> bool:
        """Whether any call of a method was answered with a result."""
        return any(answer.method == method and answer.fault is None for answer in self.answers.values())


def is_there(answer: Answer) -> bool:
    """Whether a look shows a setup that has not ended."""
    return _is_named(answer) and answer.fields.get("status") in LIVE


def is_captured(answer: Answer) -> bool:
    """Whether a capture has handed a template out."""
    ref = answer.fields.get("templateRef")
    return isinstance(ref, str) and bool(ref)


async def take_setup_tour(provider: Provider) -> SetupTour:
    """Lead a setup through the tour. What becomes of each call is kept, whatever it is; nothing is left behind.

    Sandboxes are made by the given worker: a second one need not be able to (LIFE-007).
    """
    answers: dict[Step, Answer] = {}
    mark = provider.new_id()
    try:
        answers[Step.START] = await answer_of(provider.start_setup())
        began, setup = time.time(), provider.set_up(answers[Step.START])
        if setup is not None and setup.id:
            inside = _inside(provider, answers[Step.START])
            await _visit(provider, setup, inside, mark, answers)
            await _go_on_in_a_fresh_worker(provider, setup, inside, answers)
            await _use_template(provider, setup, mark, answers)
            with contextlib.suppress(OverBudget):
                await _try_again(provider, answers)
    finally:
        await _tidy(provider)
    return SetupTour(provider.trace, began, answers)


async def _visit(provider: Provider, setup: Setup, inside: Lease, mark: str, answers: dict[Step, Answer]) -> None:
    answers[Step.UNASKED] = await _until_started(provider, setup)
    answers[Step.SILENT] = await answer_of(provider.get_setup(setup, with_payload=None))
    answers[Step.ASKED] = await answer_of(provider.get_setup(setup, with_payload=True))
    leave = f'if [ -d "$HOME" ]; then echo {mark} > "$HOME/.kit-{mark}"; else echo {NOWHERE}; fi'
    answers[Step.MARK] = await _run(provider, inside, leave)
    answers[Step.MARK_SEEN] = await _run(provider, inside, _search(mark))


async def _until_started(provider: Provider, setup: Setup) -> Answer:
    patience = time.monotonic() + READY_S
    while True:
        answer = await answer_of(provider.get_setup(setup, with_payload=False))
        if answer.fields.get("status") != "starting" or time.monotonic() >= patience:
            return answer
        await asyncio.sleep(POLL_S)


async def _go_on_in_a_fresh_worker(
    provider: Provider, setup: Setup, inside: Lease, answers: dict[Step, Answer]
) -> None:
    try:
        async with provider.fresh_worker() as other:
            await _finish(other, setup, inside, answers)
    except ProviderFault as fault:
        raise Blocked(RequirementId("INIT-001"), fault.sentence()) from fault


async def _finish(provider: Provider, setup: Setup, inside: Lease, answers: dict[Step, Answer]) -> None:
    hidden = replace(setup, metadata=object_of(all_hidden(setup.metadata)))
    answers[Step.HIDDEN_LOOK] = await answer_of(provider.get_setup(hidden, with_payload=False))
    answers[Step.BARE_LOOK] = await answer_of(provider.get_setup(setup, with_payload=False, bare=True))
    reason = "the operator gave up"
    if TEMPLATES.holds(provider.subject):
        answers[Step.CAPTURE] = await answer_of(provider.capture_template(hidden))
        reason = "promoted"
    answers[Step.CANCEL] = await answer_of(provider.cancel_setup(setup, reason, bare=True))
    answers[Step.LOOK_AFTER] = await answer_of(provider.get_setup(setup, with_payload=False))
    answers[Step.COMMAND_AFTER] = await run_anywhere(provider, inside)
    if not _is_gone([answers[Step.CANCEL], answers[Step.LOOK_AFTER], answers[Step.COMMAND_AFTER]]):
        # It is there, whatever the cancel has said.
        for entry in provider.ledger.entries:
            if isinstance(entry.held, Setup) and entry.held.id == setup.id:
                provider.ledger.doubt(entry.label)
    answers[Step.CANCEL_TWICE] = await answer_of(provider.cancel_setup(setup))


async def _use_template(provider: Provider, setup: Setup, mark: str, answers: dict[Step, Answer]) -> None:
    template = template_of(setup, answers[Step.CAPTURE].result) if Step.CAPTURE in answers else None
    if template is None:
        return
    answers[Step.LEASE], lease = await _acquire(provider, template)
    if lease is not None:
        answers[Step.READ] = await _run(provider, lease, _search(mark))
        await answer_of(provider.destroy(lease))
    answers[Step.DELETE] = await answer_of(provider.delete_template(template))
    answers[Step.DELETE_TWICE] = await answer_of(provider.delete_template(template))
    answers[Step.LEASE_AFTER], late = await _acquire(provider, template)
    if late is not None:
        await answer_of(provider.destroy(late))


def _is_stuck(answers: Mapping[Step, Answer]) -> bool:
    captured, lease = answers.get(Step.CAPTURE), answers.get(Step.LEASE)
    return (
        (captured is not None and not is_captured(captured))
        or (lease is not None and not _is_named(lease))
        or not _is_gone([answers[Step.CANCEL], answers[Step.LOOK_AFTER], answers[Step.COMMAND_AFTER]])
    )


async def _try_again(provider: Provider, answers: dict[Step, Answer]) -> None:
    """Where the tour got stuck, the same as simply as can be: one worker, all metadata, the lease before the cancel."""
    if not _is_stuck(answers):
        return
    answers[Step.START_AGAIN] = await answer_of(provider.start_setup())
    setup = provider.set_up(answers[Step.START_AGAIN])
    if setup is None or not setup.id:
        return
    await _until_started(provider, setup)
    if TEMPLATES.holds(provider.subject):
        answers[Step.CAPTURE_AGAIN] = await answer_of(provider.capture_template(setup))
        template = template_of(setup, answers[Step.CAPTURE_AGAIN].result)
        if template is not None:
            answers[Step.LEASE_AGAIN], lease = await _acquire(provider, template)
            if lease is not None:
                await answer_of(provider.destroy(lease))
    answers[Step.CANCEL_AGAIN] = await answer_of(provider.cancel_setup(setup))
    answers[Step.LOOK_AGAIN] = await answer_of(provider.get_setup(setup, with_payload=False))
    answers[Step.COMMAND_AGAIN] = await run_anywhere(provider, _inside(provider, answers[Step.START_AGAIN]))


async def _acquire(provider: Provider, template: Template) -> tuple[Answer, Lease | None]:
    binding = object_of(provider.subject.driver.get("templateConfigBinding"))
    answer = await answer_of(provider.acquire(with_template(binding, provider.config, template)))
    lease = provider.leased(answer)
    return answer, lease if lease is not None and lease.id is not None else None


def _search(mark: str) -> str:
    there = f'[ "$(cat "$HOME/.kit-{mark}" 2>/dev/null)" = {mark} ]'
    return f"if {there}; then echo {THERE}; else echo {MISSING}; fi"


async def _run(provider: Provider, lease: Lease, script: str) -> Answer:
    return await answer_of(provider.execute(lease, lease.shell, ["-c", script], cwd="/"))


async def _tidy(provider: Provider) -> None:
    """Close what is open of the tour, and of nobody else; what cannot be closed now is tried again at the end."""
    for entry in provider.ledger.open_entries(provider.trace.check):
        if entry.held is not None and entry.held.tenant == provider.tenant:
            with contextlib.suppress(ProviderFault):
                await remove(provider, entry.held)


def _inside(provider: Provider, started: Answer) -> Lease:
    """The sandbox of a setup as if it were that of a lease, for a command in the place of a person."""
    lease = provider.keeper.lease(NOBODY, provider.tenant, started.params, started.result)
    if lease is None:
        raise Blocked(RequirementId("SETUP-001"), "start gave no setup", started.frames)
    return lease


def _is_gone(answers: Sequence[Answer]) -> bool:
    """Whether a cancel was answered, a look afterwards finds nothing, and no command runs."""
    return bool(answers) and answers[0].fault is None and not is_there(answers[1]) and failed(answers[2])


def _is_named(answer: Answer) -> bool:
    """Whether an answer names a sandbox."""
    number = answer.fields.get("providerLeaseId")
    return answer.fault is None and isinstance(number, str) and bool(number)
