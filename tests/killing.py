"""Runs that are ended in the middle, and a backend that can be counted afterwards."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from conformance.account import Account, read_account

from .running import environment_for, hear_interrupts, processes_of

MOMENT_LIMIT_S = 120.0
"""Backstop for a moment that does not come."""

QUIET_LIMIT_S = 90.0
"""How long the reaper may take on a busy machine; it is reached only when something hangs."""

_LOOK_AGAIN_S = 0.02


@dataclass
class Running:
    """A certifying run that is under way. Its sandboxes are directories below `backend`, outside its own directory."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def backend(self) -> Path:
        """Where the sandboxes are."""
        return self.folder / "backend"

    @property
    def report(self) -> Path:
        """The report folder."""
        return self.folder / "conformance-report"

    @property
    def ledgers(self) -> list[Path]:
        """The ledger files, one a process."""
        return sorted(self.report.glob("ledger-*.jsonl"))

    @property
    def accounts(self) -> list[Account]:
        """What they say now."""
        return [account for path in self.ledgers if (account := read_account(path)) is not None]

    @property
    def sandboxes(self) -> set[str]:
        """Ids of the sandboxes that exist."""
        return {path.name for path in self.backend.glob("ref-*")}

    @property
    def output(self) -> str:
        """What pytest printed."""
        return (self.folder / "output.txt").read_text(encoding="utf-8")

    @property
    def calls_at_once(self) -> int:
        """How many acquires may have been under way: as many as have no answer in the ledger."""
        return sum(entry.held is None for account in self.accounts for entry in account.entries.values())

    def until(self, seen: Callable[["Running"], bool]) -> bool:
        """Wait for a moment; False when the run ended before it came."""
        deadline = time.monotonic() + MOMENT_LIMIT_S
        while not seen(self):
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < deadline, "the moment did not come"
            time.sleep(_LOOK_AGAIN_S)
        return True

    def end(self, number: signal.Signals) -> None:
        """Signal pytest alone, then wait until it and everything of it are gone."""
        self.process.send_signal(number)
        self.process.wait(QUIET_LIMIT_S)
        self.settle()

    def settle(self) -> None:
        """Wait until no process of the run is left."""
        assert processes_of(self.folder, limit_s=QUIET_LIMIT_S) == []


def start(folder: Path, *arguments: str, provider: str = "reference", **config: object) -> Running:
    """Start a run in `folder`; `provider` is the reference, or a script made from it."""
    folder.mkdir(exist_ok=True)
    source = [provider]
    if provider != "reference":
        script = [sys.executable, str(Path(__file__).with_name(provider))]
        manifest = subprocess.run([*script, "--manifest"], stdout=subprocess.PIPE, check=True).stdout
        (folder / "manifest.json").write_bytes(manifest)
        source = [f"cmd:{shlex.join(script)}", "--provider-manifest", "manifest.json"]
    settings = json.dumps({"root": str(folder / "backend"), **config})
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "--provider", *source, "--provider-config", settings, *arguments],
            cwd=folder,
            env=environment_for(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=hear_interrupts,  # noqa: PLW1509 - it only resets a signal
        )
    return Running(folder, process)


def lines_of_conversation(running: Running) -> int:
    """How many lines went over the wire so far."""
    path = running.report / "transcript.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def in_the_middle_of(method: str) -> Callable[[Running], bool]:
    """The moment after a request of this method was sent and before it is answered."""

    def seen(running: Running) -> bool:
        path = running.report / "transcript.jsonl"
        if not path.exists():
            return False
        *lines, _ = path.read_bytes().split(b"\n")
        return bool(lines) and b'"host->worker"' in lines[-1] and f'"method":"{method}"'.encode() in lines[-1]

    return seen


def made_but_not_told(running: Running) -> bool:
    """The moment after a sandbox was made and before an answer tells of it."""
    told = {entry.id for account in running.accounts for entry in account.entries.values()}
    return bool(running.sandboxes - told)


def expect_clean(running: Running) -> int:
    """Nothing that the ledger knows is left, no process and no directory; returns the number of unknown leases."""
    unknown = 0
    for account in running.accounts:
        for entry in account.open:
            # Only what no answer has named may stay, and the text of the reaper tells of it.
            assert entry.id is None, entry
            assert entry.label in account.path.with_suffix(".txt").read_text(encoding="utf-8")
            unknown += 1
        assert running.sandboxes.isdisjoint({entry.id for entry in account.entries.values()})
    assert len(running.sandboxes) <= unknown
    left = sorted(path.name for path in (running.folder / "tmp").iterdir())
    assert [name for name in left if not name.startswith("pytest-of-")] == []
    return unknown
