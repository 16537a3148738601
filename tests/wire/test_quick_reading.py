"""Most lines are read by a quicker parser: nothing is seen that the strict one would not see, and nothing is missed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.wire import message
from conformance.wire.message import Message, read_message

LARGE_BYTES = 1 << 18
LARGE = "eHl6" * (LARGE_BYTES // 4 + 1)
LINES = "\\n".join([LARGE[:76]] * (LARGE_BYTES // 76 + 1)) + "\\n"
ANSWER = '{"jsonrpc":"2.0","id":7,"result":{"exitCode":0,"stdout":"%s","stderr":""}}'

ALL_RIGHT = {
    "plain": ANSWER % LARGE,
    "lines": ANSWER % LINES,
    "escapes": ANSWER % (LINES + "\\t\\/\\\\\\u0000\\ud83d\\ude00"),
    "other letters": ANSWER % (LARGE + "\u00e4\u2028\U0001f600\x7f"),
    "two texts": ANSWER % (LARGE + '","stdin":"' + LINES),
    "the same text twice": ANSWER % (LARGE + '","stdin":["' + LARGE + '",{"a":"' + LARGE + '"}],"b":"'),
    "white space around": "\u00a0\ufeff " + ANSWER % LARGE + "\t ",
    "a number too long for Python": ANSWER.replace("0,", "9" * 5_000 + ",") % LARGE,
    "a number beyond all": ANSWER.replace("0,", "1e400,") % LARGE,
    "a key twice": ANSWER % (LARGE + '","stdout":"' + LINES),
    "a key twice, the last one small": ANSWER % (LARGE + '","stdout":"'),
    "a large key": ANSWER % ('","' + LARGE + '":"'),
    "half a surrogate pair": ANSWER % (LARGE + "\\ud800"),
    "quotation marks inside": ANSWER % (LARGE + '\\"' + LARGE + '\\"'),
    "a quotation mark first": ANSWER % ('\\"' + LARGE),
    "a quotation mark last": ANSWER % (LARGE + '\\"'),
}
FLAWED = {
    "a control character": ANSWER % (LARGE + "\x01"),
    "an unknown escape": ANSWER % (LARGE + "\\x"),
    "an end that is escaped": ANSWER % (LARGE + "\\"),
    "no end": (ANSWER % LARGE).rstrip('"}:,redst'),
    "words between texts": ANSWER % ('"' + LARGE + '"'),
    "spaces between texts": ANSWER % ('"' + " " * LARGE_BYTES + '"'),
    "no number": ANSWER.replace("0,", "NaN,") % LARGE,
    "words before it": "noise " + ANSWER % LARGE,
    "two on a line": ANSWER % LARGE + ANSWER % LINES,
    "two in an array": "[" + ANSWER % LARGE + "," + ANSWER % LINES + "]",
    "too deep": ANSWER % (LARGE + '","deep":' + "[" * 500 + "]" * 500 + ',"a":"'),
    "another protocol": (ANSWER % LARGE).replace("2.0", "1.0"),
    "no result": (ANSWER % LARGE).replace("result", "results"),
    "a text alone": f'"{LARGE}"',
}


PIECES = [
    "a",
    "\\",
    "u",
    "d83d",
    "0",
    '"',
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "-",
    ".",
    "e",
    " ",
    "null",
    "true",
    '"a"',
    "\x7f",
]
NUMBERS = [
    "0",
    "-0",
    "-0.0",
    "01",
    "1.",
    ".5",
    "+1",
    "1E5",
    "1e+5",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "2.4703282292062327e-324",
    "1.7976931348623159e308",
    "9007199254740993",
    "9007199254740993.0",
    "9223372036854775807",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "0.1e1000",
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
]


def nothing(_line: bytes) -> None:
    """Stand in for the quicker parser: it refuses everything."""


def strictly(line: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(message, "_read_quickly", nothing)
        return read_message(line)


def shown(reading: tuple[Message | None, object]) -> str:
    """With the type of each number, and the sign of zero: 1, 1.0 and True are equal."""
    return repr(reading)


@pytest.mark.parametrize("name", [*ALL_RIGHT, *FLAWED])
def test_a_line_is_what_it_is_to_the_strict_parser(name: str) -> None:
    line = (ALL_RIGHT | FLAWED)[name].encode()

    found, flaw = read_message(line)

    assert shown((found, flaw)) == shown(strictly(line))
    assert (flaw is None) is (name in ALL_RIGHT)


def test_bytes_that_are_no_text_are_named_by_their_place() -> None:
    line = (ANSWER % (LARGE + "caf.")).encode().replace(b"caf.", b"caf\xe9")

    found, flaw = read_message(line)

    assert (found, flaw) == strictly(line)
    assert flaw is not None
    assert str(line.index(b"\xe9")) in flaw.problem


@pytest.mark.parametrize("number", [*NUMBERS, "9" * 5_000])
def test_a_number_is_what_it_is_to_the_strict_parser(number: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":7,"result":[{number},{{"a":{number}}}]}}'.encode()

    assert shown(read_message(line)) == shown(strictly(line))


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.booleans(), st.binary(max_size=3))
def test_whatever_stands_in_a_line_is_what_it_is_to_the_strict_parser(inner: str, quoted: bool, end: bytes) -> None:  # noqa: FBT001
    text = f'"{inner}"' if quoted else inner
    line = f'{{"jsonrpc":"2.0","id":7,"result":{text}'.encode() + b"}" + end

    assert shown(read_message(line)) == shown(strictly(line))


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_is_what_it_is_to_the_strict_parser(number: float) -> None:
    line = f'{{"jsonrpc":"2.0","id":7,"result":{number!r}}}'.encode()

    assert shown(read_message(line)) == shown(strictly(line))


@pytest.mark.parametrize("count", [1, 10_000, 100_000])
def test_many_values_are_read_as_well(count: int) -> None:
    line = ('{"jsonrpc":"2.0","id":7,"result":[' + ",".join(["[1]"] * count) + "]}").encode()

    assert shown(read_message(line)) == shown(strictly(line))
