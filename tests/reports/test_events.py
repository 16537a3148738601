"""The stream is written as it happens, and no edit of it goes unseen."""

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.events import EVENTS_SCHEMA, EventWriter, StreamError, read_events
from conformance.reports.tally import tally

from .builder import Script, bad_run, good_run


def test_every_line_is_on_the_disk_before_the_next_event(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "events.jsonl"
    with EventWriter(path) as writer:
        writer.write("header", kit={"name": "kit"})
        assert path.read_bytes().count(b"\n") == 1
        writer.write("fault", kind="kill", detail="\u00fc \ud800")
        assert path.read_bytes().count(b"\n") == 2
        assert writer.events == 2
        assert writer.digest == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_lines_are_compact_ascii_with_event_and_time_first(tmp_path: Path) -> None:
    lines = bad_run().write(tmp_path / "events.jsonl").read_bytes().splitlines()
    assert all(line.isascii() and line.startswith(b'{"event":"') for line in lines)
    assert [list(json.loads(line))[:2] for line in lines] == [["event", "t"]] * len(lines)
    assert json.loads(lines[0])["schema"] == EVENTS_SCHEMA


def test_the_footer_counts_and_holds_the_digest_of_all_lines_before(tmp_path: Path) -> None:
    data = bad_run().write(tmp_path / "events.jsonl").read_bytes()
    *before, last = data.splitlines(keepends=True)
    footer = json.loads(last)
    assert footer["events"] == len(before)
    assert footer["states"] == {"blocked": 1, "fail": 1, "pass": 4, "warn": 1}
    assert footer["digest"] == f"sha256:{hashlib.sha256(b''.join(before)).hexdigest()}"


def test_a_run_that_dies_leaves_no_footer(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with pytest.raises(RuntimeError), EventWriter(path) as writer:  # noqa: PT012 the error must come after a write
        writer.write("header")
        raise RuntimeError
    with pytest.raises(StreamError, match=r"no footer"):
        read_events(path)


def test_closing_twice_writes_one_footer(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = EventWriter(path)
    writer.write("header")
    writer.close()
    writer.close()
    assert path.read_bytes().count(b'"footer"') == 1


@pytest.mark.parametrize("events", [["fault"], ["header", "header"], ["header", "footer"], ["header", "no-such-event"]])
def test_the_writer_refuses_events_out_of_place(tmp_path: Path, events: list[str]) -> None:
    writer = EventWriter(tmp_path / "events.jsonl")
    for event in events[:-1]:
        writer.write(event)
    with pytest.raises(ValueError, match=r"header|footer|no-such-event"):
        writer.write(events[-1])
    writer.close()


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    script = good_run()
    stream = read_events(script.write(tmp_path / "events.jsonl"))
    kinds = [event.kind for event in stream]
    assert kinds == ["header", *(event for event, _ in script.lines), "footer"]
    assert tally(stream).checks == script.report().checks


def test_unknown_events_and_fields_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    good_run().add("fault", kind="kill", detail=None, weather="fine").write(path)
    lines = path.read_bytes().splitlines(keepends=True)[:-1]
    lines.append(b'{"event":"from-the-future","t":9.9,"x":1}\n')
    states = json.dumps(json.loads(path.read_bytes().splitlines()[-1])["states"], separators=(",", ":"))
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    footer = f'{{"event":"footer","t":9.9,"events":{len(lines)},"states":{states},"digest":"sha256:{digest}"}}\n'
    path.write_bytes(b"".join([*lines, footer.encode()]))
    assert tally(read_events(path)).exit_code == 0


def test_editing_any_byte_is_refused(tmp_path: Path) -> None:
    script = Script().add("fault", kind="kill", detail="x")
    script.top = {"run": {"profiles": []}}
    path = script.write(tmp_path / "events.jsonl")
    data = path.read_bytes()
    for place in range(len(data)):
        for edited in (data[place] ^ 1, data[place] ^ 2):
            path.write_bytes(data[:place] + bytes([edited]) + data[place + 1 :])
            with pytest.raises(StreamError):
                read_events(path)


def test_cutting_the_file_anywhere_is_refused(tmp_path: Path) -> None:
    script = Script().add("fault", kind="kill", detail="x")
    script.top = {"run": {"profiles": []}}
    path = script.write(tmp_path / "events.jsonl")
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(StreamError, match="Run the kit again"):
            read_events(path)


Damage = Callable[[list[bytes]], list[bytes]]

DAMAGES: list[tuple[Damage, str]] = [
    (lambda lines: lines[:-1], r"no footer: the run was cut off"),
    (lambda lines: [*lines, lines[-1]], r"something follows the footer"),
    (lambda lines: [*lines, b"\n"], r"something follows the footer"),
    (lambda lines: lines[1:], r"does not start with its one header"),
    (lambda lines: [lines[0], *lines], r"does not start with its one header"),
    (lambda lines: [*lines[:3], b"{oops\n", *lines[3:]], r"line 4: the line is not JSON"),
    (lambda lines: [*lines[:3], b'{"event":"fault","t":NaN}\n', *lines[3:]], r"line 4: the line is not JSON"),
    (lambda lines: [*lines[:3], b"[" * 100_000 + b"\n", *lines[3:]], r"line 4: the line is not JSON"),
    (lambda lines: [*lines[:3], b"[]\n", *lines[3:]], r"line 4: the line is not a JSON object"),
    (lambda lines: [*lines[:3], b'{"event":"fault"}\n', *lines[3:]], r"lacks its event name or its time"),
    (lambda lines: [lines[0], *lines[2:]], r"the footer counts \d+ events, the file has \d+"),
    (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], r"the digest in the footer does not fit"),
    (lambda lines: [lines[0].replace(b"events/1", b"events/9"), *lines[1:]], r"events/9.*this kit reads"),
    (lambda lines: [*lines[:-1], lines[-1].replace(b'"pass":4', b'"pass":5')], r"the footer does not fit"),
]


@pytest.mark.parametrize(("damage", "problem"), DAMAGES)
def test_damage_is_told_in_one_message(tmp_path: Path, damage: Damage, problem: str) -> None:
    path = bad_run().write(tmp_path / "events.jsonl")
    path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(StreamError, match=problem) as caught:
        read_events(path)
    assert str(caught.value).startswith(f"{path}")
    assert "\n" not in str(caught.value)


def test_an_absent_file_is_told_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"nowhere\.jsonl: the file cannot be read"):
        read_events(tmp_path / "nowhere.jsonl")


def test_reading_keeps_memory_flat(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventWriter(path) as writer:
        writer.write("header")
        for number in range(3_000):
            writer.write("fault", kind="noise", detail=f"{number:>1000}")
    tracemalloc.start()
    read_events(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < path.stat().st_size / 10
