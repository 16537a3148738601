"""RPC: lines, ids, answers and errors, whatever the call is about."""

import re
from collections.abc import Iterable

from conformance.answer import Answer, answer_of
from conformance.checks import check
from conformance.errors import AnswerTimeout, RpcError
from conformance.evidence import Blocked, cut, show
from conformance.expect import (
    REFUSALS,
    expect,
    expect_alive,
    expect_answered,
    expect_equal,
    expect_error,
    expect_exit,
    expect_refused,
)
from conformance.gates import OWN_MESSAGES
from conformance.harmless import harmless_call, unknown_lease
from conformance.host.lease import Lease
from conformance.model import Cost, FrameNumber, Json, JsonObject, Level, RequirementId
from conformance.overlap import fresh_directory, kept_open, until_file
from conformance.provider import Provider
from conformance.steps import (
    advertised_methods,
    lease_of,
    outcome_of,
    quote,
    run_script,
    run_to_success,
)
from conformance.tour import UNKNOWN_METHOD, Tour
from conformance.wire.peer import Violation

MUST, SHOULD = Level.MUST, Level.SHOULD

NO_METHODS = (
    UNKNOWN_METHOD,
    "environmentvalidateconfig",
    "environmentValidateConfigs",
    "environment.probe",
    "toString",
)
"""Names that no revision has: an invented one, near misses of real ones, and one that every JavaScript object has."""

LATER_METHODS = ("loginPtyOpen", "duplexChannelOpen", "environmentRunnerIngressEndpoint")
"""Methods of later revisions: a worker may have them, and lists them then."""

DAMAGED_LINES = (
    b"this is no JSON",
    b'{"jsonrpc":"2.0","method":',
    b'{"jsonrpc":"1.0","method":"conformance/nothing"}',
    b'[{"jsonrpc":"2.0","method":"conformance/nothing"}]',
    b"null",
    b"\xff\xfe",
    b"",
    b'{"jsonrpc":"2.0","method":"conformance/nothing","params":{"any":["value"]}}',
)
"""Lines that a host does not send. None has an id, so none is owed an answer."""

REFUSED_REQUESTS = (-32001, -32005, -32601)
"""What a host answers to a request without a capability, without a scope, and to an unknown one."""

LINE_OF_NULS = 23_000_000
"""Bytes of output that no line can hold: JSON writes a NUL as six characters, which makes 138 million."""

NULS_LIMIT_MS = 120_000
"""Time for that much output (our choice: four times what a host grants by default)."""

_WORDLESS = re.compile(r"|[\w.]*(error|exception):?|undefined|null|none|nil|\[object \w+\]", re.IGNORECASE | re.ASCII)
"""A message that tells nobody anything: empty, the name of a class, or what is left of a value that was no text."""


@check("RPC-001", level=MUST, cost=Cost.SHARED)
async def every_line_is_one_json_object(tour: Tour) -> None:
    """Write one JSON object a line, in UTF-8, and end each with a line feed."""
    expect_kept(
        tour,
        "RPC-001",
        that="every line of the worker is one whole JSON object in UTF-8 that ends with a line feed",
        advice="Serialize without line breaks, encode as UTF-8, and write object and line feed in one go.",
    )


@check("RPC-002", level=MUST, cost=Cost.SHARED)
async def a_message_has_its_line_for_itself(tour: Tour) -> None:
    """A line that carries a message carries nothing else, or the message is lost."""
    expect_kept(
        tour,
        "RPC-002",
        that="no line holds text beside a message",
        advice="Print progress, colours and logs to stderr; in Node, replace console and process.stdout.write early.",
    )


@check("RPC-003", level=SHOULD, cost=Cost.SHARED)
async def nothing_but_messages_is_on_stdout(tour: Tour) -> None:
    """Only messages belong on stdout; sooner or later anything else joins one."""
    expect_kept(
        tour,
        "RPC-003",
        that="every line on stdout is a message",
        advice="Send what libraries print to stderr before they are loaded.",
    )


@check("RPC-004", level=MUST, cost=Cost.SHARED)
async def every_message_names_its_protocol(tour: Tour) -> None:
    """Every message says jsonrpc: "2.0"; the host passes over one that does not."""
    expect_kept(
        tour,
        "RPC-004",
        that='every message has jsonrpc: "2.0"',
        advice='Put jsonrpc: "2.0" into answers, requests and notifications alike.',
    )


@check("RPC-005", level=MUST, cost=Cost.SHARED)
async def an_answer_has_the_id_of_its_request(tour: Tour) -> None:
    """An answer carries the id of its request, equal in value and in JSON type."""
    expect_kept(
        tour,
        "RPC-005",
        that="every answer has the id of its request, a number where that was a number",
        advice="Keep the id as it came; do not turn it into a text.",
    )


@check("RPC-006", level=MUST, cost=Cost.SHARED)
async def a_success_has_a_result_and_no_error(tour: Tour) -> None:
    """A success has the key result, which may be null, and no key error, not even a null one."""
    expect_kept(
        tour,
        "RPC-006",
        that="every answer has the key result or the key error, and a success has no key error",
        advice="Leave the key error out of a success, and write result: null where there is nothing to say.",
    )


@check("RPC-007", level=MUST, cost=Cost.SHARED)
async def an_error_has_a_number_and_a_text(tour: Tour) -> None:
    """An error has a code that is a number and a message that is a string."""
    expect_kept(
        tour.at(*(answer.frames[-1] for answer, _ in tour.errors)),
        "RPC-007",
        that="every error has a numeric code and a message text",
        advice="Use the codes of JSON-RPC; put a code that is a text, such as ENOENT, into the message.",
    )


@check("RPC-008", level=MUST, cost=Cost.SHARED)
async def every_request_is_answered(tour: Tour) -> None:
    """The host waits for each answer until its time is up. How a worker ends after shutdown is another rule."""
    silent = [answer for answer in tour.whole().answers[:-1] if isinstance(answer.fault, AnswerTimeout)]
    expect(
        tour.at(*(answer.frames[0] for answer in silent)),
        not silent,
        that="every request is answered, with a result or with an error",
        observed="; ".join(answer.came for answer in silent) or f"all {len(tour.answers)} requests were answered",
        advice="Answer on every path through a handler, errors included.",
    )


@check("RPC-008", level=SHOULD, cost=Cost.SHARED)
async def no_request_is_answered_twice(tour: Tour) -> None:
    """One answer a request: the host passes over a second one, so it is a sign of a handler that runs twice."""
    twice = [answered for answered in tour.worker.peer.answered.values() if len(answered.frames) > 1]
    expect(
        tour.at(*(frame for answered in twice for frame in answered.frames)),
        not twice,
        that="every request is answered once only",
        observed="; ".join(f"{each.method} was answered {len(each.frames)} times" for each in twice) or "once each",
        advice="Return after the first answer, also after an error.",
    )


@check("RPC-009", level=MUST, cost=Cost.SHARED, alone=True)
async def a_long_command_holds_up_no_other_lease(provider: Provider, lease: Lease, spare: Lease) -> None:
    """Serve requests side by side: what is slow on one lease must not delay what has nothing to do with it."""
    stop = f"{await fresh_directory(provider, lease)}/stop"
    patience = 2 * provider.launch.limits.seconds("bridge")

    async with kept_open(run_script(provider, lease, until_file(stop, patience), timeout_ms=300_000)) as long:
        beside = [
            await answer_of(provider.execute(spare, "echo", ["short"])),
            await answer_of(provider.validate_config()),
        ]
        await run_script(provider, lease, f": > {quote(stop)}")
    ended = (await long).answer.frames[-1]

    for answer in beside:
        expect(
            answer,
            _settled(answer) and answer.frames[-1] < ended,
            that=f"{answer.method} is answered while a long command runs on another lease",
            observed=f"{answer.came}, after the long command had ended" if _settled(answer) else answer.came,
            advice="Start each request without waiting for the one before, and use no call that blocks the process.",
            timed=True,
        )


@check("RPC-010", level=MUST, cost=Cost.SHARED, alone=True)
async def an_answer_of_the_host_is_not_taken_for_that_of_a_call(provider: Provider, lease: Lease) -> None:
    """Ids count for each direction apart: an answer of the host says nothing about a call with the same number."""
    peer, marker = provider.worker.peer, provider.new_id()

    async with kept_open(answer_of(provider.execute(lease, lease.shell, ["-c", f"sleep 0.3; echo {marker}"]))) as run:
        for number in peer.pending_ids:
            peer.send_message({"jsonrpc": "2.0", "id": number, "result": {"ok": True}})
    answer = await run

    expect_equal(
        answer,
        "the output of the command, beside which the host sent an answer with the same number,",
        answer.fields.get("stdout", answer.came),
        f"{marker}\n",
        advice="Keep a table of your own open requests, and look host answers up there only.",
    )
    await expect_alive(provider)


@check("RPC-011", level=MUST)
async def a_method_that_nobody_has_is_an_error(provider: Provider) -> None:
    """An unknown method is answered with an error: no silence, no exit, and no neighbour that answers instead."""
    for method in NO_METHODS:
        answer = await answer_of(provider.call(method, {}))
        expect_error(answer, what=f"{method}, which no revision has,", advice="Refuse unknown methods by exact name.")
    await expect_alive(provider)


@check("RPC-011", level=SHOULD)
async def the_error_says_that_the_method_is_unknown(provider: Provider) -> None:
    """The code of an unknown method is -32601, so that a host can tell it from a method that failed."""
    for method in NO_METHODS:
        answer = await answer_of(provider.call(method, {}))
        expect_refused(answer, REFUSALS["unknown method"], what=method, advice="Answer with code -32601.")


@check("RPC-011", level=MUST, cost=Cost.SHARED)
async def a_method_that_is_not_listed_does_nothing(provider: Provider, lease: Lease) -> None:
    """What is not in supportedMethods is refused, and leaves nothing behind: the list is the truth in both ways."""
    target = f"{await fresh_directory(provider, lease)}/arrived"

    for answer in await call_what_is_not_listed(provider, lease, target):
        expect_error(
            answer,
            what=f"{answer.method}, which is not listed in supportedMethods,",
            advice="List the method if it works; if it does not, answer with error -32004.",
        )

    seen = await run_to_success(provider, lease, f"if [ -e {quote(target)} ]; then echo arrived; fi")
    expect_equal(seen, "what a refused sync left in the sandbox", seen.stdout, "")
    await expect_alive(provider)


@check("RPC-011", level=SHOULD, cost=Cost.SHARED)
async def the_error_says_that_the_method_is_not_there(provider: Provider, lease: Lease) -> None:
    """The code of a method that is not listed is -32004, or -32601 where the worker has never heard of it."""
    target = f"{await fresh_directory(provider, lease)}/arrived"

    for answer in await call_what_is_not_listed(provider, lease, target):
        expect_refused(
            answer,
            REFUSALS["unknown or not implemented"],
            what=f"{answer.method}, which is not listed in supportedMethods,",
            advice="Answer with code -32004 before anything else is looked at.",
        )


@check("RPC-012", level=SHOULD)
async def a_damaged_line_is_survived(provider: Provider) -> None:
    """What is no request is answered with an error without an id, or not at all; the next call works as ever."""
    async with provider.fresh_worker() as other:
        for line in DAMAGED_LINES:
            other.worker.peer.send_line(line)
            await expect_alive(other)


@check("RPC-013", level=MUST, cost=Cost.OWN)
async def unknown_keys_are_passed_over(provider: Provider) -> None:
    """A newer host sends keys that this worker does not know, in the params, in what they hold and beside them."""
    odd: dict[str, Json] = {provider.new_id(): {"any": ["value"]}}
    make = provider.make

    validate = make.validate_config(provider.stored_config)
    expect_passed_over(await answer_of(provider.call("environmentValidateConfig", {**validate, **odd}, beside=odd)))
    acquired = await answer_of(
        provider.acquire_with({**make.acquire(provider.tenant, provider.config, provider.new_id()), **odd})
    )
    expect_passed_over(acquired)
    lease = lease_of(provider, acquired)
    known: JsonObject = {**lease.on_the_wire, **odd}
    realize = {**make.realize(lease, None, provider.new_id()), **odd, "lease": known}
    expect_passed_over(await answer_of(provider.call("environmentRealizeWorkspace", realize, beside=odd)))
    execute = make.execute(lease, "true", [], cwd=lease.remote_cwd, timeout_ms=30_000, bypass_session=True)
    ran = await answer_of(provider.call("environmentExecute", {**execute, **odd, "lease": known}, beside=odd))
    expect_passed_over(ran)
    expect_exit(outcome_of(ran), 0)
    expect_passed_over(
        await answer_of(provider.call("environmentReleaseLease", {**make.end(lease), **odd}, beside=odd))
    )


@check("RPC-013", level=MUST, cost=Cost.OWN)
async def nothing_optional_is_missed(provider: Provider) -> None:
    """An absent key is not null but not there. A worker must do without each of those that a host may leave out."""
    make = provider.make
    advice = "Read an optional value only after looking whether it is there, and take a default where it is not."

    full = make.acquire(provider.tenant, provider.config, provider.new_id())
    bare = without(full, "issueId", "agentId", "adapterType", "executionWorkspaceId", "workspaceMode")
    acquired = await answer_of(provider.acquire_with(bare))
    expect_answered(acquired, advice=advice)
    lease = lease_of(provider, acquired)
    known: JsonObject = {**lease.on_the_wire, "expiresAt": None}
    realize = {**without(make.realize(lease, None, provider.new_id()), "issueId"), "lease": known, "workspace": {}}
    expect_answered(await answer_of(provider.call("environmentRealizeWorkspace", realize)), advice=advice)
    base = without(make.end(lease), "issueId", "providerLeaseId", "leaseMetadata")
    ran = await answer_of(provider.call("environmentExecute", {**base, "lease": known, "command": "true"}))
    expect_answered(ran, advice=advice)
    expect_exit(outcome_of(ran), 0, advice=advice)
    released = await answer_of(provider.call("environmentReleaseLease", without(make.end(lease), "issueId")))
    expect_answered(released, advice=advice)


@check("RPC-014", level=SHOULD, when=OWN_MESSAGES, cost=Cost.SHARED)
async def exotic_line_ends_are_escaped(provider: Provider, lease: Lease) -> None:
    """A host on Node 24 takes U+2028 and U+2029 for line ends; written as escapes they do no harm."""
    outcome = await run_script(provider, lease, r"printf '\342\200\250-\342\200\251'")
    if outcome.stdout != "\u2028-\u2029":
        raise Blocked(RequirementId("EXEC-016"), f"characters were lost: {outcome.came}", outcome.frames)

    raw = frames_with(outcome.answer, "\u2028", "\u2029")
    expect(
        outcome,
        not raw,
        that="no line holds the bytes of U+2028 or U+2029",
        observed=f"raw in frame {', '.join(map(str, raw))}" if raw else "both are escaped",
        advice=r"Write them as \u2028 and \u2029, or all that is not ASCII as escapes, after serializing.",
    )


@check("RPC-015", level=SHOULD, cost=Cost.SHARED)
async def what_is_said_during_a_call_names_the_call(tour: Tour) -> None:
    """Echo the call's paperclipInvocationId in what you send while you serve it, and never after its answer."""
    found = tour.misplaced
    expect(
        tour.at(*(frame for frame, _ in found)),
        not found,
        that="what the worker asks and tells during a call carries that call's invocation id, and nothing does later",
        observed="; ".join(words for _, words in found) or f"{len(tour.messages)} messages, none of them misplaced",
        advice="Pass the id along with the call; a variable that all calls share mixes them up.",
    )


@check("RPC-016", level=MUST, cost=Cost.OWN)
async def a_refused_request_of_the_worker_ends_nothing(provider: Provider) -> None:
    """When the host refuses what the worker asks, the call that is open is still answered, and the worker lives on."""
    async with provider.fresh_worker() as other:
        denied, unscoped, unknown = REFUSED_REQUESTS
        services = other.worker.services
        services.error_for_all = denied
        acquired = await answer_of(other.acquire())
        lease = other.leased(acquired) or unknown_lease(other)
        services.error_for_all = unscoped
        realized = await answer_of(other.realize(lease))
        services.error_for_all = unknown
        executed = await answer_of(other.execute(lease, "true"))

        for answer in (acquired, realized, executed):
            expect(
                answer,
                _settled(answer),
                that=f"{answer.method} is answered although the host refuses every request of the worker",
                observed=answer.came,
                advice="Catch the error of a request to the host, and do without what you asked for where you can.",
            )
        await expect_alive(other)


@check("RPC-017", level=MUST, cost=Cost.SHARED)
async def nothing_is_asked_without_its_capability(tour: Tour) -> None:
    """Ask the host only for what the manifest lists a capability for; the rest is denied."""
    expect_kept(
        tour,
        "RPC-017",
        that="every request of the worker has its capability in the manifest",
        advice="Add the capability to the manifest, or leave the request out.",
    )


@check("RPC-018", level=SHOULD, cost=Cost.SHARED)
async def an_error_says_what_went_wrong(tour: Tour) -> None:
    """Only code and message of an error reach the host, so the message has to say what is the matter."""
    for answer, error in tour.errors:
        text = error.text if isinstance(error.text, str) else ""
        expect(
            answer,
            _WORDLESS.fullmatch(text.strip()) is None,
            that="the message of an error says in words what went wrong",
            observed=f"the message is {cut(show(error.text))}",
            advice="Say what failed and what the operator can do, not just the name of an exception.",
        )


@check("RPC-019", level=SHOULD)
async def changed_settings_are_taken_or_refused(provider: Provider) -> None:
    """The host sends configChanged after each start; take it, or say that it is not implemented."""
    async with provider.fresh_worker() as other:
        answer = await answer_of(other.config_changed({}))

        expect(
            answer,
            answer.fault is None or answer.error_code in REFUSALS["unknown or not implemented"],
            that="configChanged is answered with a result, or with error -32004 or -32601",
            observed=answer.came,
            advice="Do not rely on any setting being there; a plugin without settings needs to do nothing.",
        )
        await expect_alive(other)


@check("RPC-020", level=MUST, cost=Cost.LONG, alone=True)
async def no_line_is_longer_than_a_host_reads(provider: Provider, lease: Lease) -> None:
    """A line of more than 134,217,728 UTF-16 units is dropped unread, so bound what goes into one answer."""
    before = len(provider.worker.peer.violations)
    script = f"head -c {LINE_OF_NULS} /dev/zero"
    answer = await answer_of(provider.execute(lease, lease.shell, ["-c", script], timeout_ms=NULS_LIMIT_MS))

    long = [each for each in provider.worker.peer.violations[before:] if each.requirement == "RPC-020"]
    if not long and not _settled(answer):
        raise Blocked(RequirementId("RPC-008"), answer.came, answer.frames)
    expect(
        answer,
        not long,
        that="the output of a command never makes a line of more than 134,217,728 units",
        observed="; ".join(violation.observed for violation in long) or "no line was that long",
        advice="Count the characters as JSON writes them; cut the output, or answer with an error, before the limit.",
    )


def expect_kept(tour: Tour, requirement: str, *, that: str, advice: str) -> None:
    """Demand that the wire saw nothing broken of a rule during the tour."""
    found: list[Violation] = tour.violations(requirement)
    expect(
        tour.at(*(violation.frame for violation in found)) if found else tour,
        not found,
        that=that,
        observed="; ".join(violation.observed for violation in found[:3]) or f"so it was on {len(tour.lines)} lines",
        advice=advice,
    )


def expect_passed_over(answer: Answer) -> None:
    """Demand a result of a call with a key that the worker does not know."""
    expect_answered(answer, advice="Read the keys that you need, and pass over all others.")


async def call_what_is_not_listed(provider: Provider, lease: Lease, target: str) -> list[Answer]:
    """Call every optional method that the worker does not list; a sync that works would put a file at `target`."""
    optional = [name for name, rule in provider.launch.contract.methods.items() if rule.optional]
    listed = frozenset(advertised_methods(provider))
    source = provider.scratch / "arrived"
    source.write_text("a sync that is not listed must not move this", encoding="utf-8")
    mapping: JsonObject = {"sourcePath": str(source), "targetPath": target, "kind": "file"}
    operation: JsonObject = {"operationId": "sync-op-1", "files": [mapping]}
    calls = {
        "environmentSyncIn": lambda: provider.sync_in(lease, [operation]),
        "environmentSyncOut": lambda: provider.sync_out(lease, []),
    }
    # The host sends configChanged to every worker, and RPC-019 says what may come of it.
    missing = [name for name in (*optional, *LATER_METHODS) if name not in listed and name != "configChanged"]
    return [await answer_of(calls[name]() if name in calls else harmless_call(provider, name)) for name in missing]


def without(params: JsonObject, *keys: str) -> dict[str, Json]:
    """The params without some of their keys."""
    return {key: value for key, value in params.items() if key not in keys}


def frames_with(answer: Answer, *characters: str) -> list[FrameNumber]:
    """The frames that a call brought, live output included, in which characters stand unescaped."""
    numbers = {answer.frames[-1], *(notice.frame for notice in answer.notices)}
    marks = [character.encode() for character in characters]
    frames = answer.worker.peer.transcript.frames
    return [frame.number for frame in frames if frame.number in numbers and _holds_any(frame.data, marks)]


def _holds_any(data: bytes, marks: Iterable[bytes]) -> bool:
    return any(mark in data for mark in marks)


def _settled(answer: Answer) -> bool:
    return answer.fault is None or isinstance(answer.fault, RpcError)
