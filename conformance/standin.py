"""A stand-in for the login tool: a script of the kit that the provider starts under the tool's name.

It is put where commands of the sandbox find the tool, or to `~/.local/bin`, where its own installer puts it. What a
body does is up to the check; all of them run in an empty directory of their own, and note there how they were called.
"""

from conformance.overlap import PAUSE_S
from conformance.steps import quote

CALLED = "called"
"""Holds the arguments of each call, a line a call."""

READY = "ready"
"""Made by a body as soon as it listens."""

TYPED = "typed"
"""Made by `take_keys` when all keys have arrived."""

TICKS = "ticks"
"""Grows as long as a body of `ticking` lives."""

TERMINAL = "terminal"
"""Made by `take_keys` when both ends are a terminal."""

WAITS = f": > {READY}; read -r line; exit 0"
"""Wait for a line."""

ENDS = "exit 0"
"""Be gone at once."""

_LONGEST_S = 120
"""How long a body that waits for nothing lives (our choice: nobody may end it)."""

_TOOL = """\
#!/bin/sh
# A stand-in for the login tool. The provider conformance kit put it here, and takes it away again.
cd {folder} || exit 9
printf '%s\\n' "$*" >> {called}
{body}
"""

_PLACE = """\
mkdir -p {folder} && cd {folder} && cat > tool && [ -s tool ] && chmod 755 tool || exit 1
place() {{ mkdir -p "${{1%/*}}" && cp tool "$1" && printf '%s\\n' "$1" >> placed; }}
own="${{HOME-}}/.local/bin/claude"
[ ! -d "${{HOME-}}" ] || [ -e "$own" ] || [ -L "$own" ] || place "$own"
found=$(command -v claude)
if [ -n "$found" ] && ! {{ [ -e placed ] && [ "$found" = "$own" ]; }} && [ {may_replace} = yes ]; then
  mv "$found" "$found.kit-aside" && place "$found"
fi
command -v claude || echo
cat placed 2> /dev/null
:
"""

_REMOVE = """\
cd {folder} && [ -e placed ] && while read -r each; do
  rm -f "$each"
  if [ -e "$each.kit-aside" ] || [ -L "$each.kit-aside" ]; then mv "$each.kit-aside" "$each"; fi
done < placed
cd / && rm -rf {folder}
"""


LOOK = """\
[ -d "${HOME-}" ] || echo no home
case "
$(env)" in *"
PATH="*) ;; *) echo no PATH ;; esac
[ -e "${HOME-}/.local/bin/claude" ] || echo not kept
[ ! -e "${HOME-}/.local/bin/claude" ] || [ -x "${HOME-}/.local/bin/claude" ] || echo no program
"""
"""A script for when commands do not find what was just put there: it prints what other rules promise and is missing."""

BLOCKING = {"no home": "EXEC-011", "no PATH": "EXEC-011", "not kept": "EXEC-026", "no program": "FALL-001"}
"""The rules that those are about."""


def tool(folder: str, body: str) -> str:
    """The text of the stand-in."""
    return _TOOL.format(folder=quote(folder), called=CALLED, body=body)


def place(folder: str, *, may_replace: bool) -> str:
    """A script that takes the stand-in from its input. It prints where commands find the tool, then where it was put.

    Unless it `may_replace` a tool that is there, it leaves that alone.
    """
    return _PLACE.format(folder=quote(folder), may_replace="yes" if may_replace else "no")


def remove(folder: str) -> str:
    """A script that takes the stand-in away, and puts back what it replaced."""
    return _REMOVE.format(folder=quote(folder))


def ticking(*, deaf: bool = False) -> str:
    """A body that ticks until it is ended; a hangup does not end one that is `deaf`."""
    trap = "trap '' HUP\n" if deaf else ""
    tick = f"echo >> {TICKS}; n=$((n+1)); sleep {PAUSE_S}"
    return f"{trap}n=0; while [ $n -lt {round(_LONGEST_S / PAUSE_S)} ]; do {tick}; done"


def until_quiet() -> str:
    """A script that prints whether the ticks have stopped; it looks for five seconds at most."""
    return (
        f"i=0; while [ $i -lt 10 ]; do a=$(wc -c < {TICKS}); sleep 0.5; b=$(wc -c < {TICKS}); "
        "[ $a -eq $b ] && echo ended && exit 0; i=$((i+1)); done; echo 'still running'"
    )


def take_keys(raw: int, plain: int) -> str:
    """A body that writes so many bytes of what is typed to ``keys``.

    On ``how`` it says which it takes: ``raw`` keys, every one of them, or ``plain`` ones where no `stty` is found.
    """
    return f"""\
[ -t 0 ] && [ -t 1 ] && : > {TERMINAL}
if stty raw -echo 2> /dev/null; then how=raw count={raw}; else how=plain count={plain}; fi
echo $how > how
: > {READY}
dd bs=1 count=$count of=keys 2> /dev/null
: > {TYPED}"""
