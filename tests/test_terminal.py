"""The login terminal: what is allowed is not held against a provider, and nobody's own login tool is touched."""

import os
import subprocess
from pathlib import Path

import pytest

from conformance.host.worker import Notice
from conformance.login import EXIT, OUTPUT
from conformance.model import FrameNumber, Json, State
from conformance.standin import place, remove, tool
from conformance.suites.terminal import is_exit_code, problems_of
from conformance.wire.peer import Received

from .lenient import states_of

OWN = "#!/bin/sh\necho own\n"


@pytest.mark.parametrize("provider", ["EarlierInvocation", "ShellTerminal", "QuietClose"])
def test_where_good_providers_differ_none_is_warned(tmp_path: Path, provider: str) -> None:
    states = states_of(provider, tmp_path, "PTY-")

    assert len(states) == 8
    assert all(seen == {State.PASS} for seen in states.values()), states


def test_a_provider_without_logins_is_asked_for_none(tmp_path: Path) -> None:
    states = states_of("NoLogins", tmp_path, "PTY-")

    assert all(seen == {State.NOT_APPLICABLE} for seen in states.values())


def put(sandbox: Path, body: str, *, may_replace: bool = True) -> list[str]:
    """Place a stand-in in a directory that is a home, with one other directory on the PATH."""
    script = place(f"{sandbox}/in use", may_replace=may_replace)
    return run(sandbox, script, tool(f"{sandbox}/in use", body)).splitlines()


def run(sandbox: Path, script: str, text: str = "") -> str:
    environment = {"HOME": str(sandbox), "PATH": f"{sandbox}/.local/bin:{sandbox}/bin:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/sh", "-c", script], check=True, input=text, stdout=subprocess.PIPE, env=environment, text=True
    )
    return done.stdout


def own_tool(folder: Path) -> Path:
    folder.mkdir(parents=True)
    path = folder / "claude"
    path.write_text(OWN, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_stand_in_is_run_and_taken_away(tmp_path: Path) -> None:
    target = f"{tmp_path}/.local/bin/claude"

    assert put(tmp_path, "echo stands in") == [target, target]
    assert run(tmp_path, "claude setup-token") == "stands in\n"
    assert (tmp_path / "in use" / "called").read_text(encoding="utf-8") == "setup-token\n"
    run(tmp_path, remove(f"{tmp_path}/in use"))
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


@pytest.mark.parametrize("place_of_its_own", ["bin", ".local/bin"])
def test_a_tool_of_the_image_is_put_back(tmp_path: Path, place_of_its_own: str) -> None:
    own = own_tool(tmp_path / place_of_its_own)

    found, *_ = put(tmp_path, "echo stands in")
    assert run(tmp_path, "claude setup-token") == "stands in\n", found
    run(tmp_path, remove(f"{tmp_path}/in use"))

    assert own.read_text(encoding="utf-8") == OWN
    assert run(tmp_path, "claude") == "own\n"


def test_a_tool_of_the_workers_machine_stays_where_it_is(tmp_path: Path) -> None:
    own = own_tool(tmp_path / ".local" / "bin")

    assert put(tmp_path, "echo stands in", may_replace=False) == [str(own)]
    assert run(tmp_path, "claude") == "own\n"


def said(method: str, params: dict[str, Json]) -> Notice:
    received = Received(FrameNumber(7), {"params": params})
    return Notice(method, None, FrameNumber(7), 1.0, None, received)


@pytest.mark.parametrize(
    ("notice", "problems"),
    [
        (said(OUTPUT, {"workerSessionId": "a", "chunk": "x" * 10}), 0),
        (said(OUTPUT, {"workerSessionId": "a", "chunk": "\U0001f600" * 5}), 0),
        (said(OUTPUT, {"workerSessionId": "a", "chunk": "\U0001f600" * 5 + "x"}), 1),
        (said(OUTPUT, {"workerSessionId": "a", "chunk": ""}), 1),
        (said(OUTPUT, {"workerSessionId": "a", "chunk": None}), 1),
        (said(OUTPUT, {"chunk": "x"}), 1),
        (said(OUTPUT, {"workerSessionId": "b"}), 2),
        (said(EXIT, {"workerSessionId": "a", "exitCode": 0}), 0),
        (said(EXIT, {"workerSessionId": None, "exitCode": 0}), 1),
    ],
)
def test_a_notification_is_judged_as_the_host_takes_it(notice: Notice, problems: int) -> None:
    assert len(list(problems_of(notice, "a", 10))) == problems


def test_an_exit_code_is_a_number_or_null() -> None:
    assert [is_exit_code(code) for code in (0, -1, 137, 1.0, None)] == [True] * 5
    assert [is_exit_code(code) for code in (True, "0", "absent", [0])] == [False] * 4
