"""The tour of a worker, and what decides whether a rule about the wire applies: facts that no mutant shows."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.evidence import Blocked, Trace
from conformance.gates import OWN_MESSAGES, SDK
from conformance.host.node import Node
from conformance.host.package import Package, SourceKind, open_directory
from conformance.ledger import Ending
from conformance.model import RequirementId
from conformance.tour import UNKNOWN_METHOD, wrong_config
from conformance.wire.transcript import Direction

from .host.live import TRACE, live_bench

OTHER = Trace(RequirementId("RPC-002"), "another test of the kit")


def packed(folder: Path, **description: object) -> Package:
    whole: dict[str, object] = {"name": "paperclip-plugin-some", **description}
    (folder / "package.json").write_text(json.dumps(whole), encoding="utf-8")
    node = Node(Path("node"), "20.0.0", "test", None)
    return open_directory("some", folder, node, folder, SourceKind.DIRECTORY, None)


@pytest.mark.asyncio
async def test_a_tour_is_taken_once_and_leaves_nothing_behind() -> None:
    async with live_bench() as bench:
        await bench.provider(TRACE)
        one, two = await asyncio.gather(bench.tour(TRACE), bench.tour(OTHER))

        assert one.worker is two.worker
        assert (one.trace, two.trace) == (TRACE, OTHER)
        assert {answer.trace.check for answer in two.answers} == {OTHER.check}
        assert one.worker.peer.process.exit_code == 0
        assert all(
            entry.ending in {Ending.RELEASED, Ending.DESTROYED, Ending.NEVER_OPENED} for entry in bench.ledger.entries
        )


@pytest.mark.asyncio
async def test_a_tour_holds_all_that_one_worker_wrote() -> None:
    async with live_bench() as bench:
        tour = await bench.tour(TRACE)
        written = [frame for frame in bench.launch.transcript.frames if frame.direction is Direction.TO_HOST]

        assert tour.lines == [frame for frame in written if frame.worker == tour.worker.number]
        assert [answer.method for answer in tour.answers][:2] == ["initialize", "health"]
        assert tour.answers[-1].method == "shutdown"
        assert UNKNOWN_METHOD in {answer.method for answer, _ in tour.errors}
        said = {str(received.message["method"]) for received in tour.messages}
        assert said >= {"log", "metrics.write", "execute.log"}
        assert tour.misplaced == []
        assert tour.whole() is tour


@pytest.mark.asyncio
async def test_the_frames_of_a_tour_are_the_ones_in_question() -> None:
    async with live_bench() as bench:
        tour = await bench.tour(TRACE)
        frames = [frame.number for frame in tour.lines]

        assert tour.frames == (tour.answers[0].frames[0], tour.answers[-1].frames[-1])
        assert tour.at(*frames[2:4]).frames == tuple(frames[2:4])


@pytest.mark.asyncio
async def test_a_tour_that_a_crash_cut_short_is_not_whole() -> None:
    async with live_bench("mutant:dies-of-wrong-settings") as bench:
        tour = await bench.tour(TRACE)

        with pytest.raises(Blocked) as blocked:
            tour.whole()
        assert blocked.value.by == "LIFE-006"


@pytest.mark.asyncio
async def test_a_wrong_config_is_wrong_in_every_typed_property() -> None:
    async with live_bench() as bench:
        provider = await bench.provider(TRACE)
        wrong = wrong_config(provider)
        answer = await provider.validate_config(wrong)

        assert wrong.keys() == provider.subject.typed_properties.keys() | {"reuseLease"}
        assert len(answer.fields["errors"]) == len(provider.subject.typed_properties)


@pytest.mark.parametrize("key", ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"])
def test_a_package_on_the_sdk_is_known_by_any_kind_of_dependency(tmp_path: Path, key: str) -> None:
    assert packed(tmp_path, **{key: {SDK: "1.0.0", "zod": "4.0.0"}}).dependencies == {SDK, "zod"}


@pytest.mark.parametrize("bad", [None, 3, "text", [SDK]])
def test_dependencies_that_are_no_object_are_none(tmp_path: Path, bad: object) -> None:
    assert packed(tmp_path, dependencies=bad).dependencies == frozenset()


@pytest.mark.asyncio
async def test_raw_line_ends_are_not_held_against_a_worker_on_the_sdk() -> None:
    async with live_bench() as bench:
        on_the_sdk = replace(bench.subject, package=replace(bench.subject.package, dependencies=frozenset({SDK})))

        assert OWN_MESSAGES.holds(bench.subject)
        assert not OWN_MESSAGES.holds(on_the_sdk)
