"""Text as a hostile provider would send it, and the characters of it that must reach no output."""

import json
from pathlib import Path

from conformance.model import Json, State

from .builder import Script, header

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x9b31mred\x1b[0m\r\nok\x00\x08\u202egnp.exe\u2066\ud800<script>&\"'</title>" + "A" * 9_000
)
"""Screen wipe, window title, C1 colour, NUL, backspace, reversed text, half a character, mark-up, and length."""

FORBIDDEN = [chr(each) for each in (*range(9), *range(11, 32), *range(0x7F, 0xA0), 0x202E, 0x2066, 0xD800)]
"""Everything above that acts on a terminal or cannot be encoded; tab and line feed are layout."""

MARKUP = (
    "<script>window.owned=1;alert(1)</script><img src=//evil.example/x onerror=window.owned=1>"
    "</style></script></title></pre></bdi></details><svg onload=window.owned=1>"
    "\"' onmouseover=window.owned=1 x='<a href=javascript:window.owned=1>&lt;b&gt; {{ 7*7 }} {% raw %} <!-- ]]>"
)
"""Ways out of every place a page could put a text in, and a template inside it."""

HUGE = MARKUP + "\u05e9\u05dc\u05d5\u05dd \u202e" + HOSTILE + "W" * 1_000_000
"""The same, right to left, and a megabyte long without a single space."""


def hostile_run(text: str = HUGE) -> Script:
    """Make a run in which every text that can come from outside is hostile."""
    limit: Json = {"value": 1, "unit": text, "default": 2, "changed": True}
    script = Script(
        header(started=text, config={text: text}, argv=[text], custom=[text], limits={text: limit}, id=text, os=text)
    )
    script.top["subject"] = {
        **dict.fromkeys(("source", "name", "version", "driver_key", "purl", "plugin_id", "kind"), text),
        **{f"{kind}_digest": text for kind in ("tarball", "tree", "manifest", "worker")},
    }
    script.top["revision"] = {"id": text, "digest": text}
    script.top["kit"] = {"name": text, "version": text, "digest": text}
    script.top["coverage"] = {"tested": [text], "not_observable": {"A" + text: text}, "not_yet": [text]}
    script.declared(reusableLeases=True).advertised(text)
    script.lines[0][1]["problems"] = [{"path": text, "rule": text, "requirement": text, "message": text}]
    script.add("fault", kind=text, detail=text)
    for state in (State.FAIL, State.WARN, State.ENV_ERROR, State.PASS):
        script.check("LEASE-028", state, name=f"{state}{text}", blame="provider", frames=[11, 12])
        for key in ("reason", "expected", "observed", "sent", "advice", "replay", "blocked_by"):
            script.lines[-1][1][key] = text
        script.lines[-2][1].update(expected=text, observed=text)
    script.add("observation", id="LEASE-001", name=text, expected=text, observed=text, holds=False, violates=text)
    return script


def hostile_transcript(path: Path) -> None:
    """Write a transcript in which both lines are hostile, one as JSON and one as text."""
    lines = [
        {"frame": 11, "t": 0.1, "worker": 1, "dir": HUGE, "bytes": 9, "msg": {HUGE: [HUGE]}},
        {"frame": 12, "t": 0.2, "worker": 1, "dir": "worker->host", "bytes": 9, "text": HUGE},
    ]
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines), encoding="ascii")
