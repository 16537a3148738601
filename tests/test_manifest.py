"""What the mutants do not show of the manifest checks: that nothing is cut off, and what stands behind what."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.model import State
from tests.kill import judge_provider
from tests.packages import EXITS, MANIFEST, write_package

RULES = [f"MAN-{number:03}" for number in range(1, 19)]


def judged(folder: Path, manifest: Mapping[str, Any] | str | None) -> dict[tuple[str, str], tuple[State, str]]:
    """State and observation of every manifest check, by requirement and name."""
    package = write_package(folder / "package", manifest=manifest)
    run = asyncio.run(judge_provider(str(package), RULES))
    return {
        (result.check.requirement, result.check.name): (result.state, result.observed or result.reason)
        for result in run.results
    }


def with_driver(**fields: object) -> dict[str, Any]:
    """The good manifest, with further or other fields in its driver."""
    return {**MANIFEST, "environmentDrivers": [{**MANIFEST["environmentDrivers"][0], **fields}]}


def test_a_good_manifest_breaks_nothing(tmp_path: Path) -> None:
    states = {state for state, _ in judged(tmp_path, MANIFEST).values()}

    assert states == {State.PASS, State.NOT_APPLICABLE}


def test_nothing_can_be_judged_without_a_manifest(tmp_path: Path) -> None:
    found = judged(tmp_path, None)

    states = {name: state for (_, name), (state, _) in found.items()}
    assert states.pop("the_manifest_is_found_and_is_an_object") is State.FAIL
    assert set(states.values()) <= {State.BLOCKED, State.NOT_APPLICABLE}


@pytest.mark.parametrize("drivers", [[], ["box"], [None], {}])
def test_rules_about_drivers_are_blocked_where_there_is_none(tmp_path: Path, drivers: object) -> None:
    found = judged(tmp_path, {**MANIFEST, "environmentDrivers": drivers})

    for requirement in ("MAN-011", "MAN-014", "MAN-017"):
        assert {state for (number, _), (state, _) in found.items() if number == requirement} == {State.BLOCKED}
    assert found["MAN-010", "a_driver_is_a_sandbox_provider"][0] is State.FAIL


def test_every_place_is_listed_however_many_there_are(tmp_path: Path) -> None:
    invented = {f"capabilityNumber{number}": True for number in range(200)}

    state, observed = judged(tmp_path, with_driver(sandboxCapabilities=invented))[
        "MAN-014", "the_sandbox_capabilities_are_known_and_true_or_false"
    ]

    assert state is State.FAIL
    assert [key for key in invented if f"$.environmentDrivers[0].sandboxCapabilities.{key}:" not in observed] == []


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ({"type": "integer", "minimum": 1, "default": 0}, State.WARN),
        ({"type": "integer", "minimum": 1, "default": 1}, State.PASS),
        ({"enum": ["small", "large"], "default": "medium"}, State.WARN),
        ({"type": ["string", "null"], "default": None}, State.PASS),
        ({"type": "no-such-type", "default": 0}, State.PASS),
        ({"type": "string", "pattern": "(", "default": "a"}, State.PASS),
        ({"$ref": "#/definitions/size", "default": "a"}, State.PASS),
        ({"$ref": "box:///no/such/place", "default": "a"}, State.PASS),
    ],
)
def test_a_default_is_measured_by_its_own_property_as_far_as_that_goes(
    tmp_path: Path, rule: dict[str, Any], state: State
) -> None:
    found = judged(tmp_path, with_driver(configSchema={"type": "object", "properties": {"size": rule}}))

    assert found["MAN-012", "every_default_fits_its_own_property"][0] is state


@pytest.mark.parametrize(
    ("name", "rule", "state"),
    [
        ("apiKey", {"type": "string"}, State.WARN),
        ("ACCESS_TOKEN", {"type": "string"}, State.WARN),
        ("apiKey", {"type": "string", "format": "secret-ref"}, State.PASS),
        ("keyboard", {"type": "string"}, State.PASS),
        ("maxTokens", {"type": "integer"}, State.PASS),
        ("image", {"type": "object", "format": "secret-ref"}, State.WARN),
    ],
)
def test_names_that_sound_like_a_secret_are_asked_about(
    tmp_path: Path, name: str, rule: dict[str, Any], state: State
) -> None:
    found = judged(tmp_path, with_driver(configSchema={"type": "object", "properties": {name: rule}}))

    assert found["MAN-013", "what_sounds_like_a_secret_is_kept_as_one"][0] is state


def test_a_text_between_the_two_ways_to_count_is_a_warning_and_blocks_nothing(tmp_path: Path) -> None:
    package = write_package(
        tmp_path / "package", manifest={**MANIFEST, "displayName": "\N{PACKAGE}" * 100}, worker=EXITS
    )

    run = asyncio.run(judge_provider(str(package), ["MAN-005", "INIT-001"]))

    states = {result.check.name: result.state for result in run.results}
    assert states["names_and_texts_keep_their_lengths"] is State.PASS
    assert states["no_text_is_too_long_for_a_host_that_counts_in_utf_16"] is State.WARN
    assert states["the_worker_answers_initialize_in_time"] is State.FAIL
