"""PROBE: the trial of a draft. Its word is measured by what an acquire with the same config does."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from conformance.answer import Answer, answer_of
from conformance.backend import Backend
from conformance.checks import check
from conformance.evidence import Blocked, show
from conformance.expect import REFUSALS, expect, expect_answered, expect_none_of, expect_nothing_left, expect_shape
from conformance.form import own_fields, wrong_value
from conformance.gates import A_SECRET_IN_THE_CONFIG, A_TEMPLATE_BINDING, AN_INVENTORY, SECRET_FIELDS
from conformance.host.lease import Lease
from conformance.model import Cost, Json, JsonObject, Level, RequirementId, items_of, object_of
from conformance.provider import Provider
from conformance.states import WRONG_SECRET, with_wrong_secrets
from conformance.steps import run_to_success

MUST, SHOULD = Level.MUST, Level.SHOULD

INSTANCE = "instance"
"""What hosts send in place of a company's UUID when nobody's company is meant."""


@check("PROBE-001", level=MUST, cost=Cost.OWN)
async def the_probe_answers_in_time(provider: Provider) -> None:
    """The probe of a valid config answers within 120 s with ok as true or false; a later answer is dropped."""
    answer = there(await answer_of(provider.probe()))

    expect_shape(answer, advice="Answer {ok, summary, diagnostics}, and bound what the probe waits for.")


@check("PROBE-001", level=SHOULD, cost=Cost.OWN)
async def the_probe_says_yes_where_a_lease_works(provider: Provider, lease: Lease) -> None:
    """A config with which sandboxes start and commands run is one that the probe says yes to."""
    await run_to_success(provider, lease, "true")

    answer = await probe_of(provider, provider.config)

    expect(
        answer,
        answer.fields.get("ok") is True,
        that="the probe of a config whose leases work answers ok: true",
        observed=answer.came,
        advice="Let the probe do what acquire and execute do, and nothing that they can do without.",
    )


@check("PROBE-002", level=MUST, cost=Cost.OWN)
async def the_probe_needs_no_saved_environment(provider: Provider) -> None:
    """A draft has the environmentId unsaved, and the companyId may be a word too."""
    usual = await probe_of(provider, provider.config)
    tenant = replace(provider.tenant, company=INSTANCE)

    answer = await answer_of(provider.call("environmentProbe", provider.make.probe(tenant, provider.config)))

    expect_answered(answer, advice="Take companyId and environmentId for opaque texts.")
    expect(
        answer,
        answer.fields.get("ok") is usual.fields.get("ok"),
        that=f"ok is {show(usual.fields.get('ok'))} for the companyId {INSTANCE}, as it is for any other",
        observed=answer.came,
        advice="Take companyId and environmentId for opaque texts.",
    )


@check("PROBE-003", level=SHOULD, cost=Cost.OWN, when=A_TEMPLATE_BINDING)
async def a_template_that_does_not_exist_is_found_out(provider: Provider, lease: Lease) -> None:
    """Where no sandbox can start from the config, the probe says so, with a reason, and before the first run."""
    await run_to_success(provider, lease, "true")
    config = config_from_template(provider, f"no-such-template-{provider.new_id()}")

    await expect_honest_probe(provider, config, "a template that does not exist")


@check("PROBE-003", level=SHOULD, cost=Cost.OWN, when=SECRET_FIELDS)
async def wrong_credentials_are_found_out(provider: Provider, lease: Lease) -> None:
    """Where the backend turns the credentials away, the probe says so, with a reason, and before the first run."""
    await run_to_success(provider, lease, "true")

    wrong = dict.fromkeys(provider.subject.secret_fields, WRONG_SECRET)
    await expect_honest_probe(provider, {**provider.config, **wrong}, "wrong credentials")


@check("PROBE-004", level=MUST, cost=Cost.OWN, when=AN_INVENTORY, alone=True)
async def a_probe_leaves_no_sandbox(provider: Provider, backend: Backend, lease: Lease) -> None:
    """No release follows a probe, whether it said yes or no, so what it made to try things has to be removed by it."""
    before = await backend.look_for(lease)
    probed = [await answer_of(provider.probe())]
    if A_SECRET_IN_THE_CONFIG.holds(provider.subject):
        probed.append(await answer_of(provider.probe(with_wrong_secrets(provider, provider.config))))

    await expect_nothing_left(
        probed[-1],
        backend,
        before,
        provider.ledger,
        that="the inventory shows the same sandboxes after a probe as before",
        advice="Remove what the probe has made on every way out of it, the failing ones too.",
    )


@check("PROBE-005", level=MUST, cost=Cost.OWN, when=SECRET_FIELDS)
async def no_secret_stands_in_the_answer_of_a_probe(provider: Provider) -> None:
    """Summary, diagnostics and metadata go to the operator's browser, whether the probe works or not."""
    markers = markers_for(provider)
    for config in (provider.config, *broken_configs(provider)):
        answer = await answer_of(provider.probe({**config, **markers}))
        expect_none_of(
            answer,
            markers.values(),
            answer.came if answer.fault is not None else show(answer.result),
            where="the answer of the probe",
            advice="Put the reason into words of your own; the error text of a client may quote what it was given.",
        )


@dataclass(frozen=True)
class Trial:
    """How far a lease of some config got. `last` is the answer that decided it."""

    works: bool
    last: Answer


def there(answer: Answer) -> Answer:
    """The answer of a method that exists; blocked by INIT-005 where it does not."""
    if answer.error_code in REFUSALS["unknown or not implemented"]:
        raise Blocked(RequirementId("INIT-005"), answer.came, answer.frames)
    return answer


async def probe_of(provider: Provider, config: JsonObject) -> Answer:
    """A probe with an answer of the right shape; blocked by PROBE-001 where it has none."""
    answer = there(await answer_of(provider.probe(config)))
    if answer.fault is not None or not isinstance(answer.fields.get("ok"), bool):
        raise Blocked(RequirementId("PROBE-001"), f"the probe does not answer with ok: {answer.came}", answer.frames)
    return answer


async def try_lease(provider: Provider, config: JsonObject) -> Trial:
    """Do what the first run would do: acquire, realize, one command. What was made is removed with the check.

    Means something only where the same works with the config under test.
    """
    acquired = await answer_of(provider.acquire(config))
    lease = provider.leased(acquired)
    if lease is None or lease.id is None:
        return Trial(works=False, last=acquired)
    realized = await answer_of(provider.realize(lease))
    if realized.fault is not None:
        return Trial(works=False, last=realized)
    executed = await answer_of(provider.execute(lease, lease.shell, ["-c", "exit 0"]))
    return Trial(executed.fields.get("exitCode") == 0, executed)


def markers_for(provider: Provider) -> Mapping[str, str]:
    """For each secret field a value that no backend knows."""
    return {name: f"secret-{provider.new_id()}" for name in provider.subject.secret_fields}


def config_from_template(provider: Provider, reference: str) -> dict[str, Json]:
    """The config as the host changes it to start from a template."""
    binding = object_of(provider.subject.driver.get("templateConfigBinding"))
    unset = items_of(binding.get("unsetFields"))
    kept = {key: value for key, value in provider.config.items() if key not in unset}
    return {**kept, str(binding.get("field")): reference}


def broken_configs(provider: Provider) -> list[dict[str, Json]]:
    """The config with one setting of a wrong type, for each of the provider's own."""
    fields = own_fields(provider.subject).items()
    return [{**provider.config, name: wrong_value(rule)} for name, rule in fields]


async def expect_honest_probe(provider: Provider, config: JsonObject, what: str) -> None:
    """Demand that a probe says yes exactly where a lease works, and gives a reason where it says no."""
    await probe_of(provider, provider.config)
    # In a process of its own: a worker that dies of such a config must not take other checks along.
    async with provider.fresh_worker() as other:
        answer = await answer_of(other.probe(config))
        trial = await try_lease(other, config)
    advice = "Start a sandbox, run a command in it and compare its output; catch what goes wrong and say ok: false."
    expect(
        answer,
        answer.fields.get("ok") is trial.works,
        that=f"the probe of a config with {what} answers ok: {show(trial.works)}, "
        f"because {trial.last.method} with it gave {trial.last.came}",
        observed=answer.came,
        advice=advice,
    )
    said = [answer.fields.get("summary"), *items_of(answer.fields.get("diagnostics"))]
    expect(
        answer,
        trial.works or any(said),
        that="a probe that says no gives a summary or diagnostics",
        observed=answer.came,
        advice=advice,
    )
