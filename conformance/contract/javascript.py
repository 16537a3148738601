"""Facts of JavaScript that decide what the host accepts, where Python would decide otherwise."""

import re
from functools import cache

_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_ISO = re.compile(
    r"(?P<year>\d{4}|\+\d{6}|-(?!000000)\d{6})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
    r"(?:[Tt ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>\.\d+)?)?"
    r"(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)?",
    re.ASCII,
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH_NAME = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?"
_ZONE = r"(?:UTC|GMT|Z|(?:GMT)?[+-](?:[01]\d|2[0-3]):?[0-5]\d(?: UTC)?)"
_SPELLED = re.compile(
    rf"(?:[A-Z][a-z]{{2}},? )?(?:{_DAY} {_MONTH_NAME}|{_MONTH_NAME} {_DAY},?) \d{{4}}"
    rf"(?: {_CLOCK}(?: {_ZONE})?)?(?: \(.*\))?"
    rf"|[A-Z][a-z]{{2}} {_MONTH_NAME} {_DAY} {_CLOCK} (?:UTC|GMT) \d{{4}}"
    rf"|\d{{4}}[-/](?:0[1-9]|1[0-2])[-/]{_DAY} {_CLOCK}(?: {_ZONE})?",
    re.ASCII,
)
_LARGEST_YEAR = 275_759  # the last year that JavaScript's range of times holds as a whole
_BASIC_PLANE_END = 0xFFFF  # a character beyond takes two units
_MONTHS, _DAYS, _HOURS, _SIXTY = 12, 31, 24, 60


def length_in_units(text: str) -> int:
    """Length as JavaScript counts it: UTF-16 units, so that most emoji count twice."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if ord(character) > _BASIC_PLANE_END)


def trimmed(text: str) -> str:
    """The text without the white space that `String.prototype.trim` removes; Python strips other characters."""
    return text.strip(_WHITESPACE)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    r"""A JavaScript pattern without flags as a Python one.

    `$` matches at the very end only, `\d` and `\w` are ASCII, and `\s` is JavaScript's white space.
    """
    parts: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        piece = pattern[position : position + 2] if pattern[position] == "\\" else pattern[position]
        position += len(piece)
        if piece == r"\s":
            parts.append(_WHITESPACE if in_class else f"[{_WHITESPACE}]")
        elif piece == "$" and not in_class:
            parts.append(r"\Z")
        else:
            in_class = (in_class or piece == "[") and piece != "]"
            parts.append(piece)
    return re.compile("".join(parts), re.ASCII)


def is_number(value: object) -> bool:
    """Whether a parsed JSON value is a finite number for JavaScript: booleans are not, nor what overflows a double."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return abs(float(value)) != float("inf")
    except OverflowError:
        return False


def is_integer(value: object) -> bool:
    """Whether `Number.isInteger` holds: ``1.0`` is an integer, because JSON has one kind of number."""
    return is_number(value) and isinstance(value, int | float) and (isinstance(value, int) or value.is_integer())


def is_date(text: str) -> bool:
    """Whether JavaScript's `Date` reads the text: an ISO form, or one in which programs usually spell a date.

    V8 finds a date in nearly any text that holds a digit; such luck is not taken for a date here.
    """
    match = _ISO.fullmatch(text)
    if match is None:
        return _SPELLED.fullmatch(text) is not None
    month, day = int(match["month"] or 1), int(match["day"] or 1)
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if abs(int(match["year"])) > _LARGEST_YEAR or not 1 <= month <= _MONTHS or not 1 <= day <= _DAYS:
        return False
    if hour == _HOURS:
        return minute == second == 0 and not (match["fraction"] or "").strip(".0")
    return hour < _HOURS and minute < _SIXTY and second < _SIXTY
