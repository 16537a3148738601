"""Text that came from a provider, made fit to print: no control sequences, no tricks of direction, not endless."""

import re
from collections.abc import Mapping

from conformance.model import Json

DEFAULT_LIMIT = 4_000
"""Characters kept of one text in a document: our choice, long enough for a stack trace."""

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI as one C1 character
    # OSC and the string sequences: titles, links, clipboard. Bounded, so that many unfinished ones stay linear.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,512}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"  # the remaining two-character sequences
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # bidi controls and what has no width
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
    "\ufdd0-\ufdef\ufffe\uffff]"  # no characters at all; XML refuses the last two
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str, limit: int = DEFAULT_LIMIT) -> str:
    """Strip control sequences and cut to `limit` characters, with a note of how many are gone."""
    # Cut roughly first: a sequence is never worth more than what it hides, and 128 MiB must not be searched.
    head = text[: limit * 4]
    head = _ANSI.sub("", head)
    head = _LINE_ENDS.sub("\n", head)
    head = _INVISIBLE.sub("", head)
    head = _SURROGATE.sub("\ufffd", head)
    dropped = max(len(head) - limit, 0) + max(len(text) - limit * 4, 0)
    return f"{head[:limit]} [... {dropped} more characters]" if dropped else head


def one_line(text: str, limit: int = DEFAULT_LIMIT) -> str:
    """Clean the text and put it on one line: every run of white space becomes one space."""
    return " ".join(clean(text, limit).split())


def clean_json(value: Json, limit: int = DEFAULT_LIMIT) -> Json:
    """Clean every text in a JSON value, keys too."""
    if isinstance(value, str):
        return clean(value, limit)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {clean(key, limit): clean_json(each, limit) for key, each in value.items()}
    return [clean_json(each, limit) for each in value]
