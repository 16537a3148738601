"""From what the user typed after ``--provider`` to a `Package`."""

import os
import shlex
import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import EnvironmentFault, PackageFault, UsageFault
from conformance.fixtures.mutants import all_mutants, find_mutant
from conformance.fixtures.reference.manifest import manifest as reference_manifest
from conformance.host.digest import digest_of_file, digest_of_json
from conformance.host.node import Node, find_node
from conformance.host.package import (
    Digests,
    Package,
    SourceKind,
    expect_an_object,
    find_worker,
    is_file,
    open_directory,
    read_json,
    read_package_json,
)
from conformance.host.tool import run_tool
from conformance.model import Json, JsonObject, object_of
from conformance.nearest import nearest
from conformance.places import FIXTURES, folder_of

NPM_LIMIT_S = 120.0
"""Patience for npm (contract: the host gives its own install as long)."""


@dataclass(frozen=True)
class Unpacked:
    """A tarball that was unpacked before, with its dependencies, and its digest."""

    root: Path
    digest: str


def find_package(
    source: str, *, manifest: Path | None, node: str | None, work: Path, unpacked: Unpacked | None = None
) -> Package:
    """Find and read the provider `source`; files that are made go below `work`.

    Raises `UsageFault` or `EnvironmentFault`. What the package itself breaks is in `Package.faults`.
    """
    if source.startswith("cmd:"):
        return _command(source, manifest)
    if manifest is not None:
        raise UsageFault("--provider-manifest goes only with --provider 'cmd:…'.", "A package brings its own manifest.")
    if unpacked is not None:
        return open_directory(source, unpacked.root, find_node(node), work, SourceKind.TARBALL, unpacked.digest)
    if source == "reference":
        return _reference(source)
    if source.startswith("mutant:"):
        return _mutant(source)
    if source.startswith("npm:"):
        found = find_node(node)
        return _tarball(source, _npm_pack(source.removeprefix("npm:"), found, work), found, work)
    path = source_path(source)
    if path is not None and path.is_dir():
        return open_directory(source, path.resolve(), find_node(node), work, SourceKind.DIRECTORY, None)
    if path is not None and path.is_file():
        return _tarball(source, path.resolve(), find_node(node), work)
    hint = nearest(source, ["reference", *(f"mutant:{name}" for name in all_mutants())])
    guess = f" Did you mean {hint!r}?" if hint else ""
    raise UsageFault(
        f"--provider {source!r}: there is no such file or directory.{guess}",
        "Give a plugin package directory, a .tgz made by `npm pack`, npm:NAME@VERSION, cmd:COMMAND, or reference.",
    )


def source_path(source: str) -> Path | None:
    """Where `source` lies on disk; None when there is nothing, or the text cannot be a path."""
    try:
        path = Path(source).expanduser()
        return path if source and path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _reference(source: str) -> Package:
    return _python(source, SourceKind.REFERENCE, reference_manifest(), ("-m", "conformance.fixtures.reference"))


def _mutant(source: str) -> Package:
    name = source.removeprefix("mutant:")
    try:
        mutant = find_mutant(name)
    except LookupError as error:
        hint = nearest(name, all_mutants())
        guess = f" Did you mean {hint!r}?" if hint else ""
        raise UsageFault(
            f"There is no mutant named {name!r}.{guess}", "`provider-conformance list --mutants` shows them all."
        ) from error
    return _python(source, SourceKind.MUTANT, mutant.manifest(), ("-m", "conformance.fixtures.mutants", name))


def _python(source: str, kind: SourceKind, manifest: Json, arguments: tuple[str, ...]) -> Package:
    root = folder_of(FIXTURES)
    faults: list[PackageFault] = []
    worker: Path | None = None
    try:
        worker = find_worker(root, manifest)
    except PackageFault as fault:
        faults.append(fault)
    version = object_of(manifest).get("version")
    return Package(
        source=source,
        kind=kind,
        root=root,
        name=f"conformance:{source}",
        version=version if isinstance(version, str) else None,
        manifest=manifest,
        argv=(sys.executable, *arguments) if worker is not None else None,
        digests=Digests(None, None, digest_of_json(manifest), digest_of_file(worker) if worker else None),
        faults=tuple(faults),
    )


def _command(source: str, manifest_path: Path | None) -> Package:
    argv = _split(source.removeprefix("cmd:"))
    if manifest_path is None:
        raise UsageFault(
            "A command needs --provider-manifest FILE.", "Export your manifest as JSON and name that file."
        )
    if not is_file(manifest_path):
        raise UsageFault(
            f"--provider-manifest {manifest_path}: there is no such file.", "Export your manifest as JSON."
        )
    program = shutil.which(argv[0])
    if program is None:
        raise EnvironmentFault(f"The command {argv[0]!r} was not found.", "Give its full path, or put it on PATH.")
    faults: list[PackageFault] = []
    manifest: Json = None
    try:
        manifest = read_json(manifest_path.read_text(encoding="utf-8"))
        expect_an_object(manifest)
    except (ValueError, OSError, RecursionError) as error:
        problem = f"The manifest {manifest_path} is not JSON: {error}."
        faults.append(PackageFault("MAN-001", problem, "Export the manifest object as JSON."))
    except PackageFault as fault:
        faults.append(fault)
    description = object_of(manifest)
    name, version = description.get("id"), description.get("version")
    return Package(
        source=source,
        kind=SourceKind.COMMAND,
        root=None,
        name=name if isinstance(name, str) else None,
        version=version if isinstance(version, str) else None,
        manifest=manifest,
        argv=(str(Path(program).absolute()), *(_absolute_if_file(argument) for argument in argv[1:])),
        digests=Digests(None, None, digest_of_file(manifest_path), None),
        faults=tuple(faults),
    )


def _split(command: str) -> list[str]:
    example = "Example: --provider 'cmd:python -m my_worker'."
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise UsageFault(f"--provider cmd: cannot be split into words: {error}.", example) from error
    if not argv:
        raise UsageFault("--provider cmd: names no command.", example)
    return argv


def _absolute_if_file(argument: str) -> str:
    # The worker starts in another directory, as it does on a host; a script named relative to ours must still be found.
    path = Path(argument)
    return str(path.absolute()) if not path.is_absolute() and is_file(path) else argument


def _tarball(source: str, path: Path, node: Node, work: Path) -> Package:
    target = work / "package"
    target.mkdir()
    try:
        with tarfile.open(path) as archive:
            archive.extractall(target, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        reason = " ".join(str(error).split())
        raise UsageFault(f"{source} cannot be unpacked: {reason}.", "Give a tarball made by `npm pack`.") from error
    folders = [entry for entry in target.iterdir() if (entry / "package.json").is_file()]
    if len(folders) != 1:
        raise UsageFault(f"{source} holds no npm package.", "Give a tarball made by `npm pack`.")
    _install_dependencies(folders[0], read_package_json(folders[0], source), node, work)
    return open_directory(source, folders[0], node, work, SourceKind.TARBALL, digest_of_file(path))


def _install_dependencies(root: Path, description: JsonObject, node: Node, work: Path) -> None:
    wanted = object_of(description.get("dependencies"))
    if all((root / "node_modules" / name).exists() for name in wanted):
        return
    # The host installs without scripts too, so a package that needs them does not work there either.
    arguments = ("install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
    _npm(node, arguments, root, work, f"The dependencies of {root.name} cannot be installed")


def _npm_pack(spec: str, node: Node, work: Path) -> Path:
    if not spec.strip() or spec.startswith("-"):
        raise UsageFault(f"npm:{spec} names no package.", "Name exactly one: npm:@scope/plugin@1.2.0.")
    folder = work / "download"
    folder.mkdir()
    _npm(node, ("pack", spec, "--ignore-scripts", "--silent"), folder, work, f"npm cannot fetch {spec!r}")
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise UsageFault(f"npm:{spec} names {len(archives)} packages.", "Name exactly one: npm:@scope/plugin@1.2.0.")
    return archives[0]


def _npm(node: Node, arguments: tuple[str, ...], directory: Path, work: Path, problem: str) -> None:
    if node.npm is None:
        raise EnvironmentFault(f"{problem}: there is no npm beside Node.", "Install npm, or the kit's extra [node].")
    path = os.pathsep.join([str(node.program.parent), os.environ.get("PATH", os.defpath)])
    home = os.environ.get("HOME") or str(work)
    try:
        run = run_tool(
            [*node.npm, *arguments],
            seconds=NPM_LIMIT_S,
            # npm is the user's own tool: proxies, certificates and settings of its environment must reach it.
            # What it drops into the temporary directory, like newer Nodes their compile cache, goes with the run.
            environment={**os.environ, "PATH": path, "HOME": home, "TMPDIR": str(work)},
            directory=directory,
        )
    except TimeoutError as error:
        raise EnvironmentFault(f"{problem}: npm did not end within {NPM_LIMIT_S:g} s.", "Check the network.") from error
    if run.exit_code != 0:
        raise EnvironmentFault(f"{problem}: {run.said[:400]}", "Check the name and the network.")
