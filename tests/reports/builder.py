"""Makes small streams by hand: a run of one provider under a contract of a few rules."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from conformance.events import EVENTS_SCHEMA, Event, EventWriter
from conformance.model import Json, State
from conformance.reports.report import Report
from conformance.reports.tally import tally

CORE = ("MAN-001", "LEASE-001", "EXEC-001")
REUSE = ("LEASE-028",)
SYNC = ("SYNC-001", "SYNC-002")
REQUIRED = {"core": CORE, "reusable-leases": REUSE, "native-sync": SYNC}
NEEDS = {"LEASE-028": "reusableLeases", "SYNC-001": "nativeSyncIn", "SYNC-002": "nativeSyncOut"}
METHODS = (
    "environmentResumeLease",
    "environmentReleaseLease",
    "environmentDestroyLease",
    "environmentSyncIn",
    "environmentSyncOut",
)
NAMES = {
    "MAN-001": "the_manifest_is_found_and_is_an_object",
    "LEASE-001": "an_acquired_lease_has_an_id",
    "EXEC-001": "a_command_reports_its_exit_code",
    "LEASE-028": "resuming_a_destroyed_lease_brings_no_sandbox_back",
    "SYNC-001": "a_file_synced_in_arrives_whole",
    "SYNC-002": "a_file_synced_out_arrives_whole",
    "RPC-050": "answers_carry_no_unknown_keys",
}
STATEMENTS = {
    "MAN-001": "The manifest stands where package.json says, and is an object.",
    "LEASE-001": "Every acquired lease has an id that is not empty.",
    "EXEC-001": "The answer to a command carries the exit code of that command.",
    "LEASE-028": "A destroyed lease is gone: resume says so and hands out no sandbox.",
    "SYNC-001": "A file synced in has the same bytes in the sandbox.",
    "SYNC-002": "A file synced out has the same bytes on the host.",
    "RPC-050": "Answers should carry no keys that the contract does not name.",
}


def _requirement(key: str) -> Json:
    profile = next((name for name, ids in REQUIRED.items() if key in ids), None)
    return {
        "level": "SHOULD" if key == "RPC-050" else "MUST",
        "area": key.partition("-")[0].lower(),
        "statement": STATEMENTS[key],
        "source": "capability document",
        "profile": profile,
    }


def header(**changes: Json) -> dict[str, Json]:
    """Make the header of a run that selects all three profiles; `changes` replace parts of `run`."""
    run: dict[str, Json] = {
        "id": "run-1",
        "started": "2026-11-30T12:00:00Z",
        "seed": 7,
        "argv": ["--provider", "./acme"],
        "profiles": list(REQUIRED),
        "filters": [],
        "limits": {"initialize": {"value": 15, "unit": "s", "default": 15, "changed": False}},
        "config": {"region": "test"},
        "config_digest": "sha256:" + "c" * 64,
        "python": "3.11.2",
        "node": "22.12.0",
        "os": "Linux",
        "custom": [],
        **changes,
    }
    return {
        "schema": EVENTS_SCHEMA,
        "kit": {"name": "sandbox-provider-conformance", "version": "0.1.0", "digest": "d", "checks_digest": "c"},
        "revision": {"id": "2026.824", "package_version": "2026.824.1", "digest": "r"},
        "subject": {
            "source": "./acme",
            "name": "@acme/sandbox",
            "version": "1.2.0",
            "purl": "pkg:npm/%40acme/sandbox@1.2.0",
            "kind": "directory",
            "tarball_digest": None,
            "tree_digest": "sha256:" + "a" * 64,
            "manifest_digest": "sha256:" + "b" * 64,
            "worker_digest": "sha256:" + "d" * 64,
            "plugin_id": "acme.sandbox",
            "driver_key": "acme",
        },
        "run": run,
        "profiles": {name: {"title": name.replace("-", " "), "required": list(ids)} for name, ids in REQUIRED.items()},
        "requirements": {key: _requirement(key) for key in NAMES},
        "coverage": {
            "tested": list(NAMES),
            "not_observable": {"RPC-099": "It happens inside the host."},
            "not_yet": ["TERM-001"],
        },
        "capabilities": {
            "reusableLeases": {
                "title": "Reusable leases",
                "prerequisites": list(METHODS[:3]),
                "opt_in": True,
                "profile": "reusable-leases",
            },
            "nativeSyncIn": {
                "title": "Native sync in",
                "prerequisites": [METHODS[3]],
                "opt_in": False,
                "profile": "native-sync",
            },
            "nativeSyncOut": {
                "title": "Native sync out",
                "prerequisites": [METHODS[4]],
                "opt_in": False,
                "profile": "native-sync",
            },
        },
        "proofs": {"LEASE-028": ["resurrects_destroyed_leases"]},
    }


@dataclass(slots=True)
class Script:
    """A stream in the making. Every event comes a tenth of a second after the one before."""

    top: dict[str, Json] = field(default_factory=header)
    lines: list[tuple[str, dict[str, Json]]] = field(default_factory=list[tuple[str, dict[str, Json]]])

    def add(self, event: str, **fields: Json) -> "Script":
        self.lines.append((event, fields))
        return self

    def declared(self, **capabilities: Json) -> "Script":
        return self.add("declared", driver_key="acme", capabilities=capabilities, flags={}, problems=[])

    def advertised(self, *methods: str) -> "Script":
        plain = {"reusableLeases": True, "nativeSyncIn": METHODS[3] in methods, "nativeSyncOut": METHODS[4] in methods}
        return self.add("advertised", methods=list(methods), effective={"plain": cast("Json", plain)})

    def check(self, key: str, state: State = State.PASS, *, seen: bool = True, **end: Json) -> "Script":
        name = end.pop("name", NAMES[key])
        self.add(
            "check-start",
            id=key,
            name=name,
            level="SHOULD" if key == "RPC-050" else "MUST",
            area=key.partition("-")[0].lower(),
            profile=None,
            cost="free",
            needs=NEEDS.get(key),
        )
        if seen:
            holds = state is not State.FAIL
            self.add("observation", id=key, name=name, expected="yes", observed="yes", holds=holds, frames=[1, 2])
        return self.add("check-end", id=key, name=name, state=state, **end)

    def checks(self, state: State = State.PASS, *keys: str) -> "Script":
        for key in keys:
            self.check(key, state)
        return self

    def events(self) -> Iterator[Event]:
        """Give the finished stream without a file; its digest is made up."""
        yield Event("header", 0.0, self.top, 1)
        for number, (event, fields) in enumerate(self.lines, 2):
            yield Event(event, number / 10, fields, number)
        count = len(self.lines) + 1
        yield Event("footer", count / 10, {"events": count, "digest": "sha256:0"}, count + 1)

    def write(self, path: Path) -> Path:
        """Write the stream with the kit's own writer, on a clock that ticks by tenths."""
        ticks = iter(range(1_000_000))
        with EventWriter(path, clock=lambda: next(ticks) / 10) as writer:
            writer.write("header", **{key: each for key, each in self.top.items() if key != "schema"})
            for event, fields in self.lines:
                writer.write(event, **fields)
        return path

    def report(self) -> Report:
        return tally(self.events())


def good_run(**run: Json) -> Script:
    """Make a run of a provider that keeps every promise it makes."""
    script = Script(header(**run)).declared(reusableLeases=True, nativeSyncIn=True).advertised(*METHODS)
    script.add("lease-open", lease="L1", check=NAMES["LEASE-001"])
    script.checks(State.PASS, *NAMES)
    return script.add("lease-close", lease="L1", how="destroyed")


def bad_run() -> Script:
    """Make a run with one failure, what stands behind it, a broken SHOULD and a lease that is lost."""
    script = Script().declared(reusableLeases=True, nativeSyncIn=None).advertised(*METHODS)
    script.checks(State.PASS, *CORE)
    script.add("lease-open", lease="L1", check=NAMES["LEASE-028"])
    script.check(
        "LEASE-028",
        State.FAIL,
        blame="provider",
        reason="The worker resumed a lease that it had destroyed.",
        sent='environmentResumeLease {"providerLeaseId":"lease-1"}',
        expected="providerLeaseId null, or error -32000 that says the lease is gone",
        observed='{"providerLeaseId":"lease-1"}',
        advice="Forget the lease when it is destroyed, and answer resume with providerLeaseId null.",
        seconds=0.21,
        limit_share=0.85,
        frames=[11, 12],
        replay="pytest --provider ./acme -k resuming_a_destroyed_lease_brings_no_sandbox_back",
    )
    script.add("lease-close", lease="L1", how="unknown")
    script.check("SYNC-001")
    script.check("SYNC-002", State.BLOCKED, seen=False, blocked_by="SYNC-001", reason="Nothing was there to sync out.")
    script.check("RPC-050", State.WARN, blame="provider", reason="The answer has the extra key `debug`.")
    return script
