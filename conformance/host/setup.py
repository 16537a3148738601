"""What the host keeps of an interactive setup, and how it hides what looks like a secret."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from conformance.host.tenant import Tenant
from conformance.model import Json, JsonObject, items_of, object_of

REDACTED = "[redacted]"
"""What stands in the host's record in place of a text that may be a secret."""

_SECRET_NAME = re.compile(
    "auth|credential|host|ip|key|lease|password|secret|sandboxid|templateref|token|url", re.IGNORECASE
)
_SECRET_TEXT = re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b|^\s*ssh\s", re.ASCII)

_FIELDS = {"snapshot": "snapshot", "image": "image", "provider_template": "template"}
_LEFT_OUT = {"snapshot": ("image",), "image": ("snapshot",)}
"""Where the host puts a template by its kind, and what it then leaves out, for drivers without a binding."""


@dataclass(frozen=True)
class Setup:
    """A setup as the host knows it between two calls. `metadata` is its record, redacted."""

    id: str | None
    tenant: Tenant
    config: JsonObject = field(repr=False)
    source_ref: str | None
    source_kind: str | None
    metadata: JsonObject

    def captured(self, result: Json) -> "Setup":
        """The same setup after a capture, of which the host keeps the metadata."""
        return replace(self, metadata={**self.metadata, "capture": redact(object_of(result).get("metadata"))})


@dataclass(frozen=True)
class Template:
    """A captured template as the host knows it."""

    ref: str
    kind: str
    tenant: Tenant
    config: JsonObject = field(repr=False)
    metadata: JsonObject


def setup_of(tenant: Tenant, params: JsonObject, result: Json) -> Setup | None:
    """The setup in the answer to a start with these params; None when the answer holds no object."""
    if not isinstance(result, Mapping):
        return None
    answer = object_of(result)
    handle, ref, kind = answer.get("providerLeaseId"), params.get("sourceTemplateRef"), params.get("sourceTemplateKind")
    return Setup(
        id=handle if isinstance(handle, str) else None,
        tenant=tenant,
        config=object_of(params.get("config")),
        source_ref=ref if isinstance(ref, str) else None,
        source_kind=kind if isinstance(kind, str) else None,
        metadata={**object_of(redact(answer.get("metadata"))), "setupRpcCompanyId": tenant.company},
    )


def template_of(setup: Setup, result: Json) -> Template | None:
    """The template in the answer to a capture; None when the answer names none."""
    answer = object_of(result)
    ref, kind = answer.get("templateRef"), answer.get("templateKind")
    if not isinstance(ref, str) or not ref:
        return None
    metadata = object_of(redact(answer.get("metadata")))
    return Template(ref, kind if isinstance(kind, str) else "", setup.tenant, setup.config, metadata)


def with_template(binding: JsonObject, config: JsonObject, template: Template) -> dict[str, Json]:
    """A config as the host makes it of another, so that sandboxes start from a template.

    `binding` is the driver's `templateConfigBinding`; where it names no field, the kind of the template does.
    """
    named = binding.get("field")
    name = named if isinstance(named, str) else _FIELDS.get(template.kind, "templateRef")
    left_out = items_of(binding.get("unsetFields")) if isinstance(named, str) else _LEFT_OUT.get(template.kind, ())
    return {**{key: value for key, value in config.items() if key not in left_out}, name: template.ref}


def all_hidden(value: Json) -> Json:
    """A record of which every text is hidden: the most that a host may hide."""
    if isinstance(value, str):
        return REDACTED
    if isinstance(value, Mapping):
        return {key: all_hidden(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [all_hidden(item) for item in items_of(value)]
    return value


def redact(value: Json, name: str = "") -> Json:
    """A value as the host stores it: texts under a telling name, addresses and ssh commands are hidden."""
    if isinstance(value, str):
        return REDACTED if _SECRET_NAME.search(name) or _SECRET_TEXT.search(value) else value
    if isinstance(value, Mapping):
        return {key: redact(item, key) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item, name) for item in items_of(value)]
    return value
