"""With a secret given: its value travels where the backend needs it, its id everywhere else, and no check is upset."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conformance.collection import load_checks
from conformance.host.tenant import secret_id
from conformance.judge import Judge
from conformance.model import State
from conformance.plan import bench_for, make_plan
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Direction, Transcript

AREAS = {"config", "probe"}
VALUE = "the value of the token"


@pytest.mark.asyncio
async def test_a_given_secret_reaches_the_backend_and_never_the_form_or_the_record(tmp_path: Path) -> None:
    (tmp_path / "conformance.toml").write_text('[secrets]\ntoken = "GIVEN_TOKEN"\n', encoding="utf-8")
    options = Options("reference", file="conformance.toml", seed=1)
    settings = read_settings(options, {**os.environ, "GIVEN_TOKEN": VALUE}, tmp_path)
    bench = bench_for(make_plan(settings, tmp_path), Transcript(), tmp_path, os.environ)
    judge = Judge(bench)
    try:
        results = [await judge.judge(check) for check in load_checks() if check.area in AREAS]
    finally:
        await bench.close()

    states = {result.state for result in results}
    assert states <= {State.PASS, State.NOT_APPLICABLE}
    frames = bench.launch.transcript.frames
    sent: list[Any] = [json.loads(frame.data) for frame in frames if frame.direction is Direction.TO_WORKER]
    requests = [message for message in sent if "method" in message]
    seen = {request["method"] for request in requests if VALUE in json.dumps(request["params"].get("config"))}
    assert {"environmentProbe", "environmentAcquireLease", "environmentExecute", "environmentDestroyLease"} <= seen
    for request in requests:
        params = request["params"]
        outside = {key: value for key, value in params.items() if key != "config"}
        assert VALUE not in json.dumps(outside)
        if request["method"] == "environmentValidateConfig":
            assert VALUE not in json.dumps(params)
    assert any(secret_id("token") in json.dumps(request["params"].get("leaseMetadata")) for request in requests)
