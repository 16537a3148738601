"""What a host sends in a run, request by request: the same account of recorded runs and of the kit's.

`recorded-runs.json` holds the accounts of the recordings that the rehearsals were built from, so that the comparison
runs where the recordings are not at hand. `python -m tests.recorded_runs FOLDER` makes it anew from a folder of them.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeAlias

STORE = Path(__file__).with_name("recorded-runs.json")

RUNS = ("10", "11", "14", "15", "20", "21", "30", "31", "32", "34", "40", "41")
"""Numbers of the recordings that are rehearsed."""

Message: TypeAlias = Mapping[str, Any]

KINDS = (
    ("poll of the bridge", r"if \[ -d '[^']*/requests' \]"),
    ("poll of events", r"if \[ -d '[^']*/events' \]"),
    ("poll of the log", r"printf '%s\\n' '?__\w+_STDOUT__"),
    ("look at PATH", r"printf '\\000%s\\000' \"\$PATH\""),
    ("first look", r"printf '\\0"),
    ("mode of the launchers", r"chmod 700 "),
    ("look for the program", r"command -v "),
    ("message, step 1", r"mkdir -p '[^']*/stdin' && rm -f"),
    ("message, step 2", r"printf '%s' '"),
    ("message, step 3", r"base64 -d < "),
    ("upload, prepare", r"mkdir -p .* && rm -f .* && : > "),
    ("upload, append", r"base64 -d >> "),
    ("upload, put in place", r"mv -f "),
    ("unpack an asset", r"rm -rf '[^']*' && mkdir -p"),
    ("remove launchers", r"rm -rf -- '[^']*/github/"),
    ("remove", r"rm -rf '"),
    ("unpack the workspace", r"mkdir -p '[^']*' && find "),
    ("unpack the overlay", r"mkdir -p '[^']*' && tar "),
    ("make the config", r"mkdir -p '[^']*/config' && if"),
    ("make the queue", r"mkdir -p '[^']*/queue' '"),
    ("start the session", r"mkdir -p '[^']*/stdin' '"),
    ("start the bridge", r"mkdir -p '[^']*/queue/requests' '"),
    ("the agent", r"out_log="),
    ("the agent's session", r"(node|sh) '[^']*/process-sessions/"),
    ("stop the bridge", r"if \[ -s '"),
    ("size", r"wc -c < "),
    ("block", r"dd if="),
    ("read from the queue", r"head -c "),
    ("read an event", r"base64 < "),
    ("export the history", r"sh -c 'set -e"),
    ("pack the workspace", r"sh -c 'mkdir -p"),
)
"""What a command is for, by the beginning of its script."""

FROM_A_TEXT = (
    ("wait for the bridge", "waits for the API bridge server"),
    ("wait for the bridge", "server.pid'\ni=0\nwhile"),
    ("response", "writes one response file"),
    ("response", '"wrote":true'),
    ("upload in one command", "upload of one small file"),
    ("upload in one command", '"uploaded":true'),
    ("start the session", "nohup sh"),
)
"""For scripts that all begin alike: what the note of a recording says, or what the script of the kit holds."""


@dataclass(frozen=True)
class Request:
    """One request: its method, what it is for, the keys of its params, and the values of those that are no data.

    `cwd` is ``/`` or ``workspace``; `time_ms` is the time limit of a command.
    """

    method: str
    kind: str
    keys: tuple[str, ...]
    cwd: str = ""
    bypass: bool | None = None
    time_ms: int | None = None
    channel: bool = False


def request_of(message: Message, note: str = "") -> Request:
    """The account of one message of a host."""
    params: Message = message["params"]
    keys = tuple(sorted(params))
    if message["method"] != "environmentExecute":
        return Request(message["method"], "", keys)
    return Request(
        message["method"],
        kind_of(str(params["args"][1]), note),
        keys,
        "/" if params["cwd"] == "/" else "workspace",
        params["bypassSession"],
        params["timeoutMs"],
        "PAPERCLIP_SANDBOX_EXEC_CHANNEL" in (params.get("env") or {}),
    )


def kind_of(script: str, note: str = "") -> str:
    """What a command is for."""
    for kind, pattern in KINDS:
        if re.match(pattern, script) and not (kind == "start the bridge" and "process-sessions" in script):
            return kind
    for kind, text in FROM_A_TEXT:
        if text in note or text in script:
            return kind
    return f"unknown: {script[:60]}"


def recorded(path: Path) -> list[Request]:
    """The account of one recording."""
    lines: list[Message] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [request_of(line["msg"], line.get("note", "")) for line in lines if line["dir"] == "host->worker"]


def read_recordings(folder: Path) -> dict[str, list[Request]]:
    """The accounts of the rehearsed recordings of a folder, by their numbers."""
    return {path.name[:2]: recorded(path) for path in sorted(folder.glob("*.ndjson")) if path.name[:2] in RUNS}


def without_repeats(requests: Iterable[Request]) -> list[Request]:
    """Requests that are equal only once, at the place of the first."""
    return list(dict.fromkeys(requests))


def as_lines(runs: Mapping[str, Iterable[Request]]) -> str:
    """The accounts as they are stored, a line for each request."""
    lines = [
        json.dumps([number, *astuple(request)], separators=(",", ":"))
        for number, requests in runs.items()
        for request in without_repeats(requests)
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read_runs() -> dict[str, list[Request]]:
    """The stored accounts."""
    found: dict[str, list[Request]] = {}
    for number, method, kind, keys, *rest in json.loads(STORE.read_text(encoding="utf-8")):
        found.setdefault(number, []).append(Request(method, kind, tuple(keys), *rest))
    return found


if __name__ == "__main__":
    STORE.write_text(as_lines(read_recordings(Path(sys.argv[1]))), encoding="utf-8")
