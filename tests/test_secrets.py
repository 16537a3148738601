"""Secrets reach no output, in no spelling; and where a provider lets one out, the place is known."""

import base64
import json
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.fixtures.reference.manifest import manifest
from conformance.redact import Form, Hit, Leak, Redactor

from .leaky_provider import KEY, TOKEN, spellings
from .running import run_pytest

SECRET = 'sk_live/4f9A+x "q"&<Ü>0123456789abcdefXYZ'  # noqa: S105 - every character that some encoding changes
LINES = [base64.b64encode(bytes([number]) * 48).decode() for number in range(1, 5)]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "-----END PRIVATE KEY-----", ""])
WRITTEN = ("events.jsonl", "transcript.jsonl", "certification.json", "report.html", "junit.xml", "summary.md")


def test_a_provider_that_says_its_secrets_everywhere_gets_none_into_an_output(tmp_path: Path) -> None:
    provider = shlex.join([sys.executable, "-P", str(Path(__file__).with_name("leaky_provider.py"))])
    (tmp_path / "manifest.json").write_text(json.dumps(manifest()))
    (tmp_path / "conformance.toml").write_text(
        f'[provider]\npass-env = ["{TOKEN}", "{KEY}"]\n[secrets]\ntoken = "{TOKEN}"\n'
        f"[config]\nimage = {json.dumps(SECRET[:30])}\n"
    )
    run = run_pytest(
        tmp_path,
        *("--provider", f"cmd:{provider}", "--provider-manifest", "manifest.json"),
        *("-k", "INIT or HEALTH or PROBE or RPC-003 or LEASE-001 or EXEC-001"),
        *("-rA", "-v", "--showlocals", "--junitxml=own.xml", "-p", "no:cacheprovider"),
        environment={TOKEN: SECRET, KEY: PEM},
    )

    assert run.code == 1, run.output
    assert {each.name for each in run.report.iterdir()} >= set(WRITTEN)
    outputs = {path.name: path.read_bytes() for path in (*run.report.iterdir(), tmp_path / "own.xml")}
    outputs["terminal"] = run.output.encode()
    found = [(name, each) for name, data in outputs.items() for each in _needles() if each in data]
    assert found == []
    for name in (*WRITTEN[:5], "own.xml", "terminal"):
        assert b"[redacted:" in outputs[name], name


def _needles() -> list[bytes]:
    """What would be a leak: the secrets in each spelling, and what base64 leaves of them between other bytes."""
    whole = [each for secret in (SECRET, PEM) for each in spellings(secret)]
    inside = [
        base64.b64encode(bytes(before) + secret.encode() + b"!!!")[4 : (before + len(secret.encode())) * 8 // 6]
        for secret in (SECRET, *LINES)
        for before in range(3)
    ]
    return [*(each.encode() for each in whole if len(each) > 8 and "-----" not in each), *inside]


@pytest.mark.parametrize("text", spellings(SECRET), ids=range(len(spellings(SECRET))))
def test_every_spelling_is_found_and_its_neighbours_stay(text: str) -> None:
    cleaned = Redactor({"token": SECRET})(f"before. {text} .after")

    assert "[redacted:token]" in cleaned
    assert cleaned.startswith("before. ")
    assert cleaned.endswith(" .after")
    rest = cleaned.replace("[redacted:token]", "")
    assert not any(piece in rest for piece in (SECRET[:12], SECRET[-12:]))


def test_a_key_file_is_found_line_by_line_and_in_the_middle() -> None:
    redact = Redactor({"key": PEM})
    assert [redact(line) for line in LINES] == ["[redacted:key]"] * len(LINES)
    assert redact(PEM[60:180]).startswith("[redacted:key]") or "[redacted:key]" in redact(PEM[60:180])
    assert redact("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_what_is_only_like_a_secret_is_left_alone() -> None:
    redact = Redactor({"word": "core", "short": "abc", "token": SECRET})
    for text in ("score", "abc", SECRET[:10], "c2tfbGl2ZS8", "sk_live/4f9a+x"):
        assert redact(text) == text.replace("core", "[redacted:word]")


def test_a_hit_has_its_name_its_form_and_its_place() -> None:
    redact = Redactor({"token": SECRET})
    encoded = base64.b64encode(SECRET.encode()).decode()
    assert redact.hits(f"a {SECRET} b {encoded}") == [
        Hit("token", Form.TEXT, 2, 2 + len(SECRET)),
        Hit("token", Form.BASE64, 5 + len(SECRET), 5 + len(SECRET) + len(encoded)),
    ]
    redact.plant("canary", "canary-7f3a9c")
    answer = {"result": {"a/b": ["x", "id=canary-7f3a9c"], "canary-7f3a9c": 1}, "error": SECRET[:30]}
    assert list(redact.leaks(answer)) == [
        Leak("canary", Form.TEXT, "/result/a~1b/1"),
        Leak("canary", Form.TEXT, "/result/canary-7f3a9c"),
        Leak("token", Form.PART, "/error"),
    ]
    assert list(redact.leaks(redact.json(answer))) == []


def test_a_number_can_be_a_secret() -> None:
    redact = Redactor({"pin": "482913"})
    assert redact.json({"pin": 482913, "other": 4829130}) == {"pin": "[redacted:pin]", "other": 4829130}
    assert [each.place for each in redact.leaks({"pin": 482913})] == ["/pin"]


@given(st.text(max_size=40), st.text(min_size=4, max_size=30), st.text(max_size=40))
def test_redacting_is_done_at_once(before: str, secret: str, after: str) -> None:
    redact = Redactor({"s": secret})
    once = redact(before + secret + after)
    assert secret not in once.replace("[redacted:s]", "")
    assert redact.sees(before + secret + after)
    assert json.loads(json.dumps(redact.json({before: [secret, after]}))) is not None


def test_a_secret_that_is_a_word_of_the_kit_does_not_break_the_report(tmp_path: Path) -> None:
    words = {"A": "pass", "B": "certification", "C": "true", "D": "the_manifest_is_found_and_is_an_object", "E": "2026"}
    names = "".join(f'{name.lower()} = "{name}"\n' for name in words)
    (tmp_path / "conformance.toml").write_text(f"[secrets]\n{names}")
    run = run_pytest(
        tmp_path,
        *("--provider", "reference", "--conformance-file", "conformance.toml", "-k", words["D"]),
        environment=words,
    )
    assert run.code == 20, run.output
    document = json.loads((run.report / "certification.json").read_text())
    assert {check["name"]: check["state"] for check in document["checks"]} == {words["D"]: "pass"}
    assert "[redacted:d]" in json.dumps(document["run"]["argv"])


def test_a_secret_in_the_plain_config_is_kept_out_by_its_place_in_the_schema(tmp_path: Path) -> None:
    run = run_pytest(
        tmp_path, "--provider", "reference", "--provider-config", f'{{"token": "{PEM[30:60]}"}}', "-k", "LEASE-001"
    )
    assert run.code == 20, run.output
    document = json.loads((run.report / "certification.json").read_text())
    assert document["run"]["config"] == {"token": "[redacted:token]"}
    assert [path for path in run.report.iterdir() if PEM[30:60].encode() in path.read_bytes()] == []
