"""A report folder as a real run would leave it, made in no time: the real header, and checks that all pass."""

import datetime as dt
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from conformance.events import EventWriter
from conformance.plan import Plan, make_plan
from conformance.record import advertised, declared, header
from conformance.reports.write import write_all
from conformance.settings import Options, read_settings

Change = Callable[[dict[str, Any]], None]


def plan(folder: Path) -> Plan:
    """Make the plan of a run on the reference provider."""
    settings = read_settings(Options("reference"), {}, folder)
    return make_plan(settings, folder / "work")


def genuine(
    folder: Path,
    digest: str | None = None,
    *,
    started: dt.datetime | None = None,
    states: Mapping[str, str] | None = None,
    change: Change = lambda _: None,
) -> Path:
    """Write a report whose subject is a tarball of that digest; `change` may spoil the header before it is written."""
    made = plan(folder)
    top = json.loads(json.dumps(header(made)))
    moment = dt.datetime.now(dt.UTC) if started is None else started
    top["run"]["started"] = moment.isoformat(timespec="seconds")
    top["subject"].update(name="@acme/sandbox", version="1.2.0", tarball_digest=digest)
    change(top)
    found: Mapping[str, str] = {} if states is None else states
    ids = dict.fromkeys(each for ids in made.required.values() for each in ids)
    with EventWriter(folder / "events.jsonl", clock=lambda: 0.0) as writer:
        writer.write("header", **top)
        writer.write("declared", **json.loads(json.dumps(declared(made.subject))))
        methods = [name for rule in made.subject.contract.capabilities.values() for name in rule.prerequisites]
        writer.write("advertised", **json.loads(json.dumps(advertised(made.subject, methods))))
        for check in made.checks:
            if check.requirement not in ids:
                continue
            about: dict[str, Any] = {"id": check.requirement, "name": check.name}
            needs = check.declaration.needs
            writer.write("check-start", **about, level="MUST", area="lease", profile=None, cost="free", needs=needs)
            writer.write("observation", **about, expected="yes", observed="yes", holds=True, frames=[])
            writer.write("check-end", **about, state=found.get(check.requirement, "pass"), frames=[])
    write_all(folder / "events.jsonl", folder)
    return folder
