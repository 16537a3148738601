"""Texts that are read apart from their line: nothing is seen that reading the line as a whole would not see."""

import json
from typing import Any

import pytest

from conformance.wire import message
from conformance.wire.message import read_message
from conformance.wire.texts import LARGE_BYTES, put_back, without_large_texts

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


def as_a_whole(line: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(message, "LARGE_BYTES", len(line))
        return read_message(line)


@pytest.mark.parametrize("name", [*ALL_RIGHT, *FLAWED])
def test_a_line_is_what_it_is_as_a_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = (ALL_RIGHT | FLAWED)[name].encode()

    found, flaw = read_message(line)

    assert (found, flaw) == as_a_whole(line, monkeypatch)
    assert (flaw is None) is (name in ALL_RIGHT)


def test_bytes_that_are_no_text_are_named_by_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    line = (ANSWER % (LARGE + "caf.")).encode().replace(b"caf.", b"caf\xe9")

    found, flaw = read_message(line)

    assert (found, flaw) == as_a_whole(line, monkeypatch)
    assert flaw is not None
    assert str(line.index(b"\xe9")) in flaw.problem


def test_what_transfers_bring_is_read_apart() -> None:
    line = (ANSWER % LINES).encode()

    rest, texts = without_large_texts(line)

    assert len(rest) < 200
    assert list(texts.values()) == [LINES.replace("\\n", "\n")]
    assert put_back(json.loads(rest), texts) == json.loads(line)


def test_a_line_of_small_texts_is_left_alone() -> None:
    line = json.dumps(["a"] * LARGE_BYTES + [LARGE]).encode()

    assert without_large_texts(line) == (line, {})


def test_a_mark_that_is_not_a_value_of_its_own_is_noticed() -> None:
    texts = {"mark": "text"}

    assert put_back({"a": ["mark", 1, None]}, texts) == {"a": ["text", 1, None]}
    assert put_back({"mark": 1}, texts) is None
    assert put_back({"a": "a mark"}, texts) is None
    assert put_back({"a": "mark", "b": "mark"}, texts) is None
