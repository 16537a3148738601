"""However a message is put on the line, it is the same JSON in ASCII."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.model import Json
from conformance.wire.encode import LARGE_BYTES, encode

PLAIN = "abcXYZ019+/0" * (LARGE_BYTES // 12 + 1)


@pytest.mark.parametrize("extra", ["", "=", "=abc", '"', "\\", "\n", "\x00", "\x7f", "\u00e4", "\u2028", "\ud800", " "])
def test_a_large_text_is_what_it_would_be_otherwise(extra: str) -> None:
    text = PLAIN[:1_000] + extra + PLAIN
    message: dict[str, Json] = {"id": 1, "params": {"a": [1], "stdin": text, "other": text, "z": None}, "beside": text}

    line = encode(message)

    assert line == json.dumps(message, separators=(",", ":")).encode()
    assert line.isascii()


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers() | st.lists(st.text())))
def test_small_messages_are_json(params: dict[str, Json]) -> None:
    assert json.loads(encode({"params": params})) == {"params": params}


def test_params_may_be_anything() -> None:
    values: list[Json] = [None, PLAIN, [PLAIN], 7]

    assert [json.loads(encode({"params": value}))["params"] for value in values] == values


def test_numbers_that_json_has_no_word_for_are_written_as_the_host_writes_them() -> None:
    beyond = json.loads("1e400")

    line = encode({"params": {"a": [beyond, {"b": -beyond}], "stdin": PLAIN, "c": 1.5}})

    assert json.loads(line)["params"] == {"a": [None, {"b": None}], "stdin": PLAIN, "c": 1.5}
