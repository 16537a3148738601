"""Facts about a package that decide, before a check runs, whether its rule applies at all."""

from collections.abc import Callable
from dataclasses import dataclass

from conformance.capabilities import claimed
from conformance.form import allows, defaults, own_fields, required_fields, unnamed_values
from conformance.model import CapabilityKey, Json, items_of, object_of
from conformance.subject import Subject


@dataclass(frozen=True)
class Gate:
    """`holds` looks at the subject; `otherwise` says in a sentence why the rule does not apply."""

    holds: Callable[[Subject], bool]
    otherwise: str


SDK = "@paperclipai/plugin-sdk"
"""The npm package that most workers are built on."""

OWN_MESSAGES = Gate(
    lambda subject: SDK not in subject.package.dependencies,
    f"The worker is built on {SDK}, which leaves U+2028 and U+2029 as they are: a limit of the platform, not the "
    "provider's fault.",
)
SHORT_LIFE_MS = 4000
"""A `timeoutMs` that is short to wait for, and longer than any one command takes (our choice)."""

LONG_LIFE_MS = 90_000
"""A `timeoutMs` with room for a command that takes longer than a minute (our choice)."""

A_SHORT_TIME_IN_THE_CONFIG = Gate(
    lambda subject: (
        "timeoutMs" in subject.typed_properties and allows(subject.typed_properties["timeoutMs"], SHORT_LIFE_MS)
    ),
    "The driver's configSchema has no timeoutMs that could be as short as a few seconds.",
)
A_LONG_TIME_IN_THE_CONFIG = Gate(
    lambda subject: _number(subject.config.get("timeoutMs")) >= LONG_LIFE_MS,
    f"The config under test does not set timeoutMs to {LONG_LIFE_MS} or more, so no command that long is tried.",
)
SECRET_FIELDS = Gate(
    lambda subject: bool(subject.secret_fields), "The driver's configSchema has no property with format secret-ref."
)
OWN_FIELDS = Gate(
    lambda subject: bool(own_fields(subject)),
    "The driver's configSchema names no setting with a type, beside secrets and keys of the host.",
)
FIELDS_WITHOUT_NAMES = Gate(
    lambda subject: bool(unnamed_values(subject)),
    "The driver's configSchema has no setting that is a number, a switch or a choice, beside keys of the host.",
)
A_CONFIG_CAN_BE_WRONG = Gate(
    lambda subject: bool(own_fields(subject) or required_fields(subject)),
    "The driver's configSchema neither requires a setting nor names one with a type.",
)
DEFAULTS = Gate(lambda subject: bool(defaults(subject)), "The driver's configSchema has no defaults.")
A_TEMPLATE_BINDING = Gate(
    lambda subject: isinstance(object_of(subject.driver.get("templateConfigBinding")).get("field"), str),
    "The driver does not say through templateConfigBinding which setting names a template.",
)
A_DECLARED_CAPABILITY = Gate(
    lambda subject: True in subject.declared.values(), "The driver declares no capability as true."
)
A_FILE_IN_A_PACKAGE = Gate(
    lambda subject: subject.package.root is not None,
    "The provider was given as a command, so there is no package whose files could be looked at.",
)
LOGIN_TERMINAL = Gate(
    lambda subject: subject.flag("supportsSetupTokenLogin"), "The driver does not declare supportsSetupTokenLogin."
)
NO_LOGIN_TERMINAL = Gate(
    lambda subject: not LOGIN_TERMINAL.holds(subject),
    "The driver declares supportsSetupTokenLogin, so the stronger rule for logins applies.",
)
A_SECRET_IN_THE_CONFIG = Gate(
    lambda subject: bool(subject.secret_ids), "The config under test has no secret, so there is none to get wrong."
)
INTERACTIVE_SETUP = Gate(
    lambda subject: any(
        subject.flag(name) for name in ("supportsInteractiveSetup", "supportsTemplateCapture", "supportsTemplateDelete")
    ),
    "The driver declares neither interactive setup nor templates.",
)
A_SETUP = Gate(
    lambda subject: subject.flag("supportsInteractiveSetup"), "The driver does not declare supportsInteractiveSetup."
)
TEMPLATES = Gate(
    lambda subject: (
        A_SETUP.holds(subject) and subject.flag("supportsTemplateCapture") and subject.flag("supportsTemplateDelete")
    ),
    "The driver does not declare all of supportsInteractiveSetup, supportsTemplateCapture and supportsTemplateDelete. "
    "A template that the kit could not remove again is not made.",
)
TEMPLATE_DELETE = Gate(
    lambda subject: subject.flag("supportsTemplateDelete"), "The driver does not declare supportsTemplateDelete."
)
AN_SSH_CONNECTION = Gate(
    lambda subject: (
        A_SETUP.holds(subject) and "ssh" in (items_of(subject.driver.get("interactiveSetupConnectionTypes")) or ["ssh"])
    ),
    "The driver offers no interactive setup, or other interactiveSetupConnectionTypes than ssh.",
)
A_SETUP_AND_AN_INVENTORY = Gate(
    lambda subject: A_SETUP.holds(subject) and subject.hooks.inventory is not None,
    "The driver does not declare supportsInteractiveSetup, or no inventory hook was given: nothing on the wire shows "
    "what the backend holds.",
)
REUSABLE_LEASES = Gate(
    lambda subject: claimed(subject.contract, CapabilityKey("reusableLeases"), subject.driver),
    "The driver does not claim reusableLeases, so a host never asks it to keep a lease.",
)
AN_INVENTORY = Gate(
    lambda subject: subject.hooks.inventory is not None,
    "No inventory hook was given, and nothing on the wire shows what the backend holds.",
)
BOTH_HOOKS = Gate(
    lambda subject: subject.hooks.inventory is not None and subject.hooks.kill is not None,
    "A sandbox can be removed behind the provider's back only with the hooks inventory and kill.",
)
A_MINIMUM_VERSION = Gate(
    lambda subject: any(name in subject.manifest_object for name in ("minimumHostVersion", "minimumPaperclipVersion")),
    "The manifest names no minimum host version.",
)


def _number(value: Json) -> float:
    return value if isinstance(value, int | float) else 0
