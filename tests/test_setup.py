"""Setups in the kit's own hands: a template put into a config, what opens a connection, and who is not asked at all."""

import random
from pathlib import Path

import pytest

from conformance.host.setup import REDACTED, Template, all_hidden, with_template
from conformance.host.tenant import Tenant
from conformance.model import Json, JsonObject, State
from conformance.setups import commands_in, secrets_in

from .lenient import states_of

CONFIG = {"image": "base", "snapshot": "old", "root": "/x"}
NEEDS_TEMPLATES = {"SETUP-009", "SETUP-012"}


def template(kind: str) -> Template:
    return Template("new", kind, Tenant.make(random.Random(1)), {}, {})  # noqa: S311 - ids that can be repeated


@pytest.mark.parametrize(
    ("binding", "kind", "config"),
    [
        ({"field": "box", "unsetFields": ["image"]}, "snapshot", {"snapshot": "old", "root": "/x", "box": "new"}),
        ({"field": "box"}, "image", {**CONFIG, "box": "new"}),
        ({}, "snapshot", {"snapshot": "new", "root": "/x"}),
        ({}, "image", {"image": "new", "root": "/x"}),
        ({}, "provider_template", {**CONFIG, "template": "new"}),
        ({}, "disk", {**CONFIG, "templateRef": "new"}),
    ],
)
def test_a_template_goes_where_the_driver_or_its_kind_says(
    binding: JsonObject, kind: str, config: dict[str, Json]
) -> None:
    assert with_template(binding, CONFIG, template(kind)) == config


def test_of_a_record_that_is_hidden_no_text_is_left() -> None:
    assert all_hidden({"a": "b", "c": [{"d": "e"}, 1, None]}) == {"a": REDACTED, "c": [{"d": REDACTED}, 1, None]}


def test_what_opens_a_connection_is_found_in_every_payload_and_at_any_depth() -> None:
    payloads: list[JsonObject] = [
        {"type": "ssh", "command": "ssh me@host", "token": "a-long-token"},
        {"type": "browser_terminal", "token": "another-token", "metadata": {"accessPassword": "hidden deep", "key": 1}},
        {"type": "ssh", "token": "short", "metadata": {"note": "no secret at all"}},
    ]

    assert secrets_in(payloads) == {
        "token of connection 1": "a-long-token",
        "token of connection 2": "another-token",
        "metadata/accessPassword of connection 2": "hidden deep",
    }
    assert commands_in(payloads) == {"command of connection 1": "ssh me@host"}


def test_a_provider_without_setup_is_not_asked_about_it(tmp_path: Path) -> None:
    states = states_of("NoSetup", tmp_path, "SETUP-")

    assert len(states) == 13
    assert set().union(*states.values()) == {State.NOT_APPLICABLE}


def test_a_setup_may_take_its_time_and_templates_may_not_be_deleted(tmp_path: Path) -> None:
    states = states_of("SlowSetup", tmp_path, "SETUP-")

    assert {number for number, seen in states.items() if seen == {State.NOT_APPLICABLE}} >= NEEDS_TEMPLATES
    assert set().union(*states.values()) == {State.NOT_APPLICABLE, State.PASS}
