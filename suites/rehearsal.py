"""Rehearsals: whole agent runs, played as a recorded host played them.

Each stands under the rule of its decisive step. Where another step goes wrong, the rehearsal is blocked by the rule of
that step, and the reason names the step. A provider that keeps every rule and does not get through here has found one
that we miss.
"""

from conformance.checks import Capability, check
from conformance.host.lease import Lease
from conformance.model import Cost, Level
from conformance.provider import Launcher, Provider
from conformance.rehearsal.after import (
    demand_gone,
    demand_kept,
    destroy,
    end,
    end_stdin,
    kill_worker,
    new_worker,
    release,
    sync_out,
    sync_out_natively,
)
from conformance.rehearsal.agent import bridged, open_agent, read_output, stop_bridge, work, work_into_the_limit
from conformance.rehearsal.before import (
    begin,
    begin_again,
    make_config,
    prepare,
    put_assets,
    put_programs,
    put_workspace,
    sync_in_natively,
)
from conformance.rehearsal.flow import Flow
from conformance.rehearsal.polls import Polls
from conformance.rehearsal.run import ACP, TIME_LIMITED, Run
from conformance.rehearsal.sessions import Session
from conformance.rehearsal.stages import (
    CANCELLED_RUN,
    COMMAND_LINE_RUN,
    DESTROY,
    GONE_LATE,
    GONE_RELEASED,
    GONE_SWEPT,
    KILLED_HOST,
    KILLED_RUN,
    LATE_RELEASE,
    LIMITED_RUN,
    NATIVE_RUN,
    POLLED_RUN,
    RELEASE_KEPT,
    STOPPED_HOST,
    STREAMED_RUN,
    SWEEP,
    TWO_RUNS,
)
from conformance.sequences.driver import driver_for
from conformance.sequences.search import decide, how_many, run_sequences
from conformance.steps import initialize_worker

MUST = Level.MUST
LONG = Cost.LONG
HELD = "second"
"""The question that is not answered yet."""

LONGER_THAN_ANY_LIMIT_S = 60.0
"""How long an agent would wait that is to be cut off."""


@check("EXEC-027", level=MUST, cost=LONG)
async def a_run_of_the_command_line_lane_goes_through(provider: Provider) -> None:
    """Beside the agent's open command the host polls bridge and log, and the agent waits for what it answers there."""
    run = await prepare(await begin(Flow(provider.trace, COMMAND_LINE_RUN), provider))
    polls = Polls(run, HELD)
    await put_assets(run)
    await put_workspace(run)
    await make_config(run)

    async with bridged(run, polls) as looking:
        outcome = await work(run, polls, looking)
        await stop_bridge(run, looking)

    read_output(run, polls, outcome)
    await sync_out(run)
    await end(run)


@check("EXEC-025", level=MUST, cost=LONG)
async def a_run_goes_through_with_its_agent_in_the_background(provider: Provider) -> None:
    """Without live output the agent is started by a call that returns at once, and talked to over files."""
    run = await prepare(await begin(Flow(provider.trace, POLLED_RUN), provider, ACP))
    polls = Polls(run)
    session = Session(run, provider.new_id())
    await put_assets(run)
    await put_workspace(run)
    await make_config(run)
    await session.put_program()

    async with bridged(run, polls) as looking:
        await session.start()
        await session.talk()
        await stop_bridge(run, looking)

    await session.remove()
    await sync_out(run)
    await end(run)


@check("STREAM-008", level=MUST, cost=LONG, needs=Capability.INCREMENTAL_SESSION_OUTPUT)
async def a_run_goes_through_with_a_streamed_agent(provider: Provider) -> None:
    """The host answers each frame of the agent's session through a file, so it has to arrive while that is open."""
    run = await begin(Flow(provider.trace, STREAMED_RUN), provider, ACP)
    polls = Polls(run)
    session = Session(run, provider.new_id())
    await put_programs(run)
    await put_workspace(run)
    await session.put_program()

    async with bridged(run, polls) as looking:
        outcome = await session.talk_live()
        await stop_bridge(run, looking)

    session.read_again(outcome)
    await session.remove()
    await sync_out(run)
    await end(run)


@check("SYNC-016", level=MUST, cost=LONG, needs=Capability.NATIVE_SYNC_OUT)
async def a_run_goes_through_with_native_sync(provider: Provider) -> None:
    """Archives go in with commands that unpack them, and the workspace comes out as a directory."""
    run = await prepare(await begin(Flow(provider.trace, NATIVE_RUN), provider))
    polls = Polls(run, HELD)
    host = await sync_in_natively(run)
    await make_config(run)

    async with bridged(run, polls) as looking:
        outcome = await work(run, polls, looking)
        await stop_bridge(run, looking)

    read_output(run, polls, outcome)
    await sync_out_natively(run, host)
    await end(run)


@check("LEASE-024", level=MUST, cost=LONG, needs=Capability.REUSABLE_LEASES)
async def two_runs_go_through_on_one_lease(provider: Provider) -> None:
    """A later run resumes the lease, realizes, uploads everything again and releases; then the lease is destroyed."""
    run = await begin(Flow(provider.trace, TWO_RUNS), provider, reuse=True)

    await _keep_after_work(run)
    run = await begin_again(run)
    await demand_kept(run)
    await _keep_after_work(run)

    await destroy(run, DESTROY)


@check("LEASE-023", level=MUST, cost=LONG)
async def the_lease_of_a_killed_worker_is_swept_by_the_next_one(launcher: Launcher) -> None:
    """After a crash in the middle of a run the host sends no release: a sweep destroys the lease in another process."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        run = await begin(Flow(provider.trace, KILLED_RUN), provider)
        polls = Polls(run, HELD)
        await put_programs(run)
        await put_workspace(run)
        async with bridged(run, polls) as looking, open_agent(run, polls, looking, forgiving=True) as agent:
            await agent.must_begin()
            await kill_worker(run)

        async with new_worker(run) as swept:
            await destroy(swept, SWEEP, run.lease.orphan_config)
            await demand_gone(swept, GONE_SWEPT)


@check("LEASE-015", level=MUST, cost=LONG)
async def a_cancelled_run_ends_as_any_other(provider: Provider) -> None:
    """No call tells the worker that an operator gave up: polls go on, the command ends, files come out, release."""
    run = await begin(Flow(provider.trace, CANCELLED_RUN), provider)
    polls = Polls(run, HELD)
    await put_programs(run)
    await put_workspace(run)

    async with bridged(run, polls) as looking:
        async with open_agent(run, polls, looking, forgiving=True) as agent:
            await agent.must_begin()
            await agent.runs_on()
        await stop_bridge(run, looking)

    read_output(run, polls, agent.outcome)
    await sync_out(run)
    await end(run)
    await demand_gone(run, GONE_RELEASED)


@check("EXEC-021", level=MUST, cost=LONG)
async def a_run_whose_agent_has_no_time_left_is_taken_back(provider: Provider) -> None:
    """The host counts on timedOut true, and takes back what the agent did until then, before it releases."""
    run = await begin(Flow(provider.trace, LIMITED_RUN), provider, TIME_LIMITED)
    polls = Polls(run, HELD)
    await put_programs(run, patience=LONGER_THAN_ANY_LIMIT_S)
    await put_workspace(run)

    async with bridged(run, polls) as looking:
        await work_into_the_limit(run, polls, looking)
        await stop_bridge(run, looking)

    await sync_out(run)
    await end(run)


@check("LEASE-019", level=MUST, cost=LONG)
async def a_host_that_stops_releases_under_the_open_agent(launcher: Launcher) -> None:
    """A host that is stopped releases at once, polls on for a moment, and ends stdin without a shutdown."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        run = await begin(Flow(provider.trace, STOPPED_HOST), provider)
        polls = Polls(run, HELD)
        await put_programs(run)
        await put_workspace(run)
        async with bridged(run, polls) as looking, open_agent(run, polls, looking, forgiving=True) as agent:
            await agent.must_begin()
            await agent.is_released()
            await agent.is_answered()
        await agent.polls_are_answered()
        await end_stdin(run)


@check("LEASE-023", level=MUST, cost=LONG)
async def the_lease_of_a_killed_host_is_released_by_the_next_one(launcher: Launcher) -> None:
    """When a host dies, stdin ends; the next host releases the lease, in a process that never saw it."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        run = await begin(Flow(provider.trace, KILLED_HOST), provider)
        polls = Polls(run, HELD)
        await put_programs(run)
        await put_workspace(run)
        async with bridged(run, polls) as looking, open_agent(run, polls, looking, forgiving=True) as agent:
            await agent.must_begin()
            await end_stdin(run)

        async with new_worker(run) as late:
            await release(late, LATE_RELEASE)
            await demand_gone(late, GONE_LATE)


async def _keep_after_work(run: Run) -> None:
    polls = Polls(run, HELD)
    await put_programs(run)
    await put_workspace(run)
    async with bridged(run, polls, server=False) as looking:
        await work(run, polls, looking)
    await sync_out(run)
    await release(run, RELEASE_KEPT)


@check("EXEC-026", level=MUST, cost=LONG, alone=True, leases=1)
async def no_sequence_of_calls_loses_what_a_lease_holds(
    launcher: Launcher, provider: Provider, spare: Lease, gone: Lease, reusable: Lease | None
) -> None:
    """In whatever order leases are used, released, resumed and ended and workers come and go, files stay as written."""
    seed = launcher.random.getrandbits(32)
    count = how_many(provider.launch.limits.pace.latency_s)

    async with driver_for(launcher, spare, reusable, gone) as driver:
        ran, ended = await run_sequences(driver, seed, count, provider.scratch)

    decide(provider, ran, ended, seed)
