"""CFG: the settings of an environment, as they are saved and as later calls see them.

The config that the author gives to the kit is taken for valid: where the provider refuses it, CFG-001 says so and the
rest of the area is blocked by it.
"""

import json
import re
from collections.abc import Iterable, Mapping

from conformance.answer import Answer, answer_of
from conformance.checks import check
from conformance.evidence import Blocked, show
from conformance.expect import expect, expect_alive, expect_answered, expect_equal, expect_none_of, expect_shape
from conformance.form import (
    allows,
    defaults,
    other_value,
    own_fields,
    required_fields,
    unnamed_values,
    wrong_value,
)
from conformance.gates import A_CONFIG_CAN_BE_WRONG, DEFAULTS, FIELDS_WITHOUT_NAMES, OWN_FIELDS, SECRET_FIELDS
from conformance.host.lease import REALIZATION, REUSE, Lease
from conformance.model import Cost, Json, JsonObject, Level, RequirementId, items_of, object_of
from conformance.provider import Launcher, Provider
from conformance.steps import destroy_lease, initialize_worker, run_to_success

MUST, SHOULD = Level.MUST, Level.SHOULD

PLAIN_SECRET = "plain-text-secret"  # noqa: S105 - what an operator may type
"""A secret as it looks before the host has stored it: of no provider's special form."""

TIME_MS = 120_000
"""A `timeoutMs` that suits any provider whose schema says nothing about it (our choice)."""

REMOVED_KEYS = ("useSessions", "useLogStream", "streamAgentSessionOutput")
"""Settings that sandbox providers once had."""

MOST_SETTINGS = 5
"""So many settings are tried one at a time, for each costs a lease (our choice)."""

CALLED_MISSING = re.compile(r"\b(required|missing)\b", re.IGNORECASE)
"""How an error text says that nothing was given."""

HELD_AS_TEXT = "[object Object]"
"""What JavaScript makes of an object that is used as a text."""

ABOUT_THE_CONFIG = (
    "The kit takes the config it is given for valid. Where it lacks something, give it with --provider-config or in "
    "conformance.toml; where it does not, accept it."
)


@check("CFG-001", level=MUST)
async def a_valid_config_is_accepted_in_time(provider: Provider) -> None:
    """Validation answers within 30 s with ok as true or false, and with true for the config that is to be tested."""
    answer = await answer_of(provider.validate_config())

    expect_shape(answer, advice="Answer {ok: true} or {ok: false, errors: […]} without asking the backend.")
    expect_accepted(answer, "the config under test", advice=ABOUT_THE_CONFIG)


@check("CFG-001", level=SHOULD, when=DEFAULTS)
async def the_defaults_of_the_schema_are_accepted(provider: Provider) -> None:
    """The settings form starts with the defaults of the schema, so saving it untouched must not fail."""
    await accept_config(provider)
    filled = {**fitting_defaults(provider), **provider.stored_config}

    answer = await answer_of(provider.validate_config(filled))

    expect_accepted(answer, "a config with every default of the schema", advice="Change the default or the check.")


@check("CFG-002", level=SHOULD, when=A_CONFIG_CAN_BE_WRONG)
async def a_wrong_config_is_refused_with_a_reason(provider: Provider) -> None:
    """A config that is wrong gives ok: false and an error text, which is all that the operator gets to see."""
    await accept_config(provider)
    for what, config in wrong_configs(provider):
        answer = await answer_of(provider.validate_config(config))
        expect_answered(answer, advice="Catch what the validation throws and return it in errors.")
        expect(
            answer,
            answer.fields.get("ok") is False and bool(errors_of(answer)) and all(map(str.strip, errors_of(answer))),
            that=f"a config {what} is answered with ok: false and an error text",
            observed=answer.came,
            advice="Check each setting at save time; a silent default makes every later run go wrong.",
        )
    await expect_alive(provider)


@check("CFG-002", level=SHOULD, cost=Cost.MANY, when=FIELDS_WITHOUT_NAMES)
async def a_config_that_was_accepted_starts_a_sandbox(provider: Provider, lease: Lease) -> None:
    """What is accepted at save time can be used: settings that do not go together are refused with their names."""
    await accept_config(provider)
    await run_to_success(provider, lease, "true")
    for changes in other_settings(provider):
        answer = await start_with(provider, changes)
        expect(
            answer,
            answer.fault is None,
            that=f"{show(changes)} is refused by the validation, or a sandbox starts with it",
            observed=answer.came,
            advice="Refuse at save time what acquire would refuse, and name the settings that do not go together.",
        )


@check("CFG-003", level=MUST)
async def the_keys_of_the_host_are_accepted(provider: Provider) -> None:
    """The host sends reuseLease, timeoutMs and archiveOnRelease with every config, whatever the schema says."""
    await accept_config(provider)
    for key, value in host_settings(provider).items():
        answer = await answer_of(provider.validate_config({**provider.stored_config, key: value}))
        expect_accepted(
            answer, f"a config with the host's key {key}", advice=f"Let {key} pass, in the schema or beside it."
        )
    await expect_alive(provider)


@check("CFG-004", level=MUST)
async def the_key_for_run_logs_is_accepted(provider: Provider) -> None:
    """The host sends streamRunLogs too."""
    await accept_config(provider)
    for value in (True, False):
        answer = await answer_of(provider.validate_config({**provider.stored_config, "streamRunLogs": value}))
        expect_accepted(answer, f"a config with streamRunLogs {show(value)}", advice="Let streamRunLogs pass.")


@check("CFG-006", level=MUST)
async def the_keys_of_the_host_are_kept(provider: Provider) -> None:
    """The host stores normalizedConfig in place of what it sent, so a key that is not in it is lost."""
    await accept_config(provider)
    sent = host_settings(provider)

    answer = await answer_of(provider.validate_config({**provider.stored_config, **sent}))

    kept = stored_after(answer)
    for key, value in sent.items():
        expect_equal(
            answer,
            key,
            kept.get(key),
            value,
            advice=f"Copy {key} into normalizedConfig, or return no normalizedConfig.",
        )


@check("CFG-006", level=SHOULD, when=OWN_FIELDS)
async def every_accepted_setting_is_kept(provider: Provider) -> None:
    """What the operator sets and the provider accepts is in normalizedConfig with its value, not a default."""
    await accept_config(provider)
    for name, config in changed_configs(provider):
        answer = await answer_of(provider.validate_config(config))
        kept = stored_after(answer).get(name)
        expect(
            answer,
            answer.fields.get("ok") is not True or as_text(kept) == as_text(config[name]),
            that=f"{name}: {show(config[name])} is refused, or kept as it is",
            observed=f"it is kept as {show(kept)}",
            advice="Copy every setting of the schema into normalizedConfig with the value that was sent.",
        )


@check("CFG-007", level=MUST, when=SECRET_FIELDS)
async def secret_fields_are_kept_as_they_are(provider: Provider) -> None:
    """A secret field holds the id of a stored secret; the host finds it again by its place and its exact value."""
    await accept_config(provider)
    for name in fields_with_secrets(provider):
        number = provider.new_id()
        answer = await answer_of(provider.validate_config({**provider.stored_config, name: number}))
        expect_equal(
            answer,
            name,
            stored_after(answer).get(name),
            number,
            advice="Copy secret fields into normalizedConfig untouched.",
        )


@check("CFG-008", level=MUST, when=SECRET_FIELDS)
async def a_secret_field_may_hold_an_id_or_any_text(provider: Provider) -> None:
    """At save time the secret is not there yet: the field holds its id, or a text that the operator has just typed."""
    await accept_config(provider)
    for name in fields_with_secrets(provider):
        for what, value in (("the id of a secret", provider.new_id()), ("a plain text", PLAIN_SECRET)):
            answer = await answer_of(provider.validate_config({**provider.stored_config, name: value}))
            expect_accepted(
                answer,
                f"a config with {what} in {name}",
                advice="Judge a secret when it is used, not when it is saved.",
            )


@check("CFG-008", level=SHOULD, when=SECRET_FIELDS)
async def a_reference_object_is_not_taken_for_nothing(provider: Provider) -> None:
    """A secret field that holds an object is accepted, or refused for its type; it is never called missing."""
    await accept_config(provider)
    for name in fields_with_secrets(provider):
        reference = {"type": "secret_ref", "secretId": provider.new_id(), "version": "latest"}
        answer = await answer_of(provider.validate_config({**provider.stored_config, name: reference}))
        expect(
            answer,
            answer.fields.get("ok") is True or not CALLED_MISSING.search(complaint_of(answer)),
            that=f"an object in {name} is accepted, or refused for its type, and not as missing",
            observed=answer.came,
            advice="Say which type the field needs; the operator has filled it in.",
        )
        expect_none_of(
            answer, [HELD_AS_TEXT], show(answer.result), where="the answer", advice="Never turn an object into a text."
        )


@check("CFG-009", level=SHOULD)
async def normalising_gives_the_same_each_time(provider: Provider) -> None:
    """The host compares configs as text: the same config must come back the same, and stay as it is once normalised."""
    await accept_config(provider)
    sent = {**provider.stored_config, **host_settings(provider)}

    once, again = [await provider.validate_config(sent) for _ in range(2)]
    twice = await provider.validate_config(stored_after(once))

    advice = "Write the same keys in the same order, and nothing that depends on time, chance or earlier calls."
    expect_equal(again, "the answer to the same config", as_text(again.result), as_text(once.result), advice=advice)
    expect_equal(
        twice,
        "a normalised config after normalising",
        as_text(stored_after(twice)),
        as_text(stored_after(once)),
        advice=advice,
    )


@check("CFG-010", level=MUST, when=SECRET_FIELDS)
async def no_secret_stands_in_errors_or_warnings(provider: Provider) -> None:
    """Errors and warnings are shown and stored, so they never quote what a secret field holds."""
    markers = {name: f"secret-{provider.new_id()}" for name in provider.subject.secret_fields}
    filled: dict[str, Json] = {**provider.stored_config, **markers}
    for config in (filled, *({**wrong, **markers} for _, wrong in wrong_configs(provider)), *spoilt(filled, markers)):
        answer = await answer_of(provider.validate_config(config))
        expect_none_of(
            answer,
            markers.values(),
            complaint_of(answer),
            where="errors and warnings",
            advice="Name the field, and never quote its value or the whole config.",
        )


@check("CFG-011", level=MUST)
async def validation_works_as_the_first_call(launcher: Launcher) -> None:
    """The settings form validates before anything else has run, without company, environment or invocation."""
    async with launcher.worker() as provider:
        await initialize_worker(provider)
        first = await answer_of(provider.validate_config())
        await answer_of(provider.config_changed({}))
        later = await answer_of(provider.validate_config())

    expect_first_as_good_as_later(first, later)


@check("CFG-012", level=SHOULD)
async def an_unknown_key_is_accepted(provider: Provider) -> None:
    """A newer host adds keys of its own, so a key that the provider does not know is no error."""
    await accept_config(provider)
    for value in ("a text", {"an": ["object"]}):
        key = f"key-{provider.new_id()}"
        answer = await answer_of(provider.validate_config({**provider.stored_config, key: value}))
        expect_accepted(answer, "a config with an unknown key", advice="Pass over unknown keys, or warn of them.")


@check("CFG-013", level=MUST, cost=Cost.SHARED)
async def the_calls_of_a_lease_accept_the_record_of_the_lease(provider: Provider, spare: Lease, gone: Lease) -> None:
    """After acquire, config is the host's whole record of the lease: metadata of the provider, keys of any host."""
    alive, ended = (
        lease.with_record(
            {
                REALIZATION: {"version": 1, "remote": {"path": lease.remote_cwd}},
                REUSE: {"version": 1, "remoteCwd": lease.remote_cwd},
                "sandboxLeaseAcquisition": {"outcome": "created"},
                f"key-{provider.new_id()}": {"of": "a newer host"},
            }
        )
        for lease in (spare, gone)
    )

    realized = await provider.realize(alive)
    executed = await provider.execute(alive, "true")
    released = await provider.release(ended)
    destroyed = await provider.destroy(ended)

    expect_each_answered(
        (realized, executed, released, destroyed),
        advice="Read the settings that you know out of config and pass over everything else.",
    )


@check("CFG-014", level=MUST, cost=Cost.OWN)
async def release_and_destroy_accept_internal_keys_of_the_host(provider: Provider, doomed: Lease) -> None:
    """The clean-up of a lease that could not be stored sends the record as it is, with the host's internal keys."""
    released = await provider.release(doomed, doomed.orphan_config)
    destroyed = await provider.destroy(doomed, doomed.orphan_config)

    expect_each_answered(
        (released, destroyed), advice="Validate settings when they are saved, never when a sandbox is to be removed."
    )


@check("CFG-015", level=SHOULD)
async def settings_that_are_gone_do_nothing(provider: Provider) -> None:
    """A config that was saved with settings of an older version still loads, and those settings change nothing."""
    await accept_config(provider)
    gone = [name for name in REMOVED_KEYS if name not in provider.subject.properties]
    plain = stored_after(await provider.validate_config())

    answer = await answer_of(provider.validate_config({**provider.stored_config, **dict.fromkeys(gone, True)}))

    expect_accepted(answer, f"a config with {', '.join(gone)}", advice="Pass over settings that are gone.")
    left = {key: value for key, value in stored_after(answer).items() if key not in gone}
    expect_equal(answer, "everything else", left, dict(plain), advice="Let settings that are gone have no effect.")


async def accept_config(provider: Provider) -> None:
    """See that the config under test is accepted; blocked by CFG-001 where it is not."""
    answer = await answer_of(provider.validate_config())
    if answer.fields.get("ok") is not True:
        raise Blocked(RequirementId("CFG-001"), f"the config under test is not accepted: {answer.came}", answer.frames)


def other_settings(provider: Provider) -> list[dict[str, Json]]:
    """Settings that differ from the config under test: one at a time, then all together.

    None is taken away: the author has given what his provider needs.
    """
    values = unnamed_values(provider.subject)
    alone: list[dict[str, Json]] = [{name: value} for name, value in values.items()][:MOST_SETTINGS]
    return [*alone, dict(values)] if len(values) > 1 else alone


async def start_with(provider: Provider, changes: JsonObject) -> Answer:
    """The answer of an acquire with other settings, whose sandbox is removed; or of the validation, if it says no."""
    validated = await answer_of(provider.validate_config({**provider.stored_config, **changes}))
    if validated.fields.get("ok") is not True:
        return validated
    acquired = await answer_of(provider.acquire({**provider.config, **changes}))
    lease = provider.leased(acquired)
    if lease is not None and lease.id is not None:
        await destroy_lease(provider, lease)
    return acquired


def fitting_defaults(provider: Provider) -> dict[str, Json]:
    """The defaults of the schema; blocked by MAN-012 where one does not even fit its own property."""
    subject = provider.subject
    for name, value in defaults(subject).items():
        if not allows(subject.properties[name], value):
            raise Blocked(RequirementId("MAN-012"), f"the default {show(value)} does not fit {name} itself")
    return defaults(subject)


def host_settings(provider: Provider) -> dict[str, Json]:
    """The host's keys, each with a value that the provider's schema allows and that is not the default."""
    rule = provider.subject.properties.get("timeoutMs", {})
    fitting = TIME_MS if allows(rule, TIME_MS) else other_value(rule, None)
    time_ms = provider.stored_config.get("timeoutMs", fitting)
    return {"reuseLease": True, "timeoutMs": time_ms, "archiveOnRelease": True}


def fields_with_secrets(provider: Provider) -> list[str]:
    """The secret fields that the author fills; where that is none, all of them, one at a time."""
    fields = provider.subject.secret_fields
    return [name for name in fields if name in provider.stored_config] or list(fields)


def wrong_configs(provider: Provider) -> list[tuple[str, dict[str, Json]]]:
    """Configs that are wrong in one place, with that place in words."""
    config, subject = provider.stored_config, provider.subject
    mistyped = [
        (f"with {show(wrong_value(rule))} in {name}", {**config, name: wrong_value(rule)})
        for name, rule in own_fields(subject).items()
    ]
    incomplete = [
        (f"without {name}, which is required", {key: value for key, value in config.items() if key != name})
        for name in required_fields(subject)
    ]
    blank = [(f"with a blank {name}", {**config, name: " "}) for name in [subject.template_field] if name]
    return [*mistyped, *incomplete, *blank]


def changed_configs(provider: Provider) -> list[tuple[str, dict[str, Json]]]:
    """The config with one of the provider's own settings changed, for each where another value can be made."""
    config = provider.stored_config
    fields = own_fields(provider.subject).items()
    others = {name: other for name, rule in fields if (other := other_value(rule, config.get(name))) is not None}
    # A setting that nobody can change for the author is looked at with the author's own value.
    return [(name, {**config, name: value}) for name, value in {**config, **others}.items() if name in dict(fields)]


def spoilt(config: JsonObject, markers: Mapping[str, str]) -> list[dict[str, Json]]:
    """Configs that are wrong in a key of the host, or in the type of a field with a secret."""
    in_lists: list[dict[str, Json]] = [{**config, name: [marker]} for name, marker in markers.items()]
    return [{**config, "timeoutMs": "soon"}, *in_lists]


def sent_config(answer: Answer) -> JsonObject:
    """The config that was validated."""
    return object_of(answer.params.get("config"))


def stored_after(answer: Answer) -> JsonObject:
    """What a host would store: normalizedConfig where it is returned, else what it sent."""
    normalized = answer.fields.get("normalizedConfig")
    return sent_config(answer) if normalized is None else object_of(normalized)


def errors_of(answer: Answer) -> list[str]:
    """The error texts of a validation."""
    return [error for error in items_of(answer.fields.get("errors")) if isinstance(error, str)]


def complaint_of(answer: Answer) -> str:
    """What a validation tells the operator: errors and warnings, or an RPC error in their place."""
    if answer.fault is not None:
        return answer.came
    return show([answer.fields.get("errors"), answer.fields.get("warnings")])


def as_text(value: Json) -> str:
    """A value as the text that a host compares: the order of keys counts."""
    return json.dumps(value)


def expect_accepted(answer: Answer, what: str, *, advice: str) -> None:
    """Demand ok: true."""
    expect(
        answer,
        answer.fields.get("ok") is True,
        that=f"{what} is accepted with ok: true",
        observed=answer.came,
        advice=advice,
    )


def expect_each_answered(answers: Iterable[Answer], *, advice: str) -> None:
    """Demand a result from each of several calls."""
    for answer in answers:
        expect_answered(answer, advice=advice)


def expect_first_as_good_as_later(first: Answer, later: Answer) -> None:
    """Demand that the first call is accepted; blocked by CFG-001 where a later one is not accepted either."""
    accepted = first.fields.get("ok") is True
    if not accepted and later.fields.get("ok") is not True:
        raise Blocked(RequirementId("CFG-001"), f"the config under test is not accepted: {later.came}", later.frames)
    expect_accepted(
        first, "the config under test, in the first call after initialize", advice="Prepare nothing elsewhere."
    )
