"""Running a helper program to its end, within a bound, with nothing left of it afterwards."""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True)
class Finished:
    """How a program ended and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """What it wrote, errors before the rest, on one line."""
        return " ".join((self.stderr or self.stdout).split())


def run_tool(
    argv: Sequence[str], *, seconds: float, environment: Mapping[str, str], directory: Path | None = None
) -> Finished:
    """Run a program without input, then end whatever it started.

    Raises `TimeoutError` when it does not end within `seconds`, and `OSError` when it cannot be started.
    """
    # Files in place of pipes: something that the program left behind may hold a pipe open for ever.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=dict(environment),
            cwd=directory,
            start_new_session=True,
        )
        try:
            exit_code = child.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return Finished(exit_code, _text(output), _text(errors))


def _text(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
