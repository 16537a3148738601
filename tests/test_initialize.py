"""Bad starts, each told with what the worker said; and starts that only look bad."""

import asyncio
from pathlib import Path

import pytest

from conformance.judge import Result
from conformance.model import State
from tests.kill import judge_provider, violated
from tests.packages import (
    BROKEN_JSON,
    EXITS,
    GLUED_NOISE,
    MANIFEST,
    NEVER_ANSWERS,
    NOT_OK,
    answering,
    write_package,
)

RULES = [f"INIT-{number:03}" for number in range(1, 12)]

IMPATIENT = {"initialize": 3.0}
"""For the worker that never answers: long enough for a slow machine to start Node and print a line."""

GOOD_ANSWER = 'if (method === "initialize") send({ id, result: { ok: true, supportedMethods: ["health"] } });'
REFUSAL = 'else send({ id, error: { code: -32004, message: "not yet" } });'


def judged(folder: Path, worker: str) -> list[Result]:
    """The results of the start's checks on one worker."""
    package = write_package(folder / "package", manifest=MANIFEST, worker=worker)
    limits = IMPATIENT if worker == NEVER_ANSWERS else None
    return asyncio.run(judge_provider(str(package), RULES, limits=limits)).results


def of(results: list[Result], name: str) -> Result:
    """The result of one check."""
    return next(result for result in results if result.check.name == name)


@pytest.mark.parametrize(
    ("worker", "says"),
    [
        (EXITS, ("exited with code 3 during initialize", "Error: no backend is configured")),
        ("export const plugin = {};\n", ("exited with code 0 during initialize", "wrote nothing to stderr")),
        ("import './no-such-file.js';\n", ("exited with code 1", "ERR_MODULE_NOT_FOUND")),
        (NEVER_ANSWERS, ("not answered within 3 s (limit `initialize`)", "ended with: waiting for the backend")),
        (NOT_OK, ("its result is not ok", "ended with: the key was rejected")),
        (answering('send({ id, error: { code: -32002, message: "no login" } });'), ("error -32002: no login",)),
        (answering("send({ id, result: null });"), ("its result is not ok",)),
        (GLUED_NOISE, ("Box 1.0 is ready",)),
        (BROKEN_JSON, ("On stdout came", "ok")),
        (answering("send({ id: String(id), result: { ok: true } });"), ("came back as the string",)),
    ],
    ids=["exits", "exports", "imports", "silent", "not-ok", "error", "null", "noise", "broken-json", "text-id"],
)
def test_a_bad_start_is_one_finding_with_the_workers_words(tmp_path: Path, worker: str, says: tuple[str, ...]) -> None:
    results = judged(tmp_path, worker)

    finding = of(results, "the_worker_answers_initialize_in_time")
    assert finding.state is State.FAIL
    for text in says:
        assert text in finding.observed
    # A check with a gate is about setups, which this package does not offer.
    rest = [result for result in results if result is not finding and result.check.declaration.when is None]
    assert {(result.state, result.blocked_by) for result in rest} == {(State.BLOCKED, "INIT-001")}


@pytest.mark.parametrize(("worker", "rule"), [(GLUED_NOISE, "RPC-002"), (BROKEN_JSON, "RPC-001")])
def test_what_is_wrong_on_the_wire_is_told_as_that_too(tmp_path: Path, worker: str, rule: str) -> None:
    assert rule in violated(judged(tmp_path, worker))


def test_the_end_of_a_long_stderr_is_shown(tmp_path: Path) -> None:
    worker = 'console.error("x".repeat(20_000)); console.error("the last line"); process.exit(1);\n'

    assert "the last line" in of(judged(tmp_path, worker), "the_worker_answers_initialize_in_time").observed


def test_ok_has_to_be_true_and_nothing_like_it(tmp_path: Path) -> None:
    worker = answering('send({ id, result: { ok: "yes", supportedMethods: [] } });')

    assert of(judged(tmp_path, worker), "the_worker_answers_initialize_in_time").state is State.FAIL


def test_log_lines_and_questions_before_the_answer_are_fine(tmp_path: Path) -> None:
    worker = answering(
        'send({ method: "log", params: { level: "info", message: "starting" } });',
        'if (method) send({ id: 1, method: "state.get", params: { scopeKind: "instance", stateKey: "k" } });',
        GOOD_ANSWER,
        REFUSAL,
    )

    results = judged(tmp_path, worker)

    assert of(results, "the_worker_answers_initialize_in_time").state is State.PASS


def test_a_missing_method_is_named_whether_it_is_listed_or_not(tmp_path: Path) -> None:
    results = judged(tmp_path, answering(GOOD_ANSWER, REFUSAL))

    listed = of(results, "every_listed_method_is_there")
    needed = of(results, "what_every_run_needs_is_there")
    assert (listed.state, needed.state) == (State.FAIL, State.FAIL)
    assert "health is there" in listed.expected
    assert "environmentValidateConfig is there" in needed.expected
    assert of(results, "the_methods_that_end_a_lease_are_listed").state is State.FAIL


def test_a_worker_that_dies_of_a_call_is_not_taken_for_one_that_lacks_it(tmp_path: Path) -> None:
    results = judged(tmp_path, answering(GOOD_ANSWER, "else process.exit(9);"))

    result = of(results, "every_listed_method_is_there")
    assert (result.state, result.blocked_by) == (State.BLOCKED, "LIFE-006")
