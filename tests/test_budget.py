"""What a run may cost: bounds are kept, the plan is printed before the first lease, and nobody is certified over it."""

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.collection import load_checks
from conformance.events import EventKind, read_events

from .counting import changes, counting, most_at_once
from .running import processes_of, run_pytest

OWN = "LEASE-002 or LEASE-009 or LEASE-013 or LEASE-020 or SYNC-023"
"""Checks that need many leases for few checks."""


def document(folder: Path) -> Any:
    return json.loads((folder / "certification.json").read_text(encoding="utf-8"))


def states(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for check in document(folder)["checks"]:
        found.setdefault(check["state"], set()).add(check["name"])
    return found


def spent_at_each_opening(folder: Path) -> list[float]:
    """Lease-seconds that were spent when each lease was asked for."""
    opened: dict[str, float] = {}
    closed: dict[str, float] = {}
    for event in read_events(folder / "events.jsonl"):
        if event.kind in {EventKind.LEASE_OPEN, EventKind.LEASE_CLOSE}:
            moments = opened if event.kind == EventKind.LEASE_OPEN else closed
            moments[str(event.fields["lease"])] = float(str(event.fields["at"]))
    return [
        sum(min(now, closed.get(label, now)) - since for label, since in opened.items() if since < now)
        for now in sorted(opened.values())
    ]


def test_the_plan_and_the_free_verdicts_come_before_the_first_lease(tmp_path: Path) -> None:
    run = run_pytest(
        tmp_path, "--provider", "reference", "-v", "-k", "MAN-001 or LEASE-001 or LEASE-020", "--lease-rate", "0.6 EUR"
    )

    lines = run.output.splitlines()
    plan = next(place for place, line in enumerate(lines) if line.startswith("Plan:"))
    said = next(place for place, line in enumerate(lines) if "nothing was spent so far" in line)
    verdicts = [place for place, line in enumerate(lines) if "::" in line]
    free = [place for place in verdicts if "MAN-001" in lines[place]]
    assert plan < min(verdicts)
    assert max(free) < said < min(set(verdicts) - set(free))
    assert "lease-seconds (0." in lines[plan + 1]
    assert "EUR" in lines[plan + 1]
    assert "Budget: at most 200 leases, 6 at once, 3600 lease-seconds" in lines
    assert document(run.report)["leases"]["cost"].endswith(" EUR")


@pytest.mark.parametrize(("processes", "allowed"), [(1, 3), (2, 1), (4, 3)])
def test_there_are_never_more_leases_at_once_than_allowed(tmp_path: Path, processes: int, allowed: int) -> None:
    run = run_pytest(
        tmp_path, *counting(tmp_path), "-n", str(processes), "--max-concurrent-leases", str(allowed), "-k", OWN
    )

    assert 1 <= most_at_once(tmp_path) <= allowed
    assert sum(changes(tmp_path)) == 0
    needs_more = {"two_acquires_at_once_give_two_sandboxes"} if allowed < 2 else set[str]()
    assert states(run.report).get("over-budget", set()) >= needs_more
    assert run.code == (22 if allowed < 2 else 20), run.output
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["alone", "parallel"])
def test_the_run_stops_before_it_opens_more_leases_than_allowed(tmp_path: Path, processes: tuple[str, ...]) -> None:
    run = run_pytest(tmp_path, *counting(tmp_path), *processes, "--max-leases", "5", "-k", f"MAN-001 or {OWN}")

    assert run.code == 22, run.output
    assert 1 <= changes(tmp_path).count(1) <= 5
    told = states(run.report)
    assert told["over-budget"]
    assert told["pass"]
    assert document(run.report)["verdict"] == "incomplete"
    assert "the run will stop before the budget is overrun" in run.output


def test_no_lease_at_all_leaves_the_free_checks(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, *counting(tmp_path), "--max-leases", "0", "-k", "MAN-001 or LEASE-001 or LEASE-020")

    assert run.code == 22, run.output
    assert not (tmp_path / "counted").exists()
    assert states(run.report).keys() >= {"pass", "over-budget"}


def test_the_run_stops_before_it_uses_more_lease_seconds_than_allowed(tmp_path: Path) -> None:
    slow = counting(tmp_path, call=0.3)
    run = run_pytest(tmp_path, *slow, "--max-lease-seconds", "8", "-k", "EXEC or LEASE-020")

    assert run.code == 22, run.output
    assert states(run.report)["over-budget"]
    spent = spent_at_each_opening(run.report)
    assert spent[0] == 0
    assert spent[-1] < 8
    assert sum(changes(tmp_path)) == 0


def test_the_budget_can_stand_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "conformance.toml").write_text('[budget]\nmax-leases = 7\nlease-rate = "2 USD"\n', encoding="utf-8")

    run = run_pytest(
        tmp_path,
        "--provider",
        "reference",
        "--conformance-file",
        "conformance.toml",
        "-k",
        "MAN-001",
        "--max-lease-seconds",
        "60",
    )

    assert "Budget: at most 7 leases, 6 at once, 60 lease-seconds" in run.output
    assert document(run.report)["run"]["budget"] == {
        "max_leases": 7,
        "max_concurrent_leases": 6,
        "max_lease_seconds": 60,
        "rate": {"amount": 2, "currency": "USD"},
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--max-leases", "-1"), "--max-leases -1 is less than none."),
        (("--max-concurrent-leases", "0"), "--max-concurrent-leases 0 is less than one."),
        (("--max-lease-seconds", "nan"), "--max-lease-seconds nan is no time."),
        (("--lease-rate", "EUR"), "--lease-rate 'EUR' is not an amount and a currency."),
    ],
    ids=["leases", "at once", "seconds", "rate"],
)
def test_a_bound_that_makes_no_sense_is_a_usage_error(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", *arguments)

    assert run.code == 4
    assert sentence in run.output


def test_three_errors_of_the_environment_in_a_row_end_the_run(tmp_path: Path) -> None:
    run = run_pytest(
        tmp_path,
        "--provider",
        "reference",
        "--provider-inventory",
        "false",
        "--provider-kill",
        "true",
        "-k",
        "the_inventory_shows or leaves_no_sandbox or that_vanished",
        "-v",
    )

    reasons = [check["reason"] for check in document(run.report)["checks"] if check["state"] == "env-error"]
    told = [reason for reason in reasons if reason == "Not run: 3 environment errors in a row ended the run."]
    assert len(reasons) - len(told) >= 3
    assert told
    assert run.code == 23, run.output
    assert document(run.report)["leases"]["opened"] == document(run.report)["leases"]["closed"]
    assert processes_of(tmp_path) == []


def test_the_first_failure_ends_the_run_and_what_ran_ahead_leaves_nothing(tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    run = run_pytest(
        tmp_path,
        "--provider",
        "mutant:release-of-nothing-fails",
        "--provider-config",
        json.dumps({"root": str(sandboxes)}),
        "-x",
        "-k",
        "LEASE or EXEC-00",
    )

    assert run.code == 1, run.output
    assert len(states(run.report)["fail"]) == 1
    assert document(run.report)["leases"]["unknown"] == 0
    assert [path.name for path in sandboxes.iterdir() if path.is_dir()] == []
    assert processes_of(tmp_path) == []
    assert run.leftovers == []


def test_no_check_has_more_leases_at_once_than_it_declares(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "--provider", "reference", "-k", "LEASE or SETUP or INIT or RPC or PROBE or SEC or LIFE")

    most: dict[str, int] = {}
    now: dict[str, set[str]] = {}
    events = read_events(run.report / "events.jsonl")
    refused = {str(event.fields["lease"]) for event in events if event.fields.get("how") == "never-opened"}
    for event in events:
        if str(event.fields.get("lease")) in refused:
            continue
        if event.kind == EventKind.LEASE_OPEN:
            owner, lease = str(event.fields["check"]), str(event.fields["lease"])
            now.setdefault(owner, set()).add(lease)
            most[owner] = max(most.get(owner, 0), len(now[owner]))
        elif event.kind == EventKind.LEASE_CLOSE:
            for held in now.values():
                held.discard(str(event.fields["lease"]))
    declared = {check.name: check.leases for check in load_checks()}
    assert {"shared", "two_acquires_at_once_give_two_sandboxes"} <= most.keys(), run.output
    assert {name: number for name, number in most.items() if name != "shared" and number > declared[name]} == {}
