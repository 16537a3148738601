"""What a host does after the agent: what comes out of the sandbox, and the end of the lease."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

from conformance.answer import answer_of
from conformance.evidence import Blocked, Evidence
from conformance.files.archive import UnreadableArchiveError, unpack
from conformance.files.compare import differences, told
from conformance.files.disk import listing
from conformance.files.operations import directory, file, operation
from conformance.files.tree import Tree
from conformance.model import JsonObject, RequirementId
from conformance.provider import Provider
from conformance.rehearsal.flow import Stage
from conformance.rehearsal.run import AFTERWARDS, LEFT_OUT, TIDY_MS, Run, texts_of
from conformance.rehearsal.scripts import export_history
from conformance.rehearsal.stages import (
    GONE_SWEPT,
    HISTORY_OUT,
    KEPT,
    NATIVE_HISTORY_OUT,
    NATIVE_WORKSPACE_OUT,
    NEW_WORKER,
    RELEASE,
    STDIN_ENDS,
    TIDY,
    WORKER_KILLED,
    WORKSPACE_OUT,
)
from conformance.states import can_resume, failed, run_anywhere
from conformance.steps import acquire_lease, quote
from conformance.transfer.steps import Step, pack_workspace, remove, size_of


async def sync_out(run: Run, wanted: Tree = AFTERWARDS) -> None:
    """The history and the workspace come out over commands."""
    await take_history(run, HISTORY_OUT)
    with run.flow.step(WORKSPACE_OUT):
        archive = f"{run.runtime}/workspace-download.tar"
        outcome = await run.carrier.send(pack_workspace(run.workspace, archive, LEFT_OUT))
        content = await run.carrier.download(archive)
        await run.carrier.send(remove(archive))
        try:
            seen = unpack(content)
        except UnreadableArchiveError as error:
            raise Blocked(RequirementId("FALL-005"), str(error), outcome.frames) from error
        demand_tree(run, outcome, seen, wanted)


async def take_history(run: Run, stage: Stage, host: Path | None = None) -> None:
    """The git history, in a script within a script; the bundle comes by a native sync where `host` is given."""
    bundle, status = f"{run.runtime}/git-delta.bundle", f"{run.runtime}/workspace-status.txt"
    with run.flow.step(stage):
        await run.carrier.send(export_history(run.workspace, bundle, status))
        if host is None:
            outcome = await run.carrier.send(size_of(bundle))
            empty = outcome.stdout.strip() == "0"
        else:
            target = host / "git-delta.bundle"
            outcome = await run.provider.sync_out(run.lease, [operation(file(bundle, target), number=5)])
            empty = target.is_file() and target.stat().st_size == 0
        run.flow.demand(outcome, holds=empty, that="the bundle has 0 bytes", observed=outcome.came)
        await run.carrier.send(remove(bundle))
        word = await run.carrier.download(status)
        run.flow.demand(run.provider, holds=word == b"dirty", that="the status says dirty", observed=ascii(word))
        await run.carrier.send(remove(status))


async def sync_out_natively(run: Run, host: Path) -> None:
    """The history and the workspace come out by the sync methods; the directory for the workspace is there already."""
    await take_history(run, NATIVE_HISTORY_OUT, host)
    with run.flow.step(NATIVE_WORKSPACE_OUT):
        target = host / "workspace"
        target.mkdir()
        mapping = directory(run.workspace, target, exclude=list(LEFT_OUT))
        answer = await run.provider.sync_out(run.lease, [operation(mapping, number=6)])
        seen = listing(target)
        excluded = [name for name in (b"node_modules", b".paperclip-runtime") if name in seen.entries]
        run.flow.demand(
            answer, holds=not excluded, that="what is excluded stays", observed=f"{excluded} came", rule="SYNC-009"
        )
        demand_tree(run, answer, seen, AFTERWARDS)


def demand_tree(run: Run, evidence: Evidence, seen: Tree, wanted: Tree) -> None:
    """Demand that the workspace is what the agent left, file by file."""
    found = differences(texts_of(wanted), texts_of(seen))
    run.flow.demand(
        evidence,
        holds=not found,
        that="the workspace comes out as the agent left it",
        observed=told(found),
        advice="The agent's work is in the workspace when its command has ended, and is read by later commands.",
    )


async def end(run: Run) -> None:
    """Tidy up in the sandbox and release the lease."""
    with run.flow.step(TIDY):
        await run.send(Step(f"rm -rf -- {quote(run.launchers)}"), time_ms=TIDY_MS)
    await release(run)


async def release(run: Run, stage: Stage = RELEASE) -> None:
    """The last call of a run."""
    with run.flow.step(stage):
        answer = await run.provider.release(run.lease)
        run.flow.demand(answer, holds=True, that="the release succeeds", observed=answer.came)


async def destroy(run: Run, stage: Stage, config: JsonObject | None = None) -> None:
    """The end of a lease for good."""
    with run.flow.step(stage):
        answer = await run.provider.destroy(run.lease, config)
        run.flow.demand(answer, holds=True, that="the destroy succeeds", observed=answer.came)


async def demand_gone(run: Run, stage: Stage) -> None:
    """Demand that nothing is left of the lease: no command runs, and resume does not hand it out."""
    with run.flow.step(stage):
        await _demand_gone(run)


async def demand_kept(run: Run) -> None:
    """Demand that a resumed lease has the files of the run before."""
    with run.flow.step(KEPT):
        outcome = await run.send(Step("cat made/new"))
        run.flow.demand(outcome, holds=outcome.stdout == "new", that="the file is as it was", observed=outcome.came)


async def kill_worker(run: Run) -> None:
    """The worker dies with everything that was open."""
    with run.flow.step(WORKER_KILLED):
        await run.provider.worker.kill()


async def end_stdin(run: Run) -> None:
    """The host is gone, and the worker with it."""
    limit = run.seconds("stdin_end")
    with run.flow.step(STDIN_ENDS):
        process = run.provider.worker.peer.process
        process.end_stdin()
        exited = await process.wait_exit(limit)
        if not exited:
            await run.provider.worker.kill()
        run.flow.demand(
            run.provider,
            holds=exited,
            that=f"the worker exits within {limit:g} s of the end of its stdin",
            observed="it exited" if exited else "it still ran",
        )


@contextlib.asynccontextmanager
async def new_worker(run: Run) -> AsyncGenerator[Run]:
    """The run in the hands of a worker that never saw its lease."""
    async with contextlib.AsyncExitStack() as stack:
        with run.flow.step(NEW_WORKER):
            other = await stack.enter_async_context(run.provider.fresh_worker())
        yield replace(run, provider=other)


async def _demand_gone(run: Run) -> None:
    provider, lease = run.provider, run.lease
    answer = await run_anywhere(provider, lease)
    gone = failed(answer)
    ran = "alive" in str(answer.fields.get("stdout"))
    run.flow.demand(
        answer,
        holds=gone or ran or answer.fault is not None,
        that="a command on a lost lease never reports exitCode 0",
        observed=answer.came,
        rule="EXEC-030",
    )
    if gone and can_resume(provider):
        resumed = await answer_of(provider.resume(lease))
        gone, answer = resumed.fields.get("providerLeaseId") != lease.id, resumed
    rule = None
    if not gone:
        provider.ledger.doubt(lease.label)
        rule = "LEASE-020" if run.flow.stage == GONE_SWEPT and await _orphans_stay(provider) else None
    run.flow.demand(
        answer,
        holds=gone,
        that="nothing is left of the sandbox",
        observed=answer.came,
        advice="Find the sandbox by its id, in the backend and not in memory, and remove it.",
        rule=rule,
    )


async def _orphans_stay(provider: Provider) -> bool:
    """Whether a destroy as the sweep sends it does nothing even for a lease of the same worker."""
    lease = await acquire_lease(provider)
    await provider.destroy(lease, lease.orphan_config)
    stays = not failed(await run_anywhere(provider, lease))
    if stays:
        provider.ledger.doubt(lease.label)
    return stays
