"""A tour of one worker from its start to its end: rules about lines and answers are judged on all that it wrote.

It leads past the places where workers write what they should not: first use, bad settings, refusals, output that looks
like a message, a lease that is gone, the end.
"""

from dataclasses import dataclass, field, replace

from conformance.answer import Answer, answer_of
from conformance.errors import RpcError, WorkerGone
from conformance.evidence import Blocked, Trace, show
from conformance.harmless import unknown_lease
from conformance.host.lease import Lease
from conformance.host.worker import Worker
from conformance.model import FrameNumber, JsonObject, MethodName, RequirementId
from conformance.provider import Launcher, Provider
from conformance.states import wrong_values
from conformance.wire.peer import Received, Violation
from conformance.wire.transcript import Direction, Frame

UNKNOWN_METHOD = MethodName("environmentMakeCoffee")
"""A method that no revision has."""

NOBODYS_ID = 1_000_000_000
"""An id that no worker has used for a request of its own (our choice)."""

LIKE_A_MESSAGE = (
    r"""printf '{"jsonrpc":"2.0","id":1,"result":null}\r{"jsonrpc":"2.0","method":"log"}\n'; """
    r"""printf 'one line\rover another\r' >&2"""
)
"""A script whose output would be taken for messages if it got onto the worker's own stdout."""


@dataclass(frozen=True)
class Tour:
    """What one worker wrote from start to end, in the hands of one check. `shown` are the frames in question."""

    trace: Trace
    worker: Worker = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)
    shown: tuple[FrameNumber, ...] = ()

    @property
    def frames(self) -> tuple[FrameNumber, ...]:
        """Where the check looks now; the whole tour, by its first and last frame, unless it looks at a part."""
        return self.shown or tuple(dict.fromkeys((self.answers[0].frames[0], self.answers[-1].frames[-1])))

    @property
    def sent(self) -> str:
        """The tour in short."""
        return f"a tour of one worker: {', '.join(answer.method for answer in self.answers)}"

    def seen_by(self, trace: Trace) -> "Tour":
        """The same tour in the hands of another check."""
        return replace(self, trace=trace, answers=tuple(replace(answer, trace=trace) for answer in self.answers))

    def at(self, *frames: FrameNumber) -> "Tour":
        """The same tour, with these frames in question."""
        return replace(self, shown=frames)

    @property
    def lines(self) -> list[Frame]:
        """Every line on stdout that was not blank."""
        recorded = self.worker.peer.transcript.frames
        return [
            frame for frame in recorded if frame.worker == self.worker.number and frame.direction is Direction.TO_HOST
        ]

    @property
    def errors(self) -> list[tuple[Answer, RpcError]]:
        """The calls that were answered with an error; blocked by RPC-011 when not even an unknown method was."""
        found = [(answer, answer.fault) for answer in self.answers if isinstance(answer.fault, RpcError)]
        if not found:
            raise Blocked(RequirementId("RPC-011"), "no call of the tour was answered with an error", self.frames)
        return found

    @property
    def messages(self) -> list[Received]:
        """What the worker said by itself, requests and notifications, in order."""
        peer = self.worker.peer
        return sorted((*peer.requests, *peer.notifications), key=lambda received: received.frame)

    def violations(self, requirement: str) -> list[Violation]:
        """What the wire saw broken of one rule."""
        return [violation for violation in self.worker.peer.violations if violation.requirement == requirement]

    @property
    def misplaced(self) -> list[tuple[FrameNumber, str]]:
        """What carries no invocation id, or a wrong one, or that of a call which has been answered; each in words.

        The tour makes one call after the other, so what a worker asks in between belongs to the call that is open. A
        log line does not have to: a worker may have something to say by itself.
        """
        calls = [answer for answer in self.answers if answer.invocation is not None]
        ended = {answer.invocation.id: answer for answer in calls if answer.invocation is not None}
        found: list[tuple[FrameNumber, str]] = []
        for frame, message in ((received.frame, received.message) for received in self.messages):
            method, number = message.get("method"), message.get("paperclipInvocationId")
            mine = ended.get(number) if isinstance(number, str) else None
            during = next((answer for answer in calls if answer.frames[0] < frame < answer.frames[-1]), None)
            if mine is not None and mine.frames[-1] < frame:
                found.append((frame, f"{method} carries the id of {mine.method}, which had been answered"))
            elif during is not None and mine is not during and method != "log":
                found.append((frame, f"{method} came during {during.method} and carries the id {show(number)}"))
        return found

    def whole(self) -> "Tour":
        """The same tour; blocked by LIFE-006 when the worker ended before it was told to."""
        for answer in self.answers:
            if isinstance(answer.fault, WorkerGone) and answer.method != "shutdown":
                raise Blocked(RequirementId("LIFE-006"), answer.came, answer.frames)
        return self


async def take_tour(launcher: Launcher) -> Tour:
    """Lead a worker through the tour. What becomes of each call is kept, whatever it is; no lease is left behind."""
    async with launcher.worker() as provider:
        answers = [await answer_of(provider.initialize()), await answer_of(provider.health())]
        answers += await _errors(provider)
        answers += await _run(provider)
        answers += await _unknown_lease(provider)
        answers.append(await answer_of(provider.shutdown()))
        await provider.worker.peer.process.wait_exit(launcher.launch.limits.seconds("shutdown_grace"))
    return Tour(launcher.trace, provider.worker, tuple(answers))


async def _errors(provider: Provider) -> list[Answer]:
    bad = wrong_config(provider)
    answers = [
        await answer_of(provider.validate_config(bad)),
        await answer_of(provider.call(UNKNOWN_METHOD, {})),
        await answer_of(provider.acquire(bad)),
    ]
    # A late or lost answer of the host looks like this to a worker that has given up waiting for it.
    provider.worker.peer.send_message({"jsonrpc": "2.0", "id": NOBODYS_ID, "result": None})
    return [*answers, *await _end(provider, provider.leased(answers[-1]))]


async def _run(provider: Provider) -> list[Answer]:
    acquired = await answer_of(provider.acquire())
    lease = provider.leased(acquired)
    if lease is None or lease.id is None:
        return [acquired]
    answers = [
        acquired,
        await answer_of(provider.realize(lease)),
        await answer_of(provider.execute(lease, lease.shell, ["-c", LIKE_A_MESSAGE])),
        await answer_of(provider.execute(lease, "no-such-program")),
        await answer_of(provider.release(lease)),
        await answer_of(provider.execute(lease, "true", timeout_ms=5_000)),
    ]
    return [*answers, *await _end(provider, lease)]


async def _unknown_lease(provider: Provider) -> list[Answer]:
    lease = unknown_lease(provider)
    return [await answer_of(provider.realize(lease)), await answer_of(provider.release(lease))]


async def _end(provider: Provider, lease: Lease | None) -> list[Answer]:
    return [] if lease is None or lease.id is None else [await answer_of(provider.destroy(lease))]


def wrong_config(provider: Provider) -> JsonObject:
    """A config in which every property has a value of another type than its schema demands."""
    return {"reuseLease": "neither true nor false", **wrong_values(provider)}
