"""Providers that differ from the reference in ways that are allowed: `python lenient_provider.py NAME [--manifest]`."""

import shlex
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.command import Command, Outcome
from conformance.fixtures.reference.errors import METHOD_NOT_IMPLEMENTED, CallError, LeaseLostError
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider
from conformance.fixtures.reference.store import Sandbox
from conformance.fixtures.reference.terminal import Notify, Terminal


class OneStream(ReferenceProvider):
    """The backend has one stream, so stderr comes back in stdout."""

    def run_command(self, sandbox: Sandbox, command: Command, emit: Callable[[str, str], None]) -> Outcome:
        words = ["-c", 'exec "$@" 2>&1', "sh", command.program, *command.arguments]
        return super().run_command(sandbox, replace(command, program="/bin/sh", arguments=words), emit)


class OwnPath(ReferenceProvider):
    """PATH belongs to the image and is not taken from the caller."""

    def environment(self, sandbox: Sandbox, wanted: dict[str, Any]) -> dict[str, str]:
        return super().environment(sandbox, {name: value for name, value in wanted.items() if name != "PATH"})


class Toolbox(ReferenceProvider):
    """The image of the config is the PATH of every command: a directory of tools, and there are no others."""

    def environment(self, sandbox: Sandbox, wanted: dict[str, Any]) -> dict[str, str]:
        image = sandbox.record.image
        return {**super().environment(sandbox, wanted), **({"PATH": image} if image is not None else {})}


class LostLeaseFails(ReferenceProvider):
    """A command on a lost lease is a failed command with a reason, and no error."""

    def execute(self, call: Call) -> dict[str, Any]:
        try:
            return super().execute(call)
        except LeaseLostError as error:
            return self.execute_answer(Outcome(1, None, timed_out=False, stdout="", stderr=f"{error}\n"), 0)


class Confined(ReferenceProvider):
    """Commands run in the workspace or in the root directory; everything else is refused."""

    def working_directory(self, sandbox: Sandbox, call: Call) -> str:
        path = super().working_directory(sandbox, call)
        if path != "/" and not f"{path}/".startswith(f"{sandbox.workspace}/"):
            message = "cwd is outside of the workspace"
            raise CallError(message)
        return path


class NoSignals(ReferenceProvider):
    """The backend tells that a signal ended a command, and not which one."""

    def execute_answer(self, outcome: Outcome, seconds: float) -> dict[str, Any]:
        killed = outcome.exit_code is None or outcome.exit_code in {137, 143}
        seen = replace(outcome, exit_code=None if killed else outcome.exit_code, signal=None)
        return super().execute_answer(seen, seconds)


class KillsUnconfirmed(ReferenceProvider):
    """Nobody says whether the processes of a destroyed sandbox were killed; it is removed all the same."""

    def end_sandbox_processes(self, sandbox: Sandbox) -> None:
        with suppress(CallError):
            super().end_sandbox_processes(sandbox)
        print("the backend did not say whether the processes were killed", file=sys.stderr)


class OneSession(ReferenceProvider):
    """Commands of a session run one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: defaultdict[object, threading.Lock] = defaultdict(threading.Lock)

    def execute(self, call: Call) -> dict[str, Any]:
        if call.params.get("bypassSession") is not False:
            return super().execute(call)
        with self.sessions[call.lease_id]:
            return super().execute(call)


class Quiet(ReferenceProvider):
    """Nothing is sent while a command runs, and nothing else was promised."""

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        manifest = super().manifest()
        del manifest["environmentDrivers"][0]["sandboxCapabilities"]["incrementalSessionOutput"]
        return manifest

    def on_output(self, call: Call, stream: str, text: str) -> None:
        """Say nothing."""


class NoSync(ReferenceProvider):
    """There are no sync methods, and none are promised: files go over commands."""

    withheld = frozenset({"environmentSyncIn", "environmentSyncOut"})

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        manifest = super().manifest()
        for key in ("nativeSyncIn", "nativeSyncOut"):
            del manifest["environmentDrivers"][0]["sandboxCapabilities"][key]
        return manifest


class JobLeases(ReferenceProvider):
    """Sandboxes that are kept are jobs: they cannot sync natively, their leases say so, and sync is refused."""

    def marks(self, sandbox: Sandbox) -> dict[str, Any]:
        """What the lease of a sandbox says about native sync."""
        return {"backend": "job"} if sandbox.record.reusable else {}

    def lease_metadata(self, sandbox: Sandbox) -> dict[str, Any]:
        return {**super().lease_metadata(sandbox), **self.marks(sandbox)}

    def sync_in(self, call: Call) -> dict[str, Any]:
        self.refuse_where_marked(call)
        return super().sync_in(call)

    def sync_out(self, call: Call) -> dict[str, Any]:
        self.refuse_where_marked(call)
        return super().sync_out(call)

    def refuse_where_marked(self, call: Call) -> None:
        """Move nothing natively on a lease that is marked."""
        if self.marks(self.usable(call)):
            message = "this lease cannot sync natively"
            raise CallError(message, METHOD_NOT_IMPLEMENTED)


class MarkedLeases(JobLeases):
    """No sandbox can sync natively, whether it is kept or not, and every lease says so."""

    def marks(self, sandbox: Sandbox) -> dict[str, Any]:
        return {**super().marks(sandbox), "nativeFileSyncUnsupported": True}


SETUP_FLAGS = ("supportsInteractiveSetup", "supportsTemplateCapture", "supportsTemplateDelete")


class NoSetup(ReferenceProvider):
    """There is no interactive setup, and none is promised."""

    withheld = frozenset(
        {
            "environmentStartInteractiveSetup",
            "environmentGetInteractiveSetup",
            "environmentCancelInteractiveSetup",
            "environmentCaptureTemplate",
            "environmentDeleteTemplate",
        }
    )

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        manifest = super().manifest()
        for flag in SETUP_FLAGS:
            del manifest["environmentDrivers"][0][flag]
        return manifest


class SlowSetup(ReferenceProvider):
    """A setup is not ready at once, names neither an end nor a summary, and templates cannot be deleted."""

    withheld = frozenset({"environmentDeleteTemplate"})

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        manifest = super().manifest()
        manifest["environmentDrivers"][0]["supportsTemplateDelete"] = False
        return manifest

    def session(self, sandbox: Sandbox, *, with_payload: bool) -> dict[str, Any]:
        answer = {**super().session(sandbox, with_payload=with_payload), "connectionSummary": None, "expiresAt": None}
        if sandbox.id in self.seen:
            return answer
        self.seen.add(sandbox.id)
        return {**answer, "status": "starting", "connectionPayload": None}


class EarlierInvocation(ReferenceProvider):
    """Terminals speak under the id of the call that opened them, which was answered: the SDK adds it by itself."""

    def terminal_notify(self, call: Call) -> Notify:
        return call.notify


class _InAShell(Terminal):
    """The backend opens a shell on the terminal, and the login command is typed into it."""

    def __init__(self, command: list[str], cwd: str, env: dict[str, str], notify: Notify) -> None:
        super().__init__(["/bin/sh", "-i"], cwd, env, notify)
        self.send(f"exec {shlex.join(command)}\n")


class ShellTerminal(ReferenceProvider):
    """A terminal shows the prompt of a shell first, and what was typed into it to start the login."""

    terminal_class = _InAShell


class _EndsUntold(Terminal):
    def __init__(self, command: list[str], cwd: str, env: dict[str, str], notify: Notify) -> None:
        self.closed = threading.Event()
        super().__init__(command, cwd, env, notify)

    def close(self) -> None:
        self.closed.set()
        super().close()

    def on_output(self, chunk: str) -> None:
        if not self.closed.is_set():
            super().on_output(chunk)

    def on_exit(self, code: int | None) -> None:
        """Tell success from all the rest, as where the backend knows no more."""
        if not self.closed.is_set():
            super().on_exit(0 if code == 0 else None)


class QuietClose(ReferenceProvider):
    """A code that is not 0 is not known, and nothing is told of a terminal that the host has closed."""

    terminal_class = _EndsUntold


class NoLogins(ReferenceProvider):
    """There is no login terminal, and none is promised."""

    withheld = frozenset({"setupTokenPtyOpen", "setupTokenPtyInput", "setupTokenPtyStop", "setupTokenPtyClose"})

    @classmethod
    def manifest(cls) -> dict[str, Any]:
        manifest = super().manifest()
        del manifest["environmentDrivers"][0]["supportsSetupTokenLogin"]
        return manifest


PROVIDERS = {kind.__name__: kind for kind in (*ReferenceProvider.__subclasses__(), MarkedLeases)}

if __name__ == "__main__":
    launch(PROVIDERS[sys.argv[1]], sys.argv[2:])
