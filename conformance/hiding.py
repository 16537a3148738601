"""What a run keeps secret, and where it is searched for: in everything that did not come from the kit itself."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from conformance.plan import Plan
from conformance.redact import Redactor

_OWN: Final = frozenset(
    {
        *(
            "event",
            "id",
            "name",
            "level",
            "area",
            "profile",
            "cost",
            "needs",
            "state",
            "blame",
            "blocked_by",
            "violates",
        ),
        *("seconds", "limit_share", "frames", "span", "holds", "lease", "check", "how", "kind"),
        *("kit", "revision", "profiles", "requirements", "coverage", "capabilities", "proofs", "effective"),
    }
)
"""Fields of an event that hold words and numbers of the kit: a secret that is spelled like one stays unseen there."""

_OWN_OF_THE_SUBJECT: Final = frozenset({"kind", "tarball_digest", "tree_digest", "manifest_digest", "worker_digest"})
_OWN_OF_THE_RUN: Final = frozenset({"id", "started", "seed", "profiles", "limits", "config_digest", "python", "os"})
_SECRET_NAME: Final = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_SURE: Final = 8
"""Characters from which a value in a finished output cannot be there by accident (our choice)."""


def secrets_of(plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
    """Every secret of a run by name: given as one, in a config field for secrets, or passed through as a variable."""
    subject = plan.subject
    config = {name: subject.config.get(name) for name in subject.secret_names}
    passed = {name: environment.get(name, "") for name in plan.settings.pass_env if _SECRET_NAME.search(name)}
    given = {name: value for name, value in config.items() if isinstance(value, str)}
    return {**passed, **given, **plan.settings.secrets}


def hidden(event: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The event as it may be written."""
    text = json.dumps(event)
    plain = cast("dict[str, Any]", json.loads(text))
    if not redactor.sees(text):
        return plain
    deeper = {"subject": _OWN_OF_THE_SUBJECT, "run": _OWN_OF_THE_RUN}
    return {
        key: _without(cast("dict[str, Any]", value), redactor, deeper[key])
        if key in deeper and isinstance(value, dict)
        # A key of ours is never a secret, whatever it is spelled like.
        else value
        if key in _OWN
        else redactor.json(value)
        for key, value in plain.items()
    }


def _without(values: Mapping[str, Any], redactor: Redactor, own: frozenset[str]) -> dict[str, Any]:
    return {key: value if key in own else redactor.json(value) for key, value in values.items()}


def guard(secrets: Mapping[str, str], own: Mapping[str, Any]) -> Redactor:
    """For finished outputs, where nothing should be left: only values that `own`, words of the kit, cannot hold."""
    words = json.dumps(own)
    return Redactor({name: value for name, value in secrets.items() if len(value) >= _SURE and value not in words})
