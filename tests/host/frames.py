"""Which keys stand where in the requests of a host: the same summary for recorded hosts and for the kit.

`recorded-frames.json` is the summary of the recordings that this imitation was built from, so that the comparison runs
where the recordings are not at hand. `python -m tests.host.frames FOLDER` makes it anew from a folder of recordings.
"""

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from conformance.model import Json, object_of

SUMMARY = Path(__file__).with_name("recorded-frames.json")

PARTS = (
    ("paperclipInvocation",),
    ("paperclipInvocation", "scope"),
    ("params",),
    ("params", "instanceInfo"),
    ("params", "lease"),
    ("params", "workspace"),
    ("params", "workspace", "metadata"),
    ("params", "workspace", "metadata", "workspaceRealizationRequest"),
    ("params", "workspace", "metadata", "workspaceRealizationRequest", "source"),
    ("params", "workspace", "metadata", "workspaceRealizationRequest", "runtimeOverlay"),
)
"""Objects whose keys are all the host's own."""

RECORDS = (("params", "lease", "metadata"), ("params", "leaseMetadata"), ("params", "config"))
"""Objects that mix keys of the host with those of the environment's config and of the provider's lease metadata."""

Message: TypeAlias = dict[str, Any]
Keys: TypeAlias = frozenset[str]
Summary: TypeAlias = dict[str, dict[str, set[Keys]]]
"""By method, and by the path of an object in the message: every set of keys that occurred there."""


def summarize(conversations: Iterable[Sequence[tuple[bool, Message]]]) -> Summary:
    """The summary of several conversations, each a list of messages with a flag that says whether the host sent it."""
    heard = list(conversations)
    foreign = foreign_keys(heard)
    found: Summary = {}
    for from_host, message in itertools.chain.from_iterable(heard):
        if from_host and "method" in message:
            _add(found.setdefault(str(message["method"]), {}), message, foreign)
    return found


def foreign_keys(conversations: Iterable[Sequence[tuple[bool, Message]]]) -> Keys:
    """Keys in lease records that are not the host's: those of configs, and those of the metadata of leases."""
    found: set[str] = set()
    for conversation in conversations:
        asked: dict[object, Message] = {}
        for from_host, message in conversation:
            if from_host and message.get("method") in {"environmentAcquireLease", "environmentResumeLease"}:
                asked[message["id"]] = message
            elif not from_host and message.get("id") in asked and isinstance(message.get("result"), dict):
                found |= set(asked[message["id"]]["params"]["config"]) | set(message["result"].get("metadata") or {})
    return frozenset(found)


def _add(parts: dict[str, set[Keys]], message: Message, foreign: Keys) -> None:
    parts.setdefault("", set()).add(frozenset(message))
    for path in PARTS:
        part = _at(message, path)
        if part is not None:
            parts.setdefault(".".join(path), set()).add(frozenset(part))
    if "lease" not in message["params"] and "leaseMetadata" not in message["params"]:
        return
    for path in RECORDS:
        part = _at(message, path)
        if part is not None:
            parts.setdefault(".".join(path), set()).add(frozenset(part) - foreign)


def _at(message: Message, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    value: object = message
    for key in path:
        value = object_of(value).get(key)
    return object_of(value) if isinstance(value, dict) else None


def recordings(folder: Path) -> Iterator[list[tuple[bool, Message]]]:
    """The conversations of a folder of recordings, with every reference to an earlier line filled in."""
    for path in sorted(folder.glob("*.ndjson")):
        lines: list[Message] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        yield [
            (line["dir"] == "host->worker", _filled(line["msg"], (), lines))
            for line in lines
            if line["dir"] in {"host->worker", "worker->host"}
        ]


def _filled(value: Json, path: tuple[str, ...], lines: list[Message]) -> Any:
    line = object_of(value).get("$same_as_line")
    if isinstance(line, int):
        value = lines[line - 1]["msg"]
        for key in path:
            value = object_of(value)[key]
        return _filled(value, path, lines)
    if not isinstance(value, Mapping):
        return value
    return {key: _filled(item, (*path, key), lines) for key, item in value.items()}


def as_json(summary: Summary) -> dict[str, dict[str, list[list[str]]]]:
    """The summary in a fixed order."""
    return {
        method: {path: sorted(sorted(keys) for keys in sets) for path, sets in sorted(parts.items())}
        for method, parts in sorted(summary.items())
    }


def read_summary() -> Summary:
    """The stored summary of the recordings."""
    stored: dict[str, dict[str, list[list[str]]]] = json.loads(SUMMARY.read_text(encoding="utf-8"))
    return {
        method: {path: {frozenset(keys) for keys in sets} for path, sets in parts.items()}
        for method, parts in stored.items()
    }


if __name__ == "__main__":
    SUMMARY.write_text(json.dumps(as_json(summarize(recordings(Path(sys.argv[1])))), indent=1) + "\n", encoding="utf-8")
