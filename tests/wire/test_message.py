"""What a line is to the host, told by its shape; and what the lines that are no message break."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.model import Json
from conformance.wire.message import DEEPEST, MOST_STARTS, SEARCHED, Message, Shape, read_message

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
KEYS = st.sampled_from(["id", "method", "result", "error", "params", "other"])
ANSWER = '{"jsonrpc":"2.0","id":7,"result":null}'


def flaw_of(text: str | bytes) -> tuple[str | None, int]:
    """The rule that a line breaks, and how many messages are lost with it."""
    _, flaw = read_message(text.encode() if isinstance(text, str) else text)
    return (None, 0) if flaw is None else (flaw.requirement, len(flaw.lost))


def shape_of(text: str) -> Shape | None:
    message, _ = read_message(text.encode())
    return None if message is None else message.shape


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ({"id": 1, "result": None}, Shape.ANSWER),
        ({"id": 1, "error": None}, Shape.ANSWER),
        ({"id": None, "error": {}}, Shape.ANSWER),
        ({"id": "1", "result": 1, "error": {}}, Shape.ANSWER),
        ({"id": 1, "result": 1, "method": "both"}, Shape.ANSWER),
        ({"id": 1, "method": "ask"}, Shape.REQUEST),
        ({"id": "a", "method": "ask", "params": {}}, Shape.REQUEST),
        ({"id": 0, "method": "ask"}, Shape.REQUEST),
        ({"method": "tell"}, Shape.NOTIFICATION),
    ],
)
def test_the_first_shape_that_fits_counts(body: dict[str, Json], shape: Shape) -> None:
    whole = {"jsonrpc": "2.0", **body}

    assert read_message(json.dumps(whole).encode()) == (Message(shape, whole), None)


@pytest.mark.parametrize("blank", ["", " ", "\t \r", "\v\f", "\ufeff", "\u2028\u00a0\u3000"])
def test_a_line_of_white_space_is_nothing(blank: str) -> None:
    assert read_message(blank.encode()) == (None, None)


@pytest.mark.parametrize("around", ["{}\r", "  {}\t", "\ufeff{}", "\u2029{}\u00a0"])
def test_what_the_host_trims_away_breaks_nothing(around: str) -> None:
    assert shape_of(around.replace("{}", ANSWER)) is Shape.ANSWER
    assert flaw_of(around.replace("{}", ANSWER)) == (None, 0)


def test_exotic_line_ends_inside_a_message_are_no_line_ends_here() -> None:
    assert shape_of('{"jsonrpc":"2.0","id":7,"result":"a\u2028b\u2029c\x85d"}') is Shape.ANSWER


@pytest.mark.parametrize(
    ("line", "requirement", "lost"),
    [
        # RPC-001: not one whole JSON object
        ('{"jsonrpc":"2.0","id":7,', "RPC-001", 0),
        ('  "jsonrpc": "2.0",', "RPC-001", 0),
        ('{"jsonrpc":"2.0","id":7,"result":NaN}', "RPC-001", 0),
        ('{"jsonrpc":"2.0","id":7,"result":-Infinity}', "RPC-001", 0),
        ('{"jsonrpc":"2.0","id":7,"result":"a\tb"}', "RPC-001", 0),
        (f"[{ANSWER},{ANSWER}]", "RPC-001", 2),
        (f"[{ANSWER}]", "RPC-001", 1),
        # RPC-002: other text beside a message
        (f"Loading... {ANSWER}", "RPC-002", 1),
        (f"{ANSWER} done", "RPC-002", 1),
        (f"{ANSWER}{ANSWER}", "RPC-002", 2),
        (f"\x1b[2K{ANSWER}", "RPC-002", 1),
        (f'{{"level":30}}{ANSWER}', "RPC-002", 1),
        (f"{{broken {{}} {ANSWER}", "RPC-002", 1),
        # RPC-003: no message at all
        ("Server listening on 8080", "RPC-003", 0),
        ("{", "RPC-003", 0),
        ("null", "RPC-003", 0),
        ("3", "RPC-003", 0),
        ("[]", "RPC-003", 0),
        ('{"level":"info","id":3,"method":"GET"}'.replace('"id":3,', ""), "RPC-003", 0),
        ('{"jsonrpc":"2.0"}', "RPC-003", 0),
        ('{"jsonrpc":"2.0","id":null}', "RPC-003", 0),
        ('{"jsonrpc":"2.0","id":null,"method":"tell"}', "RPC-003", 0),
        # RPC-004: a message of another protocol, or of none
        ('{"id":7,"result":1}', "RPC-004", 1),
        ('{"jsonrpc":"1.0","id":7,"result":1}', "RPC-004", 1),
        ('{"jsonrpc":2.0,"id":7,"result":1}', "RPC-004", 1),
        ('{"method":"log","params":{}}', "RPC-004", 1),
        ('{"method":"ask","id":1}', "RPC-004", 1),
        # RPC-006: an answer without an answer
        ('{"jsonrpc":"2.0","id":7}', "RPC-006", 1),
        ('{"jsonrpc":"2.0","id":7,"value":1}', "RPC-006", 1),
    ],
)
def test_a_line_that_is_no_message_breaks_one_rule(line: str, requirement: str, lost: int) -> None:
    assert shape_of(line) is None
    assert flaw_of(line) == (requirement, lost)


def test_bad_bytes_break_a_rule_and_the_message_is_read_nevertheless() -> None:
    message, flaw = read_message(b'{"jsonrpc":"2.0","id":7,"result":"caf\xe9"}')

    assert message is not None
    assert message.body["result"] == "caf\ufffd"
    assert flaw is not None
    assert (flaw.requirement, flaw.problem) == ("RPC-001", "a line is not UTF-8 at byte 37")


def test_a_problem_shows_only_the_start_of_a_line() -> None:
    _, flaw = read_message(b"noise " * 10_000)

    assert flaw is not None
    assert len(flaw.problem) < 200


def test_a_number_of_any_length_is_read_as_the_host_reads_it() -> None:
    message, flaw = read_message(b'{"jsonrpc":"2.0","id":7,"result":[' + b"9" * 5000 + b",1]}")

    assert flaw is None
    assert message is not None
    assert message.body["result"] == [float("inf"), 1]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_what_is_nested_as_deep_as_is_read_can_be_shown_and_sent_again(opening: str, closing: str) -> None:
    around = '{"jsonrpc":"2.0","id":7,"result":%s1%s}'
    fine, _ = read_message((around % (opening * (DEEPEST - 1), closing * (DEEPEST - 1))).encode())

    assert fine is not None
    assert json.loads(json.dumps(fine.body)) == fine.body
    assert repr(fine.body)
    assert flaw_of(around % (opening * DEEPEST, closing * DEEPEST)) == ("RPC-001", 0)


def test_deep_nesting_is_a_bad_line_and_no_crash() -> None:
    assert flaw_of('{"jsonrpc":"2.0","id":7,"result":' + "[" * 200_000) == ("RPC-001", 0)
    assert flaw_of("[" * 200_000) == ("RPC-003", 0)


def test_the_search_inside_a_bad_line_is_bounded() -> None:
    assert flaw_of("{ " * MOST_STARTS + ANSWER) == ("RPC-001", 0)
    assert flaw_of("x" * SEARCHED + ANSWER) == ("RPC-001", 0)


@given(st.dictionaries(KEYS, VALUES), st.sampled_from(["2.0", "1.0", None]))
def test_every_object_is_a_message_or_breaks_exactly_one_rule(body: dict[str, Json], version: str | None) -> None:
    whole = body if version is None else {"jsonrpc": version, **body}

    message, flaw = read_message(json.dumps(whole).encode())

    assert (message is None) != (flaw is None)
    assert message is None or (message.body == whole and version == "2.0")


@given(st.binary())
def test_no_bytes_crash_the_reader(data: bytes) -> None:
    message, flaw = read_message(data)

    assert message is None or message.body["jsonrpc"] == "2.0"
    assert flaw is None or flaw.requirement.startswith("RPC-")
