"""Texts that show what a provider does to text, and scripts that show what arrived, byte for byte.

Sandboxes need `base64` and one of `sha256sum` and `shasum` for it, as they do for the host.
"""

import base64
import hashlib
import random
from collections.abc import Mapping, Sequence

NASTY_TEXTS = (
    "",
    " ",
    "two words",
    " a blank at both ends ",
    "$HOME",
    "${HOME}",
    "$(echo run)",
    "`echo run`",
    "$1 $@ $$",
    "*",
    "?[a-z]",
    "{a,b}",
    "~",
    "a'b\"c",
    "'\"'\"'",
    '\\"',
    "\\",
    "\\\\",
    "\\n",
    "trailing \\",
    "%s %d %%",
    "--",
    "-n",
    "-e",
    "-c",
    "; touch x",
    "&& false",
    "| cat > x",
    "> x < y",
    "#comment",
    "!!",
    "=",
    "a=b=c",
    "line one\nline two",
    "\nframed by line feeds\n",
    "\n",
    "EOF\n",
    "carriage return\r\nand line feed",
    "\ttab\t",
    "\x01\x02\x1b[31m\x7f",
    "\u00e4\u00f6\u00fc \u00df",
    "e\u0301 and \u00e9",
    "\u65e5\u672c\u8a9e",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u2028\u2029\u00a0\ufeff",
    "null",
    '{"json": [1, "two"]}',
)
"""One trap each: quoting, expansion, splitting, options, line ends, control and multi-byte characters."""

_ALPHABET = "abc 012 \t\n\r'\"`$\\*?[]{}()<>|&;!#%=~-_/.,:@^+\x01\x1b\x7f\u00e9\u20ac\u65e5\U0001f600"

_WIDE = "\u20ac\U0001f600"
"""A character of three bytes and one of four: seven, so copies meet every block border at every place inside."""

DIGEST = "if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi"
"""A piece of script that prints the SHA-256 of its input."""

SHOW_ARGUMENTS = "printf '%s\\0' \"$@\" | base64"
"""A script that prints its arguments so that `shown_texts` can read them."""


def random_texts(source: random.Random, count: int) -> tuple[str, ...]:
    """Short texts made of troublesome characters, the same for the same seed."""
    return tuple("".join(source.choices(_ALPHABET, k=source.randint(1, 12))) for _ in range(count))


def show_variables(names: Sequence[str]) -> str:
    """A script that prints variables so that `shown_texts` can read them; one that is not set shows as ``(unset)``."""
    words = " ".join(f'"${{{name}-(unset)}}"' for name in names)
    return f"printf '%s\\0' {words} | base64"


def shown_texts(stdout: str) -> list[str]:
    """What `SHOW_ARGUMENTS` or `show_variables` printed."""
    return shown_input(stdout).split("\0")[:-1]


def shown_input(stdout: str) -> str:
    """What ``base64`` printed of a text; bytes that are no UTF-8 come as lone surrogates, and no base64 as it is."""
    try:
        return base64.b64decode("".join(stdout.split()), validate=True).decode("utf-8", "surrogateescape")
    except ValueError:
        return stdout


def named_variables(texts: Sequence[str]) -> Mapping[str, str]:
    """Each text under a name of its own."""
    return {f"KIT_{number}": text for number, text in enumerate(texts)}


def digest_of(text: str) -> str:
    """What `DIGEST` prints of a text, without the rest of the line."""
    return hashlib.sha256(text.encode()).hexdigest()


def base64_text(source: random.Random, characters: int) -> str:
    """Text as the host's transfer sends it: base64 without line ends; a multiple of four characters."""
    return base64.b64encode(source.randbytes(characters // 4 * 3)).decode()


def wide_text(characters: int) -> str:
    """Multi-byte text behind one single byte."""
    return "x" + _WIDE * (characters // len(_WIDE))


def print_wide_text(characters: int) -> str:
    """A script that prints `wide_text`."""
    return f'awk \'BEGIN {{ printf "x"; for (i = 0; i < {characters // len(_WIDE)}; i++) printf "{_WIDE}" }}\''


def numbered_lines(size: int, mark: str = "") -> str:
    """Numbered lines of 64 bytes, at least `size` bytes in all."""
    rest = f"{mark:.<54}"[:54]
    return "".join(f"{number:08d} {rest}\n" for number in range(-(-size // 64)))


def print_numbered_lines(size: int, mark: str = "") -> str:
    """A script that prints `numbered_lines`."""
    rest = f"{mark:.<54}"[:54]
    return f"awk 'BEGIN {{ for (i = 0; i < {-(-size // 64)}; i++) printf \"%08d {rest}\\n\", i }}'"


def print_in_single_bytes(text: str, pause: str) -> str:
    """A script that writes a text byte by byte, with a pause after each, so that no reader can get it in one piece."""
    return "; ".join(f"printf '\\{byte:03o}'; {pause}" for byte in text.encode())
