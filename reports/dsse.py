"""Signing a statement with a key file, and checking such a signature: a DSSE envelope around the statement's bytes.

securesystemslib is the library that in-toto and TUF are built on. It is an extra of the distribution, because only
those who sign or check signatures need it; import this module where that is asked for.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as LibraryError
from securesystemslib.signer import CryptoSigner, SSlibKey  # pyright: ignore[reportPrivateImportUsage] their public place

from conformance.errors import UsageFault
from conformance.model import Json, JsonObject
from conformance.reports.statement import PAYLOAD_TYPE

_KINDS: Final = "Ed25519, ECDSA on P-256 or P-384, or RSA"
_ENVELOPE: Final[Any] = Envelope  # its own types leave out what its dictionaries hold
_BROKEN: Final = (LibraryError, KeyError, TypeError, ValueError, AttributeError)
"""What the library raises on envelopes that were not made by it."""


class SignatureRefused(Exception):
    """The envelope is not one that the given key signed."""


def sign(statement: bytes, key: Path, password: str | None = None) -> str:
    """Put the statement into an envelope signed with a private key in PEM. Raises `UsageFault` for a bad key."""
    try:
        secret = None if password is None else password.encode()
        signer = CryptoSigner(cast("Any", load_pem_private_key(_read(key), secret)))
    except (*_BROKEN, UnsupportedAlgorithm) as error:
        hint = f"Give a private key in PEM: {_KINDS}. For an encrypted one, name its password with --password-env."
        raise UsageFault(f"{key}: this is no private key that can sign.", hint) from error
    envelope = _ENVELOPE(statement, PAYLOAD_TYPE, {})
    envelope.sign(signer)
    return json.dumps(envelope.to_dict(), ensure_ascii=True, indent=2) + "\n"


def opened(envelope: JsonObject, key: Path) -> bytes:
    """Return the statement in the envelope. Raises `SignatureRefused` unless the key signed exactly this envelope."""
    try:
        public = SSlibKey.from_crypto(cast("Any", load_pem_public_key(_read(key))))
    except (*_BROKEN, UnsupportedAlgorithm) as error:
        raise UsageFault(f"{key}: this is no public key.", f"Give a public key in PEM: {_KINDS}.") from error
    try:
        read = _ENVELOPE.from_dict(_copy(envelope))
        read.verify([public], 1)
        # Base64 can be written in several ways, and unknown keys would ride along unsigned: only our own form counts.
        exact = read.to_dict() == envelope and read.payload_type == PAYLOAD_TYPE
        exact = exact and [set(each) for each in read.to_dict()["signatures"]] == [{"keyid", "sig"}]
    except _BROKEN as error:
        raise SignatureRefused from error
    if not exact:
        raise SignatureRefused
    payload: bytes = read.payload
    return payload


def _copy(value: Json) -> Json:
    # The library writes into what it is given.
    if isinstance(value, Mapping):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageFault(
            f"{path}: {error.strerror or 'the file cannot be read'}.", "Give a key file in PEM."
        ) from error
