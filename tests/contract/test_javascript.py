"""Facts of JavaScript, each measured on a real Node."""

import pytest

from conformance.contract import javascript


@pytest.mark.parametrize(("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("\U0001f600", 2), ("\ud800", 1)])
def test_length_counts_utf_16_units(text: str, units: int) -> None:
    assert javascript.length_in_units(text) == units


@pytest.mark.parametrize(
    ("text", "trimmed"),
    [
        (" a\n", "a"),
        ("\ufeffa\u00a0\u2029", "a"),
        ("\x1ca\x1f", "\x1ca\x1f"),
        ("\x85a", "\x85a"),
        ("\u200ba", "\u200ba"),
    ],
)
def test_trim_knows_other_white_space_than_python(text: str, trimmed: str) -> None:
    assert javascript.trimmed(text) == trimmed


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\d$", "7", True),
        (r"^\d$", "\u0667", False),
        (r"a\s+b", "a\ufeff\u00a0b", True),
        (r"a\sb", "a\x1cb", False),
        (r"^[^\s]$", "\u2003", False),
        (r"^\$[$]$", "$$", True),
    ],
)
def test_patterns(pattern: str, text: str, *, matches: bool) -> None:
    assert (javascript.compiled(pattern).search(text) is not None) is matches


@pytest.mark.parametrize(
    ("value", "number", "integer"),
    [
        (1, True, True),
        (1.0, True, True),
        (1.5, True, False),
        (True, False, False),
        ("1", False, False),
        (None, False, False),
        (10**400, False, False),
        (float("inf"), False, False),
        (2**60, True, True),
    ],
)
def test_numbers(value: object, *, number: bool, integer: bool) -> None:
    assert javascript.is_number(value) is number
    assert javascript.is_integer(value) is integer


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30T12:00:00Z",
        "2026-11-30T12:00:00.123456789+02:00",
        "2026-11-30",
        "2026",
        "2026-11-30T24:00:00Z",
        "2026-02-30",
        "2026-11-30 12:00:00+0000",
        "2026-11-30 12:00:00 UTC",
        "+010000-01-01T00:00:00Z",
        "Mon, 30 Nov 2026 12:00:00 GMT",
        "Mon Nov 30 2026 12:00:00 GMT+0000 (Coordinated Universal Time)",
    ],
)
def test_dates_that_javascript_reads(text: str) -> None:
    assert javascript.is_date(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "1796040000",
        "2026-13-01",
        "2026-02-32",
        "2026-11-30T24:00:01Z",
        "2026-11-30T12:60:00Z",
        "2026-11-30T12:00:00,5Z",
        "2026-11-30T12:00:00+24:00",
        "20261130T120000Z",
        "2026-W48-1",
        "-000000-01-01",
        "+275761-01-01T00:00:00Z",
        "Mon, 99 Nov 2026 12:00:00 GMT",
    ],
)
def test_texts_that_are_no_dates(text: str) -> None:
    assert not javascript.is_date(text)
