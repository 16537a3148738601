"""The time in which an agent works: the bridge, the agent's command, and the polls beside both."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from conformance.answer import Answer, answer_of
from conformance.errors import RpcError
from conformance.evidence import Blocked, Undecided
from conformance.model import RequirementId
from conformance.overlap import BUDGETS_MS, GAVE_UP
from conformance.rehearsal.before import put_script
from conformance.rehearsal.polls import BRIDGE_PAUSE_S, LOG_PAUSE_S, Polls, Repeated, repeated
from conformance.rehearsal.run import ANSWERS, Run
from conformance.rehearsal.scripts import REQUESTS, agent_says, command_of_agent, make_queue
from conformance.rehearsal.stages import (
    AGENT,
    AGENT_ENDS,
    AGENT_LIMITED,
    AGENT_OPEN,
    BRIDGE,
    OPEN_ENDED,
    RELEASE_OPEN,
    SAID,
    STILL_ALIVE,
    STOP,
)
from conformance.rehearsal.stubs import bridge_server
from conformance.states import failed
from conformance.steps import Outcome, outcome_of
from conformance.transfer.bridge import CHANNEL
from conformance.transfer.steps import Step, list_files

PROMPT = "You are an agent. Do the work.\n" * 200
"""What the agent reads; about as long as a host's first prompt."""

STOP_ROUNDS = 4
"""How often the host looks whether the bridge has ended (our choice; it looks longer, and nothing depends on it)."""

NO_PROGRAM = frozenset({126, 127, 141})
"""How a shell ends when a program is missing; the last where it was to read from a pipe."""

OWN_PROCESS = "Give each command its own process: no queue, no lock and no session for a whole lease."


@contextlib.asynccontextmanager
async def bridged(run: Run, polls: Polls, *, server: bool = True) -> AsyncGenerator[Repeated]:
    """The time in which the host looks for questions. It begins while the bridge's script still goes up.

    What goes wrong with the polls is told by the steps inside. Without `server`, the background process is left out.
    """
    async with contextlib.AsyncExitStack() as stack:
        with run.flow.step(BRIDGE):
            await run.control(make_queue(run.bridge))
            looking = await stack.enter_async_context(repeated(polls.look, BRIDGE_PAUSE_S, forgiving=True))
            if server:
                await _start_bridge(run)
        yield looking


async def _start_bridge(run: Run) -> None:
    await put_script(run, run.bridge, bridge_server())
    env = {**CHANNEL, "PAPERCLIP_BRIDGE_QUEUE_DIR": run.queue}
    started = await run.send(run.bridge.start(), env=env, bypass=run.manner.command_line)
    prints_id = started.stdout.startswith('{"pid":')
    run.flow.demand(started, holds=prints_id, that="the start prints the id", observed=started.came)
    await run.control(run.bridge.wait_until_ready())


async def stop_bridge(run: Run, looking: Repeated) -> None:
    """End the bridge's process; the polls go on meanwhile."""
    with run.flow.step(STOP):
        await run.control(run.bridge.stop(STOP_ROUNDS))
        looking.must_be_well()


@dataclass
class Agent:
    """An agent's command that is open, and what goes on beside it."""

    run: Run
    polls: Polls
    looking: Repeated
    reading: Repeated
    task: "asyncio.Task[Answer]"

    async def begins(self) -> bool:
        """Whether both polls saw it at work while it was open."""
        patience = self.run.seconds("bridge")
        asked = await self.looking.until(self.polls.was_asked, patience, self.task)
        seen = await self.reading.until(self.polls.saw_output, patience, self.task)
        return asked and seen and not self.task.done()

    async def must_begin(self) -> None:
        """The step in which it begins; blocked by EXEC-027 when the polls do not see it at work."""
        with self.run.flow.step(AGENT_OPEN):
            if not await self.begins():
                self.looking.must_be_well()
                self.reading.must_be_well()
                if self.task.done():
                    demand_no_failure(self.run, self.outcome)
                raise Blocked(RequirementId("EXEC-027"), "no poll saw the agent at work while its command was open")

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return ended(self.task.result())

    async def is_released(self) -> None:
        """The step in which the lease is released, while the command is open."""
        with self.run.flow.step(RELEASE_OPEN):
            answer = await self.run.provider.release(self.run.lease)
            self.run.flow.demand(answer, holds=True, that="the release succeeds", observed=answer.came)

    async def is_answered(self) -> None:
        """The step in which the command comes back, because its lease has ended."""
        limit = self.run.seconds("execute")
        with self.run.flow.step(OPEN_ENDED):
            await asyncio.wait({self.task}, timeout=limit)
            answered = self.task.done()
            self.run.flow.demand(
                self.task.result() if answered else self.run.provider,
                holds=answered,
                that=f"the open command is answered within {limit:g} s",
                observed=self.task.result().came if answered else "no answer",
                advice="End every process of the lease, and answer the calls that waited for them.",
            )
            answer = self.task.result()
            self.run.flow.demand(
                answer,
                holds=failed(answer),
                that="it is answered with an error, or without exit code 0",
                observed=answer.came,
                rule="EXEC-023",
            )

    async def polls_are_answered(self) -> None:
        """The step in which the host polls on, for it has not noticed yet; that is no reason for a worker to die."""
        with self.run.flow.step(STILL_ALIVE):
            answer = await answer_of(self.run.ask(list_files(self.run.bridge.requests), env=CHANNEL))
            alive = answer.fault is None or isinstance(answer.fault, RpcError)
            self.run.flow.demand(answer, holds=alive, that="the poll is answered", observed=answer.came)

    async def runs_on(self) -> None:
        """The step after an operator gave up: more polls, and then the command ends well by itself."""
        with self.run.flow.step(AGENT_ENDS):
            await self.polls.more(3, self.looking)
            self.reading.must_be_well()
            self.polls.may_answer.set()
            demand_success(self.run, ended(await self.task))
            self.looking.must_be_well()


@contextlib.asynccontextmanager
async def open_agent(
    run: Run, polls: Polls, looking: Repeated, *, time_ms: int | None = None, forgiving: bool = False
) -> AsyncGenerator[Agent]:
    """The agent's command with its prompt on stdin, and the polls of its logs beside it.

    Both are waited for after the block. What goes wrong with the polls is raised then, unless `forgiving`.
    """
    step = command_of_agent(f"{run.launchers}/agent", run.logs)
    env = {**run.environment, "PAPERCLIP_API_BRIDGE_MODE": "queue_v1", "PAPERCLIP_BRIDGE_QUEUE_DIR": run.queue}
    call = run.ask(Step(step.script, PROMPT), env=env, time_ms=time_ms)
    task = asyncio.create_task(answer_of(call))
    async with repeated(polls.read, LOG_PAUSE_S, forgiving=forgiving) as reading:
        try:
            yield Agent(run, polls, looking, reading, task)
        finally:
            polls.may_answer.set()
            await task


async def work(run: Run, polls: Polls, looking: Repeated) -> Outcome:
    """The whole of an agent's command: its first question is answered at once, the second when the log was read."""
    flow = run.flow
    with flow.step(AGENT):
        async with open_agent(run, polls, looking) as agent:
            beside = await agent.begins()
            polls.may_answer.set()
        looking.must_be_well()
        outcome = ended(agent.task.result())
        demand_no_failure(run, outcome)
        flow.demand(
            outcome,
            holds=beside and outcome.exit_code != GAVE_UP,
            that="the polls of the bridge and of the log are answered while the agent's command is open",
            observed=f"{polls.looks} polls of the bridge and {polls.reads} of the log, in time: {beside}; the agent's "
            f"command came with {outcome.came}",
            advice=OWN_PROCESS,
        )
        demand_success(run, outcome)
    return outcome


async def work_into_the_limit(run: Run, polls: Polls, looking: Repeated) -> None:
    """An agent's command that waits for an answer until its time is up.

    It gets more time until it got as far as asking. Raises `Undecided` when even the longest was over before that.
    """
    with run.flow.step(AGENT_LIMITED):
        for budget in BUDGETS_MS:
            polls.may_answer.clear()
            async with open_agent(run, polls, looking, time_ms=budget) as agent:
                outcome = ended(await agent.task)
            # Two rounds, for the first may have begun before the question was there.
            await polls.more(2, looking)
            if polls.asked:
                run.flow.demand(
                    outcome,
                    holds=outcome.timed_out,
                    that=f"the agent's command, which had {budget} ms, comes back with timedOut true",
                    observed=outcome.came,
                    advice="End the command at timeoutMs and say so: the host takes the work back either way.",
                )
                return
            demand_no_failure(run, outcome)
        raise Undecided(f"No agent got as far as its first question within {BUDGETS_MS[-1]} ms.")


def ended(answer: Answer) -> Outcome:
    """How an agent's command ended; blocked by EXEC-002 when it was answered with an error."""
    if isinstance(answer.fault, RpcError):
        raise Blocked(RequirementId("EXEC-002"), f"the agent's command: {answer.came}", answer.frames)
    if answer.fault is not None:
        raise answer.fault
    return outcome_of(answer)


def demand_no_failure(run: Run, outcome: Outcome) -> None:
    """Demand that the agent's command did not fail by itself: nothing in it can, where the image has its tools."""
    run.flow.demand(
        outcome,
        holds=outcome.timed_out or outcome.exit_code in {0, GAVE_UP},
        that="the agent's command ends with 0, or because nobody answered it",
        observed=outcome.came,
        rule="FALL-009" if outcome.exit_code in NO_PROGRAM else "EXEC-002",
    )


def demand_success(run: Run, outcome: Outcome) -> None:
    """Demand that the agent's command ended well."""
    run.flow.demand(
        outcome,
        holds=outcome.exit_code == 0 and not outcome.timed_out,
        that="the agent's command ends with 0",
        observed=outcome.came,
        rule="EXEC-002",
    )


def read_output(run: Run, polls: Polls, outcome: Outcome) -> None:
    """The output of the agent is all there; neither the polls read nor live output told anything else."""
    with run.flow.step(SAID):
        wanted = agent_says(PROMPT, ANSWERS)
        run.flow.demand(
            outcome,
            holds=outcome.stdout == wanted and outcome.stderr == "remark\n",
            that=f"the output of the agent is {wanted!a}",
            observed=outcome.came,
        )
        told = [notice.params for notice in outcome.answer.notices if notice.method == "execute.log"]
        live = "".join(str(params.get("chunk")) for params in told if params.get("stream") == "stdout")
        run.flow.demand(
            outcome,
            holds=outcome.stdout.startswith(live),
            that="what came live, if anything did, is the beginning of it",
            observed=ascii(live),
            rule="STREAM-005",
        )
        seen = polls.output.decode("utf-8", "replace")
        whole = wanted.startswith(seen) and polls.asked == list(REQUESTS)
        run.flow.demand(
            outcome, holds=whole, that="the polls read the beginning of it, and both questions", observed=ascii(seen)
        )
