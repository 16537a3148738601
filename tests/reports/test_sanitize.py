"""Provider text is hostile: what is printed neither acts on a terminal nor fills it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.reports.sanitize import clean, clean_json, one_line

from .hostile import FORBIDDEN, HOSTILE


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain \u00fc\u4e2d \U0001f600", "plain \u00fc\u4e2d \U0001f600"),
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07clip", "clip"),
        ("\x1bP1$r\x1b\\\x1b_apc\x1b\\x", "x"),
        ("\x9b2Jwiped", "wiped"),
        ("\x1b]0;no end", "0;no end"),
        ("\x1b(Bset\x1bcreset", "setreset"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("tab\tline\n", "tab\tline\n"),
        ("a\x00\x07\x08\x7f\x85b", "a\nb"),
        ("\u202eevil\u2066\u200f\u00ad\ufeff", "evil"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_control_sequences_are_gone(text: str, left: str) -> None:
    assert clean(text) == left


def test_long_text_is_cut_with_a_note() -> None:
    assert clean("x" * 10, 10) == "x" * 10
    assert clean("x" * 12, 10) == "x" * 10 + " [... 2 more characters]"
    assert clean("x" * 1_000_000, 10) == "x" * 10 + " [... 999990 more characters]"


def test_one_line_has_no_line_ends() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"


def test_json_is_cleaned_inside_and_out() -> None:
    assert clean_json({"\x1b[1mk": ["\x00v", 1, 1.5, True, None, {"n": "\u202e"}]}) == {
        "k": ["v", 1, 1.5, True, None, {"n": ""}]
    }


def test_the_hostile_text_is_harmless() -> None:
    assert not [each for each in FORBIDDEN if each in clean(HOSTILE)]


@given(st.text(st.sampled_from("\x1b\x9b[]P;0m\\\x07ab\u202e\n"), max_size=200))
def test_no_mixture_of_sequences_leaves_one_behind(text: str) -> None:
    left = clean(text)
    assert not [each for each in FORBIDDEN if each in left]
    assert clean(left) == left
