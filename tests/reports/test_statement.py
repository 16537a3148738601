"""The statement says what the report says, and a signature holds for exactly what was signed."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from conformance.cli import main
from conformance.errors import UsageFault
from conformance.model import State
from conformance.reports import statement
from conformance.reports.dsse import SignatureRefused, opened, sign

from .builder import Script, bad_run, good_run

MAKERS = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
}


def stated(script: Script) -> dict[str, Any]:
    text = statement.render(script.report(), b"certification")
    assert text is not None
    return json.loads(text)


def key_pair(folder: Path, kind: str = "ed25519", password: bytes | None = None) -> tuple[Path, Path]:
    key = MAKERS[kind]()
    locked = NoEncryption() if password is None else BestAvailableEncryption(password)
    private, public = folder / f"{kind}.pem", folder / f"{kind}.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


@pytest.mark.parametrize(
    ("script", "result"),
    [(good_run(), "PASSED"), (bad_run(), "FAILED"), (good_run(custom=["-k LEASE"]), "FAILED"), (Script(), "FAILED")],
    ids=["certified", "failed", "custom", "empty"],
)
def test_only_a_certified_run_has_passed(script: Script, result: str) -> None:
    assert stated(script)["predicate"]["result"] == result


def test_a_broken_should_is_a_warning() -> None:
    predicate = stated(good_run().check("RPC-050", State.WARN, name="another"))["predicate"]
    assert predicate["result"] == "WARNED"
    assert predicate["warnedTests"] == ["RPC-050"]


def test_only_the_digest_of_a_tarball_is_called_by_its_plain_name() -> None:
    assert stated(good_run())["subject"][0]["digest"] == {"sha256-tree": "a" * 64}
    script = good_run()
    script.top["subject"] = {"name": "@acme/sandbox", "version": "1.2.0", "tarball_digest": "sha256:" + "f" * 64}
    assert stated(script)["subject"] == [{"name": "@acme/sandbox 1.2.0", "digest": {"sha256": "f" * 64}}]


def test_nothing_is_stated_about_a_provider_without_a_digest() -> None:
    script = good_run()
    script.top["subject"] = {"source": "cmd:worker"}
    assert statement.render(script.report(), b"") is None


@pytest.mark.parametrize("kind", MAKERS)
def test_what_was_signed_comes_back(tmp_path: Path, kind: str) -> None:
    private, public = key_pair(tmp_path, kind)
    assert opened(json.loads(sign(b"statement", private)), public) == b"statement"


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    private, _ = key_pair(tmp_path)
    envelope = json.loads(sign(b"statement", private))
    _, public = key_pair(tmp_path)
    with pytest.raises(SignatureRefused):
        opened(envelope, public)


def test_no_character_of_an_envelope_is_free(tmp_path: Path) -> None:
    private, public = key_pair(tmp_path)
    envelope = json.loads(sign(b'{"a": 1}', private))
    text = json.dumps(envelope)
    for place, character in enumerate(text):
        for other in "Ax9=+ ":
            edited = text[:place] + other + text[place + 1 :]
            try:
                value = json.loads(edited)
            except ValueError:
                continue
            if character == other or value == envelope:
                continue
            with pytest.raises(SignatureRefused):
                opened(value, public)


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"payload": 1, "payloadType": [], "signatures": {}},
        {"payload": "", "payloadType": statement.PAYLOAD_TYPE, "signatures": []},
        {"payload": "", "payloadType": statement.PAYLOAD_TYPE, "signatures": [{"keyid": "x", "sig": "\u00fc"}]},
    ],
)
def test_what_is_no_envelope_is_refused(tmp_path: Path, envelope: dict[str, Any]) -> None:
    with pytest.raises(SignatureRefused):
        opened(envelope, key_pair(tmp_path)[1])


def test_bad_keys_are_usage_errors(tmp_path: Path) -> None:
    private, public = key_pair(tmp_path, password=b"secret")
    for call in (
        lambda: sign(b"", private),
        lambda: sign(b"", private, "wrong"),
        lambda: sign(b"", public),
        lambda: sign(b"", tmp_path / "none"),
        lambda: opened({}, private),
    ):
        with pytest.raises(UsageFault, match="PEM"):
            call()


def test_the_command_signs_what_the_stream_says_and_not_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, public = key_pair(tmp_path, password=b"secret")
    good_run().write(tmp_path / "events.jsonl")
    (tmp_path / "certification.json").write_text("{}")
    monkeypatch.setenv("KEY_PASSWORD", "secret")
    command = ["sign", str(tmp_path), "--key", str(private), "--password-env", "KEY_PASSWORD"]
    assert main(command) == 0
    envelope = json.loads((tmp_path / "statement.dsse.json").read_text())
    payload = opened(envelope, public)
    assert payload == (tmp_path / "statement.json").read_bytes() == base64.b64decode(envelope["payload"])
    assert json.loads(payload)["predicate"]["result"] == "PASSED"
    monkeypatch.delenv("KEY_PASSWORD")
    assert main(command) == 4
