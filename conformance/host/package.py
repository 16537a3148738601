"""The plugin package under test, read by the host's rules (protocol.md section 1), before any worker runs."""

import json
import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from conformance.errors import PackageFault, UsageFault
from conformance.host.digest import digest_of_file, digest_of_json, digest_of_tree
from conformance.host.node import Node
from conformance.host.tool import Finished, run_tool
from conformance.model import Json, object_of

MANIFEST_LIMIT_S = 30.0
"""Patience for importing a manifest (our choice: it is one module)."""

_MANIFEST_PLACES = ("dist/manifest.js", "manifest.js")
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_LOADER = Path(__file__).with_name("load_manifest.mjs")


class SourceKind(StrEnum):
    """Where the provider came from."""

    DIRECTORY = "directory"
    TARBALL = "tarball"
    COMMAND = "command"
    REFERENCE = "reference"
    MUTANT = "mutant"


@dataclass(frozen=True)
class Digests:
    """What the report is bound to; None where there is no such thing."""

    tarball: str | None = None
    tree: str | None = None
    manifest: str | None = None
    worker: str | None = None


@dataclass(frozen=True)
class Package:
    """A provider that was found. `faults` are rules its files break; `argv` is None when no worker can be started.

    `dependencies` names every npm package that it asks for, to run or to be built: a bundle may hold both. `root` is
    None when a bare command was given, so that rules about files in a package do not apply.
    """

    source: str
    kind: SourceKind
    root: Path | None
    name: str | None
    version: str | None
    manifest: Json
    argv: tuple[str, ...] | None
    digests: Digests
    node: Node | None = None
    faults: tuple[PackageFault, ...] = field(default=())
    dependencies: frozenset[str] = frozenset()

    @property
    def keeps_sandboxes_on_disk(self) -> bool:
        """Whether it is one of our own, whose sandboxes go into the private directory of the run."""
        return self.kind in {SourceKind.REFERENCE, SourceKind.MUTANT}

    def fault(self, requirement: str) -> PackageFault | None:
        """The fault that breaks `requirement`, if there is one."""
        return next((fault for fault in self.faults if fault.requirement == requirement), None)


def open_directory(source: str, root: Path, node: Node, work: Path, kind: SourceKind, tarball: str | None) -> Package:
    """Read a plugin package on disk.

    Raises `UsageFault` when the directory is no plugin package at all; what a package breaks is in its `faults`.
    """
    description = read_package_json(root, source)
    faults: list[PackageFault] = []
    manifest: Json = None
    argv: tuple[str, ...] | None = None
    worker_digest: str | None = None
    try:
        manifest = load_manifest(find_manifest(root, description), node, work)
        worker = find_worker(root, manifest)
        argv = (str(node.program), str(worker))
        worker_digest = digest_of_file(worker)
    except PackageFault as fault:
        faults.append(fault)
    return Package(
        source=source,
        kind=kind,
        root=root,
        name=_text(description.get("name")),
        version=_text(description.get("version")),
        manifest=manifest,
        argv=argv,
        digests=Digests(tarball, digest_of_tree(root), digest_of_json(manifest) if manifest else None, worker_digest),
        node=node,
        faults=tuple(faults),
        dependencies=frozenset(name for key in _DEPENDENCIES for name in object_of(description.get(key))),
    )


def find_manifest(root: Path, description: dict[str, Any]) -> Path:
    """The manifest file: `paperclipPlugin.manifest`, else ``dist/manifest.js``, else ``manifest.js``."""
    plugin = description.get("paperclipPlugin")
    named = object_of(plugin).get("manifest")
    if isinstance(named, str):
        if is_file(root / named):
            return root / named
        raise PackageFault(
            "MAN-001",
            f"package.json names the manifest {named!r} in paperclipPlugin.manifest, but there is no such file.",
            "Build the package, or correct the path (it is relative to package.json).",
        )
    for place in _MANIFEST_PLACES:
        if is_file(root / place):
            return root / place
    raise PackageFault(
        "MAN-001",
        "No manifest was found: package.json names none, and there is no dist/manifest.js or manifest.js.",
        "Build the package, or name the manifest in package.json under paperclipPlugin.manifest.",
    )


def load_manifest(path: Path, node: Node, work: Path) -> Json:
    """Import the manifest with Node. Raises `PackageFault` when it throws, hangs or holds what JSON cannot."""
    output = work / "manifest.json"
    output.unlink(missing_ok=True)
    try:
        run = run_tool(
            [str(node.program), str(_LOADER), str(path), str(output)],
            seconds=MANIFEST_LIMIT_S,
            environment={"PATH": os.environ.get("PATH", os.defpath), "NODE_ENV": "production"},
            directory=work,
        )
    except TimeoutError as error:
        problem = f"Importing the manifest {path.name} did not end within {MANIFEST_LIMIT_S:g} s."
        advice = "A manifest is plain data: let it start nothing and wait for nothing."
        raise PackageFault("MAN-001", problem, advice) from error
    answer = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {"thrown": _without_a_word(run)}
    if "thrown" in answer:
        thrown = " ".join(str(answer["thrown"]).split()).rstrip(".")
        problem = f"The manifest {path.name} cannot be imported: {thrown[:400]}."
        raise PackageFault("MAN-001", problem, f"Run `node {path.name}` beside it to see the error.")
    if "lost" in answer:
        problem = f"The manifest does not survive a JSON round trip: {answer['lost']}."
        raise PackageFault("MAN-001", problem, "Keep only plain JSON values in it.")
    return cast("Json", answer["manifest"])


def find_worker(root: Path, manifest: Json) -> Path:
    """The worker file of `entrypoints.worker`.

    Raises `PackageFault` when it is missing or outside the package, or when the manifest is no object to begin with.
    """
    expect_an_object(manifest)
    named = object_of(object_of(manifest).get("entrypoints")).get("worker")
    if not isinstance(named, str) or not named:
        raise PackageFault(
            "MAN-008", "$.entrypoints.worker names no file.", "Name the worker file, relative to the package root."
        )
    worker = Path(os.path.normpath(root / named))
    if not worker.is_relative_to(Path(os.path.normpath(root))):
        raise PackageFault(
            "MAN-008",
            f"$.entrypoints.worker names {named!r}, which lies outside the package.",
            "Keep the worker inside the package.",
        )
    if not is_file(worker):
        raise PackageFault(
            "MAN-008", f"$.entrypoints.worker names {named!r}, but there is no such file.", "Build the package first."
        )
    return worker


def expect_an_object(manifest: Json) -> None:
    """Refuse a manifest that is anything else: no other rule can be judged on it. Raises `PackageFault`."""
    if not isinstance(manifest, dict):
        problem = f"The manifest, $, is not an object but {json.dumps(manifest)[:80]}."
        raise PackageFault("MAN-001", problem, "Make the default export of the manifest module a plain object.")


def read_json(text: str) -> Json:
    """A JSON value. Raises `ValueError` also for NaN and Infinity, which Python would take and no host knows."""
    return cast("Json", json.loads(text, parse_constant=_refuse_constant))


def is_file(path: Path) -> bool:
    """Whether a file can be found there; a path that no file system can hold is not an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_package_json(root: Path, source: str) -> dict[str, Any]:
    """The description of a plugin package, as npm reads it. Raises `UsageFault` when there is none."""
    path = root / "package.json"
    if not is_file(path):
        raise UsageFault(
            f"{source} has no package.json, so it is not a plugin package.",
            "Give the directory that holds package.json, a .tgz made by `npm pack`, or cmd:… with --provider-manifest.",
        )
    try:
        description: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise UsageFault(f"{source}/package.json cannot be read: {error}.", "Repair it first.") from error
    if not isinstance(description, dict) or not is_plugin_package(cast("dict[str, Any]", description)):
        raise UsageFault(
            f"{source} is not a plugin package by the host's rule.",
            "package.json needs a `paperclipPlugin` key, or a name like paperclip-plugin-x or @scope/plugin-x.",
        )
    return cast("dict[str, Any]", description)


def is_plugin_package(description: dict[str, Any]) -> bool:
    """Whether the host takes this package.json for a plugin's."""
    name = description.get("name")
    if "paperclipPlugin" in description:
        return True
    if not isinstance(name, str):
        return False
    if name.startswith("@"):
        return name.partition("/")[2].startswith("plugin-")
    return name.startswith("paperclip-plugin-")


def _refuse_constant(name: str) -> Json:
    message = f"{name} is no JSON value"
    raise ValueError(message)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _without_a_word(run: Finished) -> str:
    said = f" and wrote {run.said[:300]!r}" if run.said else ""
    return f"Node ended with exit code {run.exit_code} before the import was done{said}"
