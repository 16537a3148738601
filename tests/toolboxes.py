"""The tools that a script finds: those of this machine, or those of its busybox and nothing else, as on Alpine."""

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache

BUSYBOX = "busybox"
"""The name of that shell; the others are names of programs."""


@cache
def applets() -> str:
    """A directory with a link for each tool of the busybox of this machine, and nothing else."""
    folder = tempfile.mkdtemp(prefix="provider-conformance-busybox-")
    atexit.register(shutil.rmtree, folder)
    subprocess.run([str(shutil.which(BUSYBOX)), "--install", "-s", folder], check=True)
    return folder


def program_of(shell: str, script: str) -> list[str]:
    """How a script is run."""
    return [f"{applets()}/sh" if shell == BUSYBOX else shell, "-c", script]


def environment_of(shell: str) -> dict[str, str]:
    """The environment of a script: that of the tests, with the PATH that it is about."""
    return {**os.environ, **({"PATH": applets()} if shell == BUSYBOX else {})}
