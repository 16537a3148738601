"""Whatever the number of parallel processes, the report says the same."""

import json
import re
from pathlib import Path
from typing import Any, cast

from .running import run_pytest

SOME = "MAN-00 or INIT-00 or LEASE-001 or LEASE-02 or EXEC-001 or RPC-002"

TIMES = {"seconds", "limit_share", "frames", "span", "t"}
"""What is about time, or a number of a line of the transcript."""

OF_THE_RUN = {"leases", "stream", "latency_s", "notes"}
"""How a run went. Each process has shared leases of its own, so the balance depends on their number."""

OWN_TO_A_RUN = re.compile(
    r"(?:ref|token|tpl)-[0-9a-f]+|provider-conformance-\w+|[0-9a-f]{8}-[0-9a-f-]{27}"
    r'|(?<="durationMs": )\d+|\d{4}-\d\d-\d\dT[\d:.]+Z'
    r"|P\d+-L\d+|\bL\d+|(?<=pid )\d+|\d+(\.\d+)? m?s\b|\(\d+ more characters\)"
)
"""Names that the provider and the kit make up anew in every run, process ids, and times in sentences."""


def without_times(value: Any) -> Any:
    """A document with everything taken out that two runs of the same seed may differ in."""
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            return {key: without_times(each) for key, each in fields.items() if key not in TIMES | OF_THE_RUN}
        case list():
            return [without_times(each) for each in cast("list[Any]", value)]
        case str():
            return OWN_TO_A_RUN.sub("…", value)
        case _:
            return value


def test_reports_of_one_and_of_four_processes_differ_in_times_only(tmp_path: Path) -> None:
    reports: list[Any] = []
    for number in ("1", "4"):
        # In one directory, so that the paths in what was seen are the same.
        run = run_pytest(tmp_path, "--provider", "reference", "-n", number, "-k", SOME, "--conformance-seed", "7")
        document = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
        assert document["checks"], run.output
        assert document["leases"]["opened"] == document["leases"]["closed"]
        del document["run"]["argv"], document["run"]["started"], document["run"]["config_digest"]
        reports.append(without_times(document))

    first, second = reports
    assert [check["name"] for check in first["checks"]] == [check["name"] for check in second["checks"]]
    for one, other in zip(first["checks"], second["checks"], strict=True):
        assert one == other
    assert first == second
