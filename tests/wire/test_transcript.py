"""The transcript: every line in order, valid JSON whatever was written, long lines cut, secrets taken out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.model import FrameNumber
from conformance.redact import Redactor
from conformance.wire.transcript import KEPT_BYTES, KEPT_OF_A_LONG_LINE, Direction, Transcript


def refuse(name: str) -> None:
    raise ValueError(name)


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=refuse) for line in path.read_text(encoding="utf-8").splitlines()]


def ticking() -> Iterator[float]:
    yield from (100.0, 100.25, 101.0, 102.5)


def test_frames_are_numbered_timed_and_written_as_they_happen(tmp_path: Path) -> None:
    path, clock = tmp_path / "t.jsonl", ticking()
    with Transcript(path, first=40, clock=lambda: next(clock)) as transcript:
        transcript.add(1, Direction.TO_WORKER, b'{"id":1}')
        first = written(path)
        transcript.add(1, Direction.TO_HOST, b"noise")
        transcript.add(2, Direction.STDERR, b"warning")

    assert first == [{"frame": 41, "t": 0.25, "worker": 1, "dir": "host->worker", "bytes": 8, "msg": {"id": 1}}]
    assert written(path)[1:] == [
        {"frame": 42, "t": 1.0, "worker": 1, "dir": "worker->host", "bytes": 5, "text": "noise"},
        {"frame": 43, "t": 2.5, "worker": 2, "dir": "stderr", "bytes": 7, "text": "warning"},
    ]
    assert transcript.last == 43
    assert [frame.number for frame in transcript.since(41)] == [42, 43]
    assert [frame.number for frame in transcript.since(0)] == [41, 42, 43]
    assert transcript.since(FrameNumber(43)) == []


def test_a_long_line_is_cut_and_its_length_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        transcript.add(1, Direction.TO_HOST, b"x" * KEPT_BYTES)
        transcript.add(1, Direction.TO_HOST, b"y" * (KEPT_BYTES + 1))
        transcript.add(1, Direction.TO_HOST, b"only the start", 1_000_000)

    whole, cut, start = written(path)
    assert (len(whole["text"]), whole["bytes"]) == (KEPT_BYTES, KEPT_BYTES)
    assert (cut["cut"], cut["bytes"]) == ("y" * KEPT_OF_A_LONG_LINE, KEPT_BYTES + 1)
    assert (start["cut"], start["bytes"]) == ("only the start", 1_000_000)
    assert [frame.whole for frame in transcript.frames] == [True, False, False]


def test_secrets_do_not_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path, redactor=Redactor({"password": "hunter2"})) as transcript:
        transcript.add(1, Direction.TO_WORKER, b'{"token":"hunter2"}')

    assert written(path)[0]["msg"] == {"token": "[redacted:password]"}


def test_a_leak_is_told_with_its_frame_and_its_place() -> None:
    transcript = Transcript(redactor=Redactor({"password": "hunter2"}))
    transcript.add(1, Direction.TO_WORKER, b'{"token":"hunter2"}')
    transcript.add(1, Direction.TO_HOST, b'{"result":{"seen":["hunter2"]}}')
    before = transcript.last
    transcript.add(1, Direction.STDERR, b"token is hunter2")
    transcript.redactor.plant("canary", "canary-5f0e")
    transcript.add(1, Direction.TO_HOST, b"canary-5f0e")

    found = [(each.frame.number, each.leak.name, each.leak.place) for each in transcript.leaks()]
    assert found == [(2, "password", "/result/seen/0"), (3, "password", ""), (4, "canary", "")]
    assert [each.frame.number for each in transcript.leaks(before)] == [3, 4]


@pytest.mark.parametrize("line", [b'{"a":NaN}', b'{"a":1e999}', b"[" * 60_000, b"9" * 5_000, b'"\\ud800"', b"\xff\xfe"])
def test_what_is_no_json_is_written_as_text(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        transcript.add(1, Direction.TO_HOST, line)

    (frame,) = written(path)
    assert "text" in frame or frame["msg"] == "\ud800"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(Direction), st.binary().map(lambda data: data.replace(b"\n", b"")))))
def test_every_line_of_the_file_is_json_whatever_was_said(tmp_path: Path, lines: list[tuple[Direction, bytes]]) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        for direction, data in lines:
            transcript.add(1, direction, data)

    assert [frame["bytes"] for frame in written(path)] == [len(data) for _, data in lines]
