"""The reference provider, which says a secret in each place and in each spelling it can; a script, for `cmd:`."""

import base64
import html
import json
import os
import sys
from typing import Any
from urllib.parse import quote, quote_plus

from conformance.fixtures.reference.call import Call
from conformance.fixtures.reference.launch import launch
from conformance.fixtures.reference.provider import ReferenceProvider
from conformance.fixtures.reference.worker import Worker

TOKEN, KEY = "LEAKY_TOKEN", "LEAKY_PRIVATE_KEY"


def spellings(secret: str) -> list[str]:
    """The secret as programs write it: by itself, escaped, encoded beside other bytes, broken up, cut."""
    raw = secret.encode()
    beside = [bytes(before) + raw + b"!" * after for before in range(3) for after in range(3)]
    return [
        secret,
        json.dumps(secret),
        json.dumps(json.dumps(secret, ensure_ascii=False)),
        "".join(f"\\u{ord(char):04X}" for char in secret),
        quote(secret),
        quote_plus(secret),
        quote(quote(secret, safe=""), safe=""),
        "".join(f"%{byte:02x}" for byte in raw),
        html.escape(secret),
        "".join(f"&#{ord(char)};" for char in secret),
        *(base64.b64encode(each).decode() for each in beside),
        *(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in beside),
        quote(base64.b64encode(raw).decode(), safe=""),
        base64.encodebytes(b"x" * 50 + raw).decode(),
        raw.hex(),
        raw.hex(" ").upper(),
        "\u200b".join(secret),
        f"{secret[:6]}\x1b[31m{secret[6:]}",
        f"{secret[:6]}\x1b]0;title\x07{secret[6:]}",
        " ".join(secret.split()),
        *secret.splitlines(),
        secret[: len(secret) * 3 // 4],
        secret[len(secret) // 4 :],
    ]


def leaks() -> list[str]:
    """Every spelling of both secrets."""
    return [each for name in (TOKEN, KEY) for each in spellings(os.environ[name])]


class LeakyWorker(Worker):
    """Adds the secrets to all it writes, on either pipe."""

    def write(self, message: dict[str, Any]) -> None:
        """Write lines that are no messages, then the message with more in it than it should have."""
        for leak in leaks():
            print(leak, file=sys.stderr)
            self.sink.write(leak.replace("\n", " ").encode() + b"\n")
        said = {"text": leaks(), **dict.fromkeys(leaks(), True)}
        if isinstance(message.get("result"), dict):
            message = {**message, "result": {**message["result"], **said}}
        elif isinstance(message.get("error"), dict):
            text = f"{message['error']['message']}: {leaks()}"
            message = {**message, "error": {**message["error"], "message": text, "data": said}}
        super().write(message)


class LeakyProvider(ReferenceProvider):
    """Fails its calls with messages that hold secrets."""

    worker_class = LeakyWorker

    def supported_methods(self) -> list[str]:
        """List secrets among the methods."""
        return [*super().supported_methods(), *leaks()]

    def health(self, call: Call) -> dict[str, Any]:  # noqa: ARG002 - an override
        """Fail, with a long message that will be cut."""
        raise RuntimeError("x" * 550 + os.environ[TOKEN] + os.environ[KEY])

    def shutdown(self, call: Call) -> None:  # noqa: ARG002 - an override
        """End with a last word on stderr."""
        print(os.environ[TOKEN], file=sys.stderr, flush=True)
        os._exit(1)


if __name__ == "__main__":
    launch(LeakyProvider, sys.argv[1:])
