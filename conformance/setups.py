"""Setups that were never started, that cannot start, and that belong to the whole instance; and what they may not tell.

Nothing here asserts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from conformance.answer import Answer, answer_of
from conformance.gates import TEMPLATES
from conformance.host.setup import Setup, Template, template_of
from conformance.host.tenant import host_time
from conformance.model import Json, JsonObject, object_of
from conformance.provider import Provider
from conformance.redact import Redactor
from conformance.states import with_wrong_secrets

INSTANCE = "instance"
"""The company of setups and templates that belong to no company (contract)."""

SECRET_NAMES = ("token", "password", "secret", "privatekey")
"""Parts of names under which a payload holds what opens the connection (our choice)."""

SHORTEST = 8
"""Characters of a text that is searched for (our choice: a shorter one shows up by chance)."""


def unknown_setup(provider: Provider) -> Setup:
    """A setup that nobody ever started."""
    return Setup(f"no-such-setup-{provider.new_id()}", provider.tenant, provider.config, None, None, {})


def unknown_template(provider: Provider) -> Template:
    """A template that nobody ever captured, of the kind that the driver declares."""
    kind = provider.subject.driver.get("templateRefKind")
    known = kind if isinstance(kind, str) else "snapshot"
    return Template(f"no-such-template-{provider.new_id()}", known, provider.tenant, provider.config, {})


async def starts_that_fail(provider: Provider) -> list[Answer]:
    """The answers to starts that have something wrong each: secrets, template, source, end."""
    config, template, other = provider.config, provider.subject.template_field, unknown_template(provider)
    configs = [with_wrong_secrets(provider, config), *([{**config, template: other.ref}] if template else [])]
    starts = [provider.start_setup(each) for each in configs if each != config]
    # A source that does not exist is found out late, when a sandbox may be there already.
    starts.append(provider.start_setup(source_ref=other.ref, source_kind=other.kind))
    starts.append(provider.start_setup(expires_at=host_time(-3600)))
    return [await answer_of(start) for start in starts]


async def a_setup_of_the_instance(provider: Provider) -> list[Answer]:
    """The answers of a setup, and of a template where that is offered, that belong to the instance."""
    provider.tenant = replace(provider.tenant, company=INSTANCE)
    answers = [await answer_of(provider.start_setup())]
    setup = provider.set_up(answers[0])
    if setup is None or not setup.id:
        return answers
    answers.append(await answer_of(provider.get_setup(setup, with_payload=False)))
    if TEMPLATES.holds(provider.subject):
        answers.append(await answer_of(provider.capture_template(setup)))
        template = template_of(setup, answers[-1].result)
        answers += [] if template is None else [await answer_of(provider.delete_template(template))]
    return [*answers, await answer_of(provider.cancel_setup(setup))]


def payloads_of(answers: Iterable[Answer]) -> list[JsonObject]:
    """The connections that were handed out."""
    found = (object_of(answer.fields.get("connectionPayload")) for answer in answers)
    return [payload for payload in found if payload]


def secrets_in(payloads: Iterable[JsonObject]) -> dict[str, str]:
    """What opens the connections, by where it stands: tokens, passwords and the like."""
    return {
        f"{place.removeprefix('/')} of connection {number}": text
        for number, payload in enumerate(payloads, 1)
        for place, text in _texts(payload)
        if _is_secret(place) and len(text) >= SHORTEST
    }


def commands_in(payloads: Iterable[JsonObject]) -> dict[str, str]:
    """The commands of the connections, by which connection it is."""
    commands = {f"command of connection {n}": payload.get("command") for n, payload in enumerate(payloads, 1)}
    return {name: text for name, text in commands.items() if isinstance(text, str) and len(text) >= SHORTEST}


def told_in(answer: Answer, secrets: Mapping[str, str]) -> list[str]:
    """Which secrets the summary and the metadata of an answer hold, and where."""
    redactor = Redactor(secrets)
    return [
        f"{leak.name}, as {leak.form}, in {part}{leak.place}"
        for part in ("connectionSummary", "metadata")
        for leak in redactor.leaks(answer.fields.get(part))
    ]


def _texts(value: Json, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _texts(item, f"{place}/{name}")


def _is_secret(place: str) -> bool:
    last = place.rpartition("/")[2].lower().replace("_", "")
    return any(name in last for name in SECRET_NAMES)
