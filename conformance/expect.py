"""Helpers that decide. Each says what it demands, and takes the evidence it decides on as its first argument."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Any

from conformance.answer import Answer, answer_of
from conformance.backend import Backend, Listing, new_since
from conformance.errors import ProviderFault, RpcError
from conformance.evidence import Evidence, cut, show
from conformance.host.lease import Lease
from conformance.ledger import Ledger
from conformance.provider import Provider
from conformance.states import can_resume, failed, run_anywhere
from conformance.steps import Outcome

REFUSALS = {
    "unknown method": frozenset({-32601}),
    "not implemented": frozenset({-32004}),
    "unknown or not implemented": frozenset({-32601, -32004}),
}
"""Codes of a proper refusal, by what is refused (protocol.md section 4)."""

SHOWN_DIFFERENCE = 24
"""Characters shown of two texts from where they part (our choice: a finding must fit on a screen)."""


def expect(
    evidence: Evidence,
    holds: bool,  # noqa: FBT001 - what is demanded, as in an assert
    *,
    that: str,
    observed: object,
    advice: str = "",
    timed: bool = False,
) -> None:
    """Demand that something holds. `that` names what the rule demands; `observed` is what was seen.

    A demand that it be there in time is `timed`: it counts only when it fails alone too.
    """
    evidence.trace.decide(
        holds=holds,
        expected=that,
        observed=observed,
        frames=evidence.frames,
        sent=evidence.sent,
        advice=advice,
        timed=timed,
    )


def expect_equal(evidence: Evidence, what: str, observed: object, expected: object, *, advice: str = "") -> None:
    """Demand equality in value and JSON type: ``1`` is not ``true``."""
    same = observed == expected and isinstance(observed, bool) == isinstance(expected, bool)
    expect(
        evidence,
        same,
        that=f"{what} is {cut(show(expected), 300)}",
        observed=f"{what} is {cut(show(observed), 300)}",
        advice=advice,
    )


def expect_same_text(evidence: Evidence, what: str, observed: str, expected: str, *, advice: str = "") -> None:
    """Demand equal texts of any length; a difference is shown where it begins, escaped and in hex."""
    expect(
        evidence,
        observed == expected,
        that=f"{what} is {cut(show(expected), 300)} ({len(expected)} characters)",
        observed=difference(what, observed, expected),
        advice=advice,
    )


def difference(what: str, observed: str, expected: str) -> str:
    """Where two texts part, for a person; what they are when they do not."""
    if observed == expected:
        return f"{what} is as it should be ({len(observed)} characters)"
    pairs = enumerate(zip(observed, expected, strict=False))
    place = next((number for number, (one, other) in pairs if one != other), min(len(observed), len(expected)))
    came, wanted = (text[place : place + SHOWN_DIFFERENCE] for text in (observed, expected))
    return f"{what} has {len(observed)} characters; at character {place} came {_exact(came)} and not {_exact(wanted)}"


def _exact(text: str) -> str:
    return f"{show(text)} (hex {text.encode('utf-8', 'surrogatepass').hex() or 'of nothing'})"


def expect_answered(answer: Answer, *, advice: str = "") -> None:
    """Demand a result, whatever it holds."""
    expect(
        answer,
        answer.fault is None,
        that=f"{answer.method} is answered with a result",
        observed=answer.came,
        advice=advice,
    )


def expect_shape(answer: Answer, *, of: str | None = None, advice: str = "") -> None:
    """Demand a result that fits the contract's schema for its method; `of` looks at one requirement's part only."""
    expect_answered(answer, advice=advice)
    found = answer.worker.launch.contract.result_problems(answer.method, answer.result)
    problems = [
        f"{problem.path}: {problem.message}"
        for problem in found
        if problem.severity == "error" and of in {None, problem.requirement}
    ]
    expect(
        answer,
        not problems,
        that=f"the result of {answer.method} has the fields and types of the contract",
        observed="; ".join(problems) if problems else answer.came,
        advice=advice,
    )


def expect_refused(answer: Answer, codes: Collection[int], *, what: str, advice: str = "") -> None:
    """Demand an error answer with one of the codes; a crash, silence or a result is no refusal."""
    wanted = " or ".join(str(code) for code in sorted(codes, reverse=True))
    expect(
        answer,
        isinstance(answer.fault, RpcError) and answer.fault.code in codes,
        that=f"{what} is refused with error {wanted}",
        observed=answer.came,
        advice=advice,
    )


def expect_error(answer: Answer, *, what: str, advice: str = "") -> None:
    """Demand an error answer of any code, by a worker that answers: a crash or silence is none."""
    expect(
        answer,
        isinstance(answer.fault, RpcError),
        that=f"{what} is answered with an error",
        observed=answer.came,
        advice=advice,
    )


async def expect_alive(provider: Provider) -> None:
    """Demand that the worker still runs and answers."""
    answer = None
    try:
        answer = await provider.validate_config()
        seen = answer.came
    except RpcError as fault:
        answer, seen = provider, fault.sentence()
    except ProviderFault as fault:
        seen = fault.sentence()
    expect(
        answer or provider,
        answer is not None,
        that="the worker still runs and answers afterwards",
        observed=seen,
        advice="An error in one call must never end the process: catch it and answer with an error.",
    )


def expect_reported_lost(answer: Answer) -> None:
    """Demand that resume hands out no sandbox: the null form, or an error answer."""
    handed_out = answer.fields.get("providerLeaseId")
    refused = isinstance(answer.fault, RpcError)
    expect(
        answer,
        refused or (answer.fault is None and not handed_out),
        that="resume answers with providerLeaseId null (or an error), and hands out no sandbox",
        observed=answer.came,
        advice="Answer {providerLeaseId: null, metadata: {expired: true}} for a sandbox that is gone.",
    )


async def expect_gone(provider: Provider, lease: Lease, *, advice: str = "") -> None:
    """Demand that a sandbox is not there any more: no command runs in it, and resume does not hand it out.

    Where it is there, the ledger takes back that the lease was closed.
    """
    ran = await run_anywhere(provider, lease)
    _demand_gone(provider, lease, ran, there=not failed(ran), that="no command runs on the lease", advice=advice)
    if not can_resume(provider):
        return
    resumed = await answer_of(provider.resume(lease))
    handed_out = resumed.fields.get("providerLeaseId") == lease.id
    _demand_gone(provider, lease, resumed, there=handed_out, that="resume hands the lease out no more", advice=advice)


def _demand_gone(provider: Provider, lease: Lease, answer: Answer, *, there: bool, that: str, advice: str) -> None:
    if there:
        provider.ledger.doubt(lease.label)
    expect(answer, not there, that=that, observed=answer.came, advice=advice)


async def expect_off_the_list(backend: Backend, alive: Lease, ended: Lease, *, how: str, advice: str) -> None:
    """Demand that the inventory, which lists a lease that is `alive`, lists one no more that ended."""
    listing = await backend.look_for(alive)
    expect(
        listing,
        not listing.shows(ended),
        that=f"the {how} lease {ended.id} is not in the inventory",
        observed=listing.told(ended),
        advice=advice,
    )


async def expect_nothing_left(
    answer: Answer, backend: Backend, before: Listing, ledger: Ledger, *, that: str, advice: str
) -> None:
    """Demand that the inventory shows nothing now that it did not show before, apart from what the run itself holds."""
    left = new_since(before, await backend.look(), ledger)
    seen = (
        f"the inventory shows {', '.join(left)} now, which no lease and no setup names" if left else "nothing is left"
    )
    expect(answer, not left, that=that, observed=seen, advice=advice)


async def expect_ended(provider: Provider, running: "asyncio.Task[Answer]", *, advice: str = "") -> None:
    """Demand that a command whose lease has ended is answered, and not as if it had succeeded."""
    limit = provider.launch.limits.seconds("execute")
    await asyncio.wait({running}, timeout=limit)
    expect(
        running.result() if running.done() else provider,
        running.done() and failed(running.result()),
        that=f"the command that was running is answered within {limit:g} s, with an error or without exit code 0",
        observed=running.result().came if running.done() else "no answer",
        advice=advice,
        timed=not running.done(),
    )


def expect_exit(outcome: Outcome, code: int, *, advice: str = "") -> None:
    """Demand an exit code of a command that was not cut off."""
    expect(
        outcome,
        outcome.exit_code == code and not outcome.timed_out,
        that=f"exitCode {code} and timedOut false",
        observed=outcome.came,
        advice=advice,
    )


def expect_stdout(outcome: Outcome, text: str, *, advice: str = "") -> None:
    """Demand exactly this on stdout, of a command that ended with 0."""
    expect_exit(outcome, 0, advice=advice)
    expect_equal(outcome, "stdout", outcome.stdout, text, advice=advice)


def expect_none_of(evidence: Evidence, markers: Iterable[str], seen: str, *, where: str, advice: str = "") -> None:
    """Demand that no planted marker shows up in a text."""
    found = [marker for marker in markers if marker in seen]
    observed: Any = f"{where} holds {', '.join(found)}" if found else f"{where} holds none of them"
    expect(evidence, not found, that=f"no planted secret shows up in {where}", observed=observed, advice=advice)
