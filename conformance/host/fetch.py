"""`http.fetch` for workers: HTTP and HTTPS to public addresses only, as on a real host."""

import ipaddress
import socket
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from conformance.model import Json

FETCH_LIMIT_S = 30.0
"""Longest fetch (contract: protocol.md section 9.1)."""

MAX_BODY_BYTES = 16 << 20
"""Largest body handed to a worker (our choice: it travels inside one JSON line)."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        # A redirect could lead to a private address that was never checked.
        return None


def fetch(url: object, init: object) -> dict[str, Json]:
    """Answer with status, headers and body text. Raises `ValueError` or `OSError` with the reason for a refusal."""
    if not isinstance(url, str):
        raise ValueError("url is not a string")  # noqa: TRY004 - one family for every refusal
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("only http and https addresses are fetched")
    _refuse_private(parts.hostname)
    options: Mapping[str, Any] = cast("Mapping[str, Any]", init) if isinstance(init, Mapping) else {}
    body = options.get("body")
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked above
        url,
        data=body.encode() if isinstance(body, str) else None,
        headers={str(name): str(value) for name, value in dict(options.get("headers") or {}).items()},
        method=str(options.get("method") or "GET"),
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=FETCH_LIMIT_S) as answer:
            return _as_json(answer)
    except urllib.error.HTTPError as answer:
        with answer:
            return _as_json(answer)


def _as_json(answer: Any) -> dict[str, Json]:
    return {
        "status": answer.status,
        "statusText": answer.reason,
        "headers": {name.lower(): value for name, value in answer.headers.items()},
        "body": answer.read(MAX_BODY_BYTES).decode("utf-8", "replace"),
    }


def _refuse_private(host: str) -> None:
    for _, _, _, _, address in socket.getaddrinfo(host, None):
        if not ipaddress.ip_address(address[0]).is_global:
            raise ValueError("private addresses are not fetched")
