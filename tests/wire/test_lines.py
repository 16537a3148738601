"""Cutting a stream into lines: only the line feed cuts, whatever the chunks are, and memory stays bounded."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.wire.lines import KEPT_OF_A_DROPPED_LINE, Line, LineCutter, units_of

LINES = st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\n", b"")), max_size=8)


def cut(*chunks: bytes, max_units: int = 1_000) -> list[Line]:
    cutter = LineCutter(max_units)
    lines = [line for chunk in chunks for line in cutter.feed(chunk)]
    rest = cutter.finish()
    return lines if rest is None else [*lines, rest]


def split(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def test_a_message_may_be_cut_at_every_byte() -> None:
    data = '{"text":"größer 😀"}\n{"next":1}\n'.encode()
    whole = cut(data)

    assert [line.data for line in whole] == data.splitlines()
    for place in range(len(data) + 1):
        assert cut(data[:place], data[place:]) == whole
    assert cut(*(bytes([byte]) for byte in data)) == whole


@given(LINES, st.lists(st.integers(min_value=0)))
def test_chunks_make_no_difference(lines: list[bytes], places: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)

    found = cut(*split(data, places))

    assert [line.data for line in found] == lines
    assert [line.size for line in found] == [len(line) for line in lines]


@pytest.mark.parametrize("other", ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_no_other_character_ends_a_line(other: str) -> None:
    data = f"one{other}line".encode()

    assert [line.data for line in cut(data + b"\n")] == [data]


@given(st.text(), st.lists(st.integers(min_value=0)))
def test_units_are_counted_as_javascript_counts_them(text: str, places: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    units = len(data.decode().encode("utf-16-le")) // 2

    assert units_of(data) == units
    assert sum(map(units_of, split(data, places))) == units


@given(
    st.text(alphabet="a😀ü", max_size=40).filter(bool),
    st.integers(min_value=1, max_value=20),
    st.lists(st.integers(min_value=0)),
)
def test_a_line_is_dropped_exactly_when_it_has_too_many_units(text: str, limit: int, places: list[int]) -> None:
    data = text.encode()

    long, short = cut(*split(data + b"\nok\n", places), max_units=limit)

    assert long.dropped == (units_of(data) > limit)
    assert long.size == len(data)
    assert data.startswith(long.data)
    assert (short.data, short.size) == (b"ok", 2)


def test_of_a_dropped_line_only_the_start_is_kept() -> None:
    start = bytes(range(65, 91)) * 200

    (line,) = cut(start[:3_000], start[3_000:], b"x" * 10_000, b"y" * 10_000, b"\n", max_units=6_000)

    assert line == Line(start[:KEPT_OF_A_DROPPED_LINE], len(start) + 20_000, dropped=True)


def test_an_endless_line_takes_no_memory() -> None:
    cutter = LineCutter(max_units=100_000)
    chunk = b"x" * 1_000

    for _ in range(5_000):
        assert not list(cutter.feed(chunk))
    held = sys.getrefcount(chunk)
    (line,) = cutter.feed(b"\n")

    assert held < 10
    assert (line.size, line.dropped) == (5_000_000, True)


def test_the_unfinished_last_line_is_handed_out_once() -> None:
    cutter = LineCutter()
    assert not list(cutter.feed(b"half"))

    assert cutter.finish() == Line(b"half", 4)
    assert cutter.finish() is None
