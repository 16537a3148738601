"""What a check sent to a worker, as plain lines that can be sent again by hand."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from conformance.errors import UsageFault
from conformance.model import Json, JsonObject, object_of

_HIDDEN: Final = re.compile(r"\[redacted:([^\]\"\\]*)\]")
_REALIZE: Final = "environmentRealizeWorkspace"
_LEASE: Final = "providerLeaseId"
_TO_WORKER: Final = "host->worker"
_TO_HOST: Final = "worker->host"


@dataclass(frozen=True, slots=True)
class Script:
    """The lines for one worker, in order.

    `workers` are all that the check spoke to. `hidden` names secrets whose values have to be put in by hand;
    `handed_out` are lease ids that the worker of that run had made up: another one answers with its own.
    """

    worker: int
    workers: tuple[int, ...]
    lines: tuple[str, ...]
    hidden: tuple[str, ...]
    handed_out: tuple[str, ...]


@dataclass(slots=True)
class _Talk:
    """What was said to one worker: before the check only what later lines may stand on."""

    starts: list[str] = field(default_factory=list[str])
    leases: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    asked: dict[Json, str] = field(default_factory=dict["Json", str])
    sent: list[str] = field(default_factory=list[str])

    def listen(self, line: JsonObject, *, inside: bool) -> None:
        """Take one line in its order."""
        message = object_of(line.get("msg"))
        if line.get("dir") == _TO_HOST:
            made = object_of(message.get("result")).get(_LEASE)
            asked = self.asked.pop(_key(message.get("id")), None)
            if isinstance(made, str) and asked is not None:
                self.leases.setdefault(made, []).append(asked)
            return
        if line.get("dir") != _TO_WORKER:
            return
        text = _text(line)
        self.asked[_key(message.get("id"))] = text
        if inside:
            self.sent.append(text)
        elif message.get("method") == "initialize":
            self.starts.append(text)
        elif message.get("method") == _REALIZE:
            for lease, lines in self.leases.items():
                if json.dumps(lease) in text:
                    lines.append(text)


def read_script(
    transcript: Path, span: Sequence[int], *, decided: Iterable[int] = (), worker: int | None = None
) -> Script:
    """Read what was sent between two frames, behind the lines that it stands on: the start, and leases from before.

    Of several workers the one is taken that `decided` frames belong to, or `worker`. Raises `UsageFault` when the
    transcript does not hold the lines.
    """
    if not transcript.is_file():
        raise UsageFault(f"{transcript}: there is no transcript any more.", "Only it holds what was sent.")
    talks, home = _talks(transcript, span, frozenset(decided))
    spoken = tuple(number for number, talk in talks.items() if talk.sent)
    if not spoken:
        raise UsageFault(f"{transcript}: it holds no line that was sent during this check.", "It spoke to no worker.")
    chosen = worker if worker is not None else home if home in spoken else spoken[0]
    if chosen not in spoken:
        raise UsageFault(f"The check did not speak to worker {chosen}.", f"It spoke to: {_list(spoken)}.")
    talk = talks[chosen]
    within = "\n".join(talk.sent)
    leases = tuple(each for each in talk.leases if json.dumps(each) in within)
    before = [text for each in leases for text in talk.leases[each] if text not in talk.sent]
    lines = (*talk.starts, *dict.fromkeys(before), *talk.sent)
    hidden = dict.fromkeys(name for text in lines for name in _HIDDEN.findall(text))
    return Script(chosen, spoken, lines, tuple(hidden), leases)


def _talks(transcript: Path, span: Sequence[int], decided: frozenset[int]) -> tuple[Mapping[int, _Talk], int | None]:
    first, last = span
    talks: dict[int, _Talk] = {}
    home: int | None = None
    with transcript.open("rb") as file:
        for raw in file:
            line = _read(raw)
            frame, worker = line.get("frame"), line.get("worker")
            if not isinstance(frame, int) or not isinstance(worker, int) or frame > last:
                continue
            inside = frame >= first
            if inside and "cut" in line and line.get("dir") == _TO_WORKER:
                size = f"{line.get('bytes')} bytes"
                raise UsageFault(f"Line {frame} of the transcript holds only the start of {size}.", "It is too long.")
            if frame in decided:
                home = worker
            talks.setdefault(worker, _Talk()).listen(line, inside=inside)
    return talks, home


def _read(raw: bytes) -> JsonObject:
    try:
        return object_of(cast("Json", json.loads(raw)))
    except (ValueError, RecursionError):
        return {}


def _key(value: Json) -> Json:
    # Ids of other types cannot be keys, and answer no call of ours.
    return value if isinstance(value, int | float | str) else None


def _text(line: JsonObject) -> str:
    if "msg" in line:
        return json.dumps(line["msg"], separators=(",", ":"))
    text = line.get("text")
    return text.replace("\n", " ") if isinstance(text, str) else ""


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(str(each) for each in numbers)
