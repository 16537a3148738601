"""Text as a hostile provider would send it, and the characters of it that must reach no output."""

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x9b31mred\x1b[0m\r\nok\x00\x08\u202egnp.exe\u2066\ud800<script>&\"'</title>" + "A" * 9_000
)
"""Screen wipe, window title, C1 colour, NUL, backspace, reversed text, half a character, mark-up, and length."""

FORBIDDEN = [chr(each) for each in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0xD800)]
"""Everything above that acts on a terminal or cannot be encoded; tab and line feed are layout."""
