"""Keeping secrets out of everything that is written."""

import base64
import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote


class Redactor:
    """Replaces the values of secrets, also base64- and URL-encoded, by their names."""

    SHORTEST = 4
    """Shorter values are not searched for: they would match by accident everywhere."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = sorted(
            ((form, name) for name, value in secrets.items() if len(value) >= self.SHORTEST for form in _forms(value)),
            key=lambda pair: -len(pair[0]),
        )

    def __call__(self, text: str) -> str:
        """The text without any secret."""
        for form, name in self._forms:
            if form in text:
                text = text.replace(form, f"[redacted:{name}]")
        return text


def _forms(value: str) -> Iterable[str]:
    raw = value.encode("utf-8", "surrogatepass")
    in_json = {json.dumps(value, ensure_ascii=plain)[1:-1] for plain in (True, False)}
    in_base64 = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    return {value, quote(raw, safe=""), *in_json, *in_base64}
