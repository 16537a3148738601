"""The kit's requests have exactly the keys of a recorded host's, method by method."""

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.answer import Answer, answer_of
from conformance.contract import load_contract
from conformance.evidence import Trace
from conformance.host.lease import REALIZATION, Keeper, Lease
from conformance.host.setup import REDACTED, Setup, redact, template_of
from conformance.host.tenant import Tenant, secret_id
from conformance.model import JsonObject, RequirementId, object_of
from conformance.provider import Provider
from conformance.steps import acquire_lease, realized_lease
from conformance.wire.transcript import Direction
from tests.host.frames import Message, Summary, as_json, read_summary, recordings, summarize
from tests.host.live import live_bench, live_provider

RECORDINGS = Path(__file__).parents[2].parent / "shared" / "contract" / "host-transcripts"

LATER_METHODS = {
    "duplexChannelOpen": "byte channels exist from 2026.831 on",
    "duplexChannelWrite": "byte channels exist from 2026.831 on",
    "duplexChannelClose": "byte channels exist from 2026.831 on",
}
"""Recorded from host 2026.916.1, and not part of revision 2026.824."""

LATER_KEYS = {
    "sandboxLeaseAcquisition": "hosts note from 2026.916 on whether a lease was created or resumed",
    "remoteExecutionTermination": "hosts keep the receipt of a release from 2026.916 on",
}
"""Keys of recorded lease records that a host of revision 2026.824 does not write."""

NOT_MEASURED = {
    "traceparent": "part of an invocation while the host measures a step of a run; the kit measures none",
}
"""Recorded keys that are always optional and that the kit never sends."""

NOT_RECORDED = {
    "health": frozenset[str](),
    "setupTokenPtyOpen": frozenset(
        {"hostRouteId", "driverKey", "companyId", "environmentId", "providerLeaseId", "command"}
    ),
    "setupTokenPtyInput": frozenset({"workerSessionId", "data"}),
    "setupTokenPtyStop": frozenset({"workerSessionId"}),
    "setupTokenPtyClose": frozenset({"hostRouteId"}),
}
"""Params of methods that no recording holds: no host sends `health`, and login terminals were not recorded."""

OPERATION: JsonObject = {"operationId": "sync-op-1", "files": []}

SECRET = "the value of a secret"  # noqa: S105 - a marker


@pytest.fixture(scope="module")
def recorded() -> Summary:
    return {
        method: {path: {keys.difference(LATER_KEYS, NOT_MEASURED) for keys in sets} for path, sets in parts.items()}
        for method, parts in read_summary().items()
        if method not in LATER_METHODS
    }


@pytest.fixture(scope="module")
def said() -> list[tuple[bool, Message]]:
    return asyncio.run(conversation())


@pytest.fixture(scope="module")
def requests(said: list[tuple[bool, Message]]) -> list[Message]:
    return [message for from_host, message in said if from_host and "method" in message]


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not part of this repository")
def test_the_stored_summary_is_that_of_the_recordings() -> None:
    assert as_json(summarize(recordings(RECORDINGS))) == as_json(read_summary())


def test_every_request_has_the_keys_of_a_recorded_one(recorded: Summary, said: list[tuple[bool, Message]]) -> None:
    sent = summarize([said])

    kit = {method: parts for method, parts in sent.items() if method not in NOT_RECORDED}
    assert as_json(kit) == as_json(recorded)


def test_requests_that_no_recording_holds_have_the_keys_of_the_contract(said: list[tuple[bool, Message]]) -> None:
    sent = summarize([said])

    assert {method: parts["params"] for method, parts in sent.items() if method in NOT_RECORDED} == {
        method: {keys} for method, keys in NOT_RECORDED.items()
    }


def test_every_method_of_the_revision_is_sent_and_fits_its_schema(requests: list[Message]) -> None:
    contract = load_contract("2026.824")

    assert {message["method"] for message in requests} == set(contract.methods)
    problems = {
        message["method"]: [str(problem) for problem in contract.params_problems(message["method"], message["params"])]
        for message in requests
    }
    assert {method: found for method, found in problems.items() if found} == {}


def test_an_invocation_stands_beside_the_params_where_the_contract_says_so(requests: list[Message]) -> None:
    contract = load_contract("2026.824")

    for message in requests:
        assert ("paperclipInvocation" in message) == contract.methods[message["method"]].invocation, message["method"]


def test_every_difference_between_the_revisions_still_exists() -> None:
    stored = read_summary()
    keys = {key for parts in stored.values() for sets in parts.values() for each in sets for key in each}

    assert set(LATER_METHODS) <= set(stored)
    assert set(LATER_KEYS) | set(NOT_MEASURED) <= keys
    assert not set(NOT_RECORDED) & set(stored)


def test_a_lease_record_holds_the_id_of_a_secret_and_the_config_its_value() -> None:
    lease = lease_of({"token": SECRET, "image": "a"}, {"remoteCwd": "/w", "token": SECRET})

    assert SECRET not in json.dumps(lease.on_the_wire)
    assert lease.record["token"] == secret_id("token")
    assert lease.config["token"] == SECRET
    assert lease.orphan_config["token"] == SECRET


def test_the_config_of_later_calls_is_the_record_without_internal_keys() -> None:
    lease = lease_of(
        {"image": "a", "timeoutMs": 5}, {"remoteCwd": "/w", "shellCommand": "bash", "own": 1, "image": "b"}
    )

    assert set(lease.config) == {"image", "timeoutMs", "own", "agentId"}
    assert lease.config["image"] == "b"
    assert set(lease.orphan_config) >= {"driver", "pluginId", "pluginKey", "remoteCwd", "executionWorkspaceMode"}
    assert "provider" not in lease.orphan_config


@pytest.mark.parametrize(
    ("metadata", "cwd", "shell"),
    [
        ({}, "/tmp", "sh"),
        ({"remoteCwd": "", "shellCommand": "zsh"}, "/tmp", "sh"),
        ({"remoteCwd": 5, "shellCommand": None}, "/tmp", "sh"),
        ({"remoteCwd": "/w", "shellCommand": "bash"}, "/w", "bash"),
    ],
)
def test_directory_and_shell_fall_back_as_the_host_does(metadata: JsonObject, cwd: str, shell: str) -> None:
    lease = lease_of({}, metadata)

    assert (lease.remote_cwd, lease.shell) == (cwd, shell)


@pytest.mark.parametrize("result", [None, "text", [], 5])
def test_an_answer_that_is_no_object_holds_no_lease(result: object) -> None:
    assert keeper().lease("L1", tenant(), {"config": {}}, result) is None  # pyright: ignore[reportArgumentType] # any JSON


def test_a_realize_is_kept_in_the_record_and_reaches_the_config() -> None:
    lease = lease_of({}, {"remoteCwd": "/w"}).realized("/host/workspace")

    assert object_of(lease.config[REALIZATION])["remote"] == {"path": "/w"}


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ({"image": "a", "note": "kept"}, {"image": "a", "note": "kept"}),
        (
            {"apiToken": "x", "description": "x", "Url": "x"},
            dict.fromkeys(("apiToken", "description", "Url"), REDACTED),
        ),
        ({"where": "10.0.0.12:22", "how": "ssh a@b"}, {"where": REDACTED, "how": REDACTED}),
        ({"inner": {"password": "x", "size": 3}}, {"inner": {"password": REDACTED, "size": 3}}),
        ({"templateRefRedacted": True, "list": ["ssh a@b", 1]}, {"templateRefRedacted": True, "list": [REDACTED, 1]}),
    ],
)
def test_what_looks_like_a_secret_comes_back_hidden(metadata: JsonObject, kept: Mapping[str, object]) -> None:
    assert redact(metadata) == kept


@pytest.mark.asyncio
async def test_a_setup_and_a_template_that_a_check_leaves_behind_are_removed() -> None:
    async with live_bench() as bench:
        provider = await bench.provider(Trace(RequirementId("SETUP-001"), "leaves things behind"))
        setup = setup_in(provider, await provider.start_setup())
        await provider.capture_template(setup)

        await bench.tidy("leaves things behind", clean=False)

        assert [entry.ending for entry in bench.ledger.entries] == ["destroyed", "destroyed"]
        assert (await provider.get_setup(setup)).fields["status"] == "missing"


async def conversation() -> list[tuple[bool, Message]]:
    """Every request that the kit can make, in every form, and what came back."""
    async with live_provider(config='{"timeoutMs": 20000}') as provider:
        await plugin_calls(provider)
        await environment_test(provider)
        await agent_run(provider)
        await reusable_run(provider)
        await setup_calls(provider)
        await terminal_calls(provider)
        await provider.health()
        await provider.shutdown()
        frames = provider.launch.transcript.frames
        return [
            (frame.direction is Direction.TO_WORKER, json.loads(frame.data))
            for frame in frames
            if frame.direction in {Direction.TO_WORKER, Direction.TO_HOST}
        ]


async def plugin_calls(provider: Provider) -> None:
    await answer_of(provider.validate_plugin_config({"a": 1}))
    await answer_of(provider.config_changed({"a": 1}))
    await provider.validate_config()
    await provider.probe()


async def environment_test(provider: Provider) -> None:
    """What the host does to try a saved environment."""
    lease = provider.leased(await provider.acquire({**provider.config, "archiveOnRelease": True}, bare=True))
    assert lease is not None
    await provider.realize(lease, bare=True)
    await provider.execute(lease, "true", env={"A": "1"})
    await provider.sync_in(lease, [OPERATION])
    await provider.sync_out(lease, [OPERATION])
    await provider.release(lease)


async def agent_run(provider: Provider) -> None:
    lease = await realized_lease(provider)
    await provider.sync_in(lease, [OPERATION])
    await provider.execute(lease, "true")
    await provider.execute(lease, "true", env={})
    await provider.execute(lease, "cat", stdin="text")
    await provider.execute(lease, "cat", env={"A": "1"}, stdin="text")
    await provider.sync_out(lease, [OPERATION])
    await provider.release(lease)
    await provider.destroy(lease, lease.orphan_config)


async def reusable_run(provider: Provider) -> None:
    lease = await realized_lease(provider, reuse=True)
    await provider.execute(lease, "true")
    await provider.sync_in(lease, [OPERATION])
    await provider.sync_out(lease, [OPERATION])
    await provider.release(lease)
    resumed = provider.leased(await provider.resume(lease))
    assert resumed is not None
    await provider.realize(resumed)
    await provider.destroy(lease)


async def setup_calls(provider: Provider) -> None:
    setup = setup_in(provider, await provider.start_setup())
    await provider.get_setup(setup)
    captured = await provider.capture_template(setup)
    await provider.cancel_setup(setup.captured(captured.result), "promoted")
    template = template_of(setup, captured.result)
    assert template is not None
    await provider.delete_template(template)


async def terminal_calls(provider: Provider) -> None:
    lease = await acquire_lease(provider)
    route = provider.new_id()
    await answer_of(provider.open_terminal(lease, route))
    await answer_of(provider.type_into_terminal(provider.new_id(), "keys"))
    await answer_of(provider.stop_terminal(provider.new_id()))
    await provider.close_terminal(route)


def setup_in(provider: Provider, answer: Answer) -> Setup:
    setup = provider.set_up(answer)
    assert setup is not None
    return setup


def keeper() -> Keeper:
    internal = frozenset(load_contract("2026.824").internal_keys)
    return Keeper("cloud", "acme.cloud", internal, frozenset({"token"}))


def tenant() -> Tenant:
    return Tenant.make(random.Random(1))  # noqa: S311 - ids of nobody


def lease_of(config: JsonObject, metadata: JsonObject) -> Lease:
    params: JsonObject = {"config": config, "agentId": "agent", "runId": "run"}
    lease = keeper().lease("L1", tenant(), params, {"providerLeaseId": "sb-1", "metadata": metadata, "expiresAt": None})
    assert lease is not None
    return lease
