"""A worker's environment is built from nothing, and its first message is the host's."""

from uuid import UUID

import pytest

from conformance.contract import load_contract
from conformance.host.environment import REGISTER_DRIVERS, initialize_params, worker_environment
from tests.host.live import live_provider

ROW = UUID(int=7)

ALWAYS = {
    "PATH",
    "NODE_PATH",
    "PAPERCLIP_PLUGIN_ID",
    "NODE_ENV",
    "TZ",
    "PAPERCLIP_DEPLOYMENT_MODE",
    "PAPERCLIP_DEPLOYMENT_EXPOSURE",
}
MODEL_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")
ABSENT = ("HOME", "USER", "TMPDIR", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "CLOUD_API_KEY")

OWN = {"PATH": "/bin", **dict.fromkeys([*MODEL_KEYS, *IN_CLUSTER, *ABSENT], "x")}


def test_nothing_is_inherited() -> None:
    assert set(worker_environment(OWN, ROW, ())) == ALWAYS


def test_values_come_from_the_host_where_it_has_them() -> None:
    own = {"PATH": "/bin", "NODE_PATH": "/modules", "NODE_ENV": "test", "TZ": "Asia/Tokyo"}

    environment = worker_environment(own, ROW, ())

    assert {key: environment[key] for key in own} == own


def test_defaults_stand_where_the_host_has_none() -> None:
    environment = worker_environment({"PATH": "/bin"}, ROW, ())

    assert environment["NODE_PATH"] == ""
    assert environment["NODE_ENV"] == "production"
    assert environment["TZ"] == "UTC"


def test_the_plugin_id_is_the_one_of_the_row_and_not_of_the_manifest() -> None:
    assert worker_environment({}, ROW, ())["PAPERCLIP_PLUGIN_ID"] == str(ROW)


@pytest.mark.parametrize("name", [*MODEL_KEYS, *IN_CLUSTER])
def test_model_keys_and_cluster_addresses_need_the_capability_to_register_drivers(name: str) -> None:
    assert name in worker_environment(OWN, ROW, [REGISTER_DRIVERS])
    assert name not in worker_environment(OWN, ROW, ["http.outbound"])


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_ones_are_left_out(blank: str) -> None:
    assert set(worker_environment({"OPENAI_API_KEY": blank}, ROW, [REGISTER_DRIVERS])) == ALWAYS


def test_what_the_author_asks_for_is_handed_on() -> None:
    environment = worker_environment(OWN, ROW, (), ["CLOUD_API_KEY", "NOT_SET"])

    assert set(environment) == {*ALWAYS, "CLOUD_API_KEY"}


def test_initialize_brings_the_manifest_an_empty_config_and_four_facts_about_the_instance() -> None:
    params = initialize_params({"id": "acme.cloud"}, load_contract("2026.824"))

    assert params == {
        "manifest": {"id": "acme.cloud"},
        "config": {},
        "instanceInfo": {
            "instanceId": "default",
            "hostVersion": "0.0.0",
            "deploymentMode": "local_trusted",
            "deploymentExposure": "private",
        },
        "apiVersion": 1,
        "databaseNamespace": None,
    }


@pytest.mark.asyncio
async def test_a_live_worker_has_this_environment_and_a_directory_outside_its_package() -> None:
    async with live_provider() as provider:
        proc = f"/proc/{provider.worker.process_id}"
        with open(f"{proc}/environ", "rb") as file:  # noqa: ASYNC230, PTH123 - a file of the kernel
            names = {entry.partition(b"=")[0].decode() for entry in file.read().split(b"\0") if entry}

        assert names == ALWAYS
        assert provider.subject.package.root is None or provider.launch.directory not in (
            provider.subject.package.root,
            *provider.subject.package.root.parents,
        )
