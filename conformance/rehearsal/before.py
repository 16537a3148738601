"""What a host does before the agent: the lease, the first looks, the run's own programs, and what goes in."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.capabilities import lease_situations
from conformance.evidence import Undecided
from conformance.files.archive import pack
from conformance.files.disk import write_new
from conformance.files.native import UNABLE
from conformance.files.operations import command, file, operation
from conformance.files.tree import Tree, tree_of
from conformance.host.lease import Lease
from conformance.model import JsonObject, object_of
from conformance.overlap import side_by_side
from conformance.provider import Provider
from conformance.rehearsal.flow import Flow
from conformance.rehearsal.run import ASSETS, COMMAND_LINE, KEPT, OVERLAY, SHORT_MS, WORKSPACE, Manner, Run
from conformance.rehearsal.scripts import probe_context
from conformance.rehearsal.stages import (
    ACQUIRE,
    ASSETS_IN,
    CONFIG,
    LAUNCHERS,
    LOOK,
    NATIVE_ASSETS_IN,
    NATIVE_WORKSPACE_IN,
    PROGRAM,
    REALIZE,
    RESUME,
    WORKSPACE_IN,
)
from conformance.rehearsal.stubs import agent
from conformance.steps import acquire_lease, quote, resume_lease
from conformance.transfer.bridge import Bridge
from conformance.transfer.steps import Step, unpack_directory, unpack_workspace


@dataclass(frozen=True)
class _SmallFile(Bridge):
    """A file that goes up by the command that the bridge's script goes up by."""

    name: str = ""

    @property
    def entry(self) -> str:
        """The path of the file."""
        return f"{self.folder}/{self.name}"


# -- before the agent ------------------------------------------------------------------------------------------------


async def begin(flow: Flow, provider: Provider, manner: Manner = COMMAND_LINE, *, reuse: bool = False) -> Run:
    """A run on a lease of its own."""
    with flow.step(ACQUIRE):
        lease = await acquire_lease(provider, reuse=reuse)
    return await _realize(flow, provider, lease, manner)


async def begin_again(run: Run) -> Run:
    """A later run on the lease of an earlier one."""
    with run.flow.step(RESUME):
        lease = await resume_lease(run.provider, run.lease)
        run.flow.demand(
            run.provider, holds=True, that="resume gives the released lease back", observed=f"it gave {lease.id}"
        )
        has_place = bool(lease.metadata.get("remoteCwd"))
        run.flow.demand(
            run.provider, holds=has_place, that="the resume names remoteCwd", observed=lease.metadata, rule="LEASE-026"
        )
    return await _realize(run.flow, run.provider, lease, run.manner)


async def _realize(flow: Flow, provider: Provider, lease: Lease, manner: Manner) -> Run:
    with flow.step(REALIZE):
        absolute = lease.remote_cwd.startswith("/") and "remoteCwd" in lease.metadata
        flow.demand(
            provider, holds=absolute, that="remoteCwd is absolute", observed=str(lease.metadata), rule="LEASE-005"
        )
        answer = await provider.realize(lease)
        lease = lease.realized(str(object_of(answer.params.get("workspace")).get("localPath")))
    return Run(flow, provider, lease, manner, lease.run or provider.new_id())


async def prepare(run: Run) -> Run:
    """What the host looks at and puts in place before it moves files. Gives the run, which then has a PATH."""
    flow = run.flow
    with flow.step(LOOK):
        seen = await run.send(Step(probe_context()), "kit-context", "managed", time_ms=SHORT_MS)
        # A lost NUL is a matter of its own rule, which is weaker in this revision.
        words = seen.stdout.replace("\0", "")
        flow.demand(
            seen,
            holds=words == "KIT_CONTEXTkit-contextmanagedKIT_END",
            that="words after the script arrive as $0 and $1",
            observed=seen.came,
        )
        path = (await run.send(Step("printf '\\000%s\\000' \"$PATH\""), time_ms=SHORT_MS)).stdout.strip("\0")
    run = replace(run, path=f"{run.launchers}:{path}")
    await put_programs(run, ".profile", ".bashrc")
    with flow.step(PROGRAM):
        look = Step("command -v 'sh' >/dev/null 2>&1")
        if run.manner.command_line:
            await run.send(look, env=run.environment)
        await run.send(Step("command -v 'sh'"), env=run.environment, time_ms=run.config_ms)
        if run.manner.command_line:
            await run.send(look, cwd="/")
    return run


async def put_programs(run: Run, *settings: str, patience: float | None = None) -> None:
    """The agent's stub, and empty files of settings beside it.

    The stub waits for an answer for `patience` seconds, or as long as the host's own patience is meant to be.
    """
    program = agent(run.patience if patience is None else patience)
    texts = {**dict.fromkeys(settings, "\n"), "agent": program}
    with run.flow.step(LAUNCHERS):
        for name, text in texts.items():
            await put_script(run, _SmallFile(run.launchers, name=name), text, time_ms=SHORT_MS)
        folder = quote(run.launchers)
        await run.send(Step(f"chmod 700 {folder}/agent && mkdir -p {folder}/gh-config"), time_ms=SHORT_MS)


async def put_script(run: Run, place: Bridge, script: str, *, time_ms: int | None = None) -> None:
    """A small file goes up in one command, which says whether it was needed."""
    content = script.encode()
    step = place.upload(content, hashlib.sha256(content).hexdigest())
    outcome = await run.control(step, time_ms=time_ms)
    run.flow.demand(
        outcome,
        holds=outcome.stdout in {'{"uploaded":true}\n', '{"uploaded":false}\n'},
        that="the upload says whether it was needed",
        observed=outcome.came,
    )


async def put_assets(run: Run) -> None:
    """The assets go in over commands, side by side."""
    with run.flow.step(ASSETS_IN):
        await side_by_side(*(_put_asset(run, name) for name in ASSETS))


async def put_workspace(run: Run) -> None:
    """The workspace goes in over commands, and then what lies on top of it."""
    with run.flow.step(WORKSPACE_IN):
        git, over = f"{run.runtime}/git-workspace-upload.tar", f"{run.runtime}/workspace-upload.tar"
        await run.carrier.upload_tree(git, WORKSPACE)
        await run.carrier.upload_tree(over, OVERLAY)
        await run.carrier.send(unpack_workspace(run.workspace, git, KEPT))
        await run.carrier.send(unpack_workspace(run.workspace, over, None))


async def _put_asset(run: Run, name: str) -> None:
    archive = f"{run.runtime}/{name}-upload.tar"
    await run.carrier.upload_tree(archive, _asset(name))
    await run.carrier.send(unpack_directory(f"{run.runtime}/{name}", archive))


async def sync_in_natively(run: Run) -> Path:
    """Everything goes in by the sync methods: each archive as a file, with commands that unpack it.

    Gives the host's folder. Raises `Undecided` for a lease that is marked as unable to sync.
    """
    if lease_situations(run.lease.metadata, reusable=False) & UNABLE:
        raise Undecided("The lease is marked as unable to sync natively, so a host moves its files over commands.")
    host = run.provider.scratch.resolve()
    with run.flow.step(NATIVE_WORKSPACE_IN):
        git, over = f"{run.runtime}/git-workspace-upload.tar", f"{run.runtime}/workspace-upload.tar"
        files = [
            _archive(host, "git-workspace.tar", WORKSPACE, git, run.workspace),
            _archive(host, "workspace.tar", OVERLAY, over, run.workspace),
        ]
        steps = (unpack_workspace(run.workspace, git, KEPT), unpack_workspace(run.workspace, over, None))
        commands = [command(step.script, timeoutMs=run.manner.time_ms) for step in steps]
        await run.provider.sync_in(run.lease, [operation(*files, commands=commands, number=1)])
    with run.flow.step(NATIVE_ASSETS_IN):
        for number, name in enumerate(ASSETS, 2):
            target, folder = f"{run.runtime}/{name}-upload.tar", f"{run.runtime}/{name}"
            files = [_archive(host, f"{name}.tar", _asset(name), target, folder)]
            commands = [command(unpack_directory(folder, target).script, timeoutMs=run.manner.time_ms)]
            await run.provider.sync_in(run.lease, [operation(*files, commands=commands, number=number)])
    return host


def _archive(host: Path, name: str, tree: Tree, target: str, folder: str) -> JsonObject:
    write_new(host / name, pack(tree))
    return file(host / name, target, access="rw", writablePath=folder)


def _asset(name: str) -> Tree:
    return tree_of({"settings": f"of {name}".encode()})


async def make_config(run: Run) -> None:
    """The agent's config grows out of a seed that went in as an asset."""
    with run.flow.step(CONFIG):
        seed, config = quote(f"{run.runtime}/config-seed/settings"), quote(f"{run.runtime}/config")
        script = (
            f"mkdir -p {config} && if [ -f {seed} ]; then cat {seed} > {config}/settings; fi && cat {config}/settings"
        )
        bypass = run.manner.command_line
        outcome = await run.send(Step(script), env=run.environment, bypass=bypass)
        run.flow.demand(
            outcome,
            holds=outcome.stdout == "of config-seed",
            that="what went in as an asset is there",
            observed=outcome.came,
        )
