"""The ledger on the disk: whole after any death, without secrets, and in the way of a call that it cannot hold."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from conformance.account import Account, add_up, read_account
from conformance.budget import Budget
from conformance.errors import EnvironmentFault, UsageFault
from conformance.host.lease import Keeper, Lease
from conformance.host.setup import Setup, Template
from conformance.host.tenant import Tenant
from conformance.journal import Journal
from conformance.ledger import Ending, Entry, Kind, Ledger
from conformance.model import JsonObject
from conformance.purse import Purse
from conformance.redact import Redactor

from .host.live import TRACE, live_bench

SECRET = "a-secret-value-6b1f"  # noqa: S105 - what must not be found
CONFIG: JsonObject = {"image": "base", "token": SECRET, "reuseLease": True}


def tenant() -> Tenant:
    return Tenant.make(random.Random(1))  # noqa: S311 - ids that can be repeated


def opened(path: Path) -> tuple[Ledger, Journal]:
    journal = Journal(path, Redactor({"token": SECRET}), frozenset({"token"}))
    journal.open({"run": "r", "shard": 0})
    return Ledger("L", journal), journal


def lease(ledger: Ledger, name: str | None = "sbx-1") -> Entry:
    keeper = Keeper("driver", "plugin", frozenset({"pluginId"}), frozenset({"token"}))
    entry = ledger.intend("check", params={"config": CONFIG, "runId": "run-1"})
    answer = {"providerLeaseId": name, "metadata": {"note": f"made with {SECRET}"}}
    ledger.answer(entry, keeper.lease(entry.label, tenant(), {"config": CONFIG, "agentId": "a"}, answer))
    return entry


def written(path: Path) -> Account:
    account = read_account(path)
    assert account is not None
    return account


def a_whole_life(path: Path) -> bytes:
    """One ledger with every kind of line."""
    ledger, journal = opened(path)
    journal.worker(1)
    kept, gone, refused, nameless = (
        lease(ledger),
        lease(ledger, "sbx-2"),
        ledger.intend("check"),
        ledger.intend("check"),
    )
    setup = ledger.intend("check", Kind.SETUP, {"config": CONFIG})
    ledger.answer(setup, Setup("set-1", tenant(), CONFIG, None, None, {}))
    template = ledger.intend("check", Kind.TEMPLATE, {"config": CONFIG})
    ledger.answer(template, Template("tpl-1", "snapshot", tenant(), CONFIG, {}))
    ledger.settle(gone, Ending.DESTROYED)
    ledger.doubt(gone.label)
    ledger.settle(gone, Ending.RELEASED)
    ledger.settle(refused, Ending.NEVER_OPENED)
    ledger.settle(nameless, Ending.UNKNOWN)
    ledger.settle(kept, Ending.UNKNOWN)
    journal.end()
    journal.close()
    return path.read_bytes()


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger, journal = opened(path)
    entry = lease(ledger)
    setup = ledger.intend("check", Kind.SETUP, {"config": CONFIG})
    ledger.answer(setup, Setup("set-1", tenant(), CONFIG, "tpl-0", "snapshot", {"a": [1, None]}))
    template = ledger.intend("check", Kind.TEMPLATE, {"config": CONFIG})
    ledger.answer(template, Template("tpl-1", "snapshot", tenant(), CONFIG, {"b": "c"}))
    journal.close()

    told = written(path).entries

    assert isinstance(entry.held, Lease)
    restored = told[entry.label].restored(CONFIG).lease
    assert restored is not None
    assert restored.config == {**entry.held.config, "note": "made with [redacted:token]"}
    assert (restored.id, restored.tenant, restored.run) == (entry.held.id, entry.held.tenant, entry.held.run)
    assert told[setup.label].restored(CONFIG) == setup
    assert told[template.label].restored(CONFIG) == template


def test_no_secret_is_in_it(tmp_path: Path) -> None:
    assert SECRET.encode() not in a_whole_life(tmp_path / "ledger.jsonl")


def test_a_secret_that_is_a_word_of_json_leaves_json_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    journal = Journal(path, Redactor({"token": "null", "other": "true"}), frozenset())
    journal.open({"run": None, "flag": True, "text": "nullified"})
    journal.close()

    assert written(path).header["text"] == "[redacted:token]ified"


def may_exist(label: str, said: list[Any]) -> bool:
    """The truth by the lines that are whole, told in the dullest way."""
    endings = [line for line in said if line.get("label") == label and line["entry"] in {"settled", "doubted"}]
    return not endings or endings[-1]["entry"] == "doubted" or endings[-1]["how"] == "unknown"


def test_no_death_at_any_byte_loses_what_may_exist(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    whole, start, said = a_whole_life(path), 0, list[Any]()
    for line in whole.splitlines(keepends=True):
        labels = [each["label"] for each in said if each["entry"] == "intent"]
        still_open = [label for label in labels if may_exist(label, said)]
        named = {each["label"] for each in said if each["entry"] == "answered"}
        # A line that lacks its newline only may count as well: nobody has acted upon it yet.
        for end in range(start, start + len(line) - 1):
            account = add_up(path, whole[:end])
            if not said:
                assert account is None
                continue
            assert account is not None
            assert list(account.entries) == labels
            assert [entry.label for entry in account.open] == still_open
            assert {entry.label for entry in account.entries.values() if entry.id is not None} == named
        start += len(line)
        said.append(json.loads(line))


def test_a_ledger_that_was_cut_can_be_written_on(tmp_path: Path) -> None:
    whole, cut = a_whole_life(tmp_path / "whole.jsonl"), tmp_path / "cut.jsonl"
    first, *lines = whole.splitlines(keepends=True)
    start = len(first)
    for line in lines:
        for end in (start, start + 1, start + len(line) // 2, start + len(line) - 1):
            cut.write_bytes(whole[:end])
            before = written(cut)
            journal = Journal(cut, Redactor({}), frozenset())
            for entry in before.open:
                journal.settled(entry.restored({}), Ending.DESTROYED)
            journal.close()
            after = written(cut)
            assert (after.open, after.damaged) == ([], 0)
            assert list(after.entries) == list(before.entries)
        start += len(line)


def test_a_line_about_an_entry_that_is_lost_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger, journal = opened(path)
    ledger.settle(lease(ledger), Ending.DESTROYED)
    journal.close()
    path.write_bytes(b"\n".join(line for line in path.read_bytes().split(b"\n") if b'"intent"' not in line))

    assert not written(path).settled


@pytest.mark.parametrize("text", ["{}\n", "no ledger\n", '{"entry":"ledger","schema":"ledger/2"}\n', "\n\n"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(UsageFault, match="no ledger"):
        read_account(path)


def test_a_full_disk_stops_the_acquire_before_it_is_sent() -> None:
    async def acquire_on_a_full_disk() -> list[str]:
        async with live_bench() as bench:
            journal = Journal(Path("/dev/full"), Redactor({}), frozenset())
            provider = await bench.provider(TRACE)
            provider.ledger.record = journal
            with pytest.raises(EnvironmentFault, match=r"No space left on device. Nothing is opened") as caught:
                await provider.acquire()
            assert caught.value.sentence().count(". ") == 1
            assert provider.ledger.entries == []
            provider.ledger.record = None
            journal.close()
            return [frame.data.decode() for frame in provider.worker.peer.transcript.frames]

    assert not [line for line in asyncio.run(acquire_on_a_full_disk()) if "environmentAcquireLease" in line[:80]]


def test_a_disk_that_fills_up_stops_the_next_acquire_and_closes_the_last(tmp_path: Path) -> None:
    async def fill_up_after_an_acquire() -> tuple[Ledger, Account]:
        async with live_bench() as bench:
            path = tmp_path / "ledger.jsonl"
            journal = Journal(path, Redactor({}), frozenset())
            journal.open({})
            provider = await bench.provider(TRACE)
            ledger = provider.ledger
            ledger.record = journal
            first = await provider.acquire()
            full = Journal(Path("/dev/full"), Redactor({}), frozenset())
            ledger.record = full
            found = provider.leased(first)
            assert found is not None
            await provider.destroy(found)
            with pytest.raises(EnvironmentFault):
                await provider.acquire()
            full.close()
            journal.close()
            return ledger, written(path)

    ledger, account = asyncio.run(fill_up_after_an_acquire())
    assert ledger.all_closed
    # The line that closes it is lost: it will be closed once more, which does no harm.
    assert [entry.label for entry in account.open] == ["L1"]


def test_a_lease_that_cannot_be_written_down_is_not_counted_as_spent(tmp_path: Path) -> None:
    purse = Purse(tmp_path / "purse", Budget())
    full = Journal(Path("/dev/full"), Redactor(), frozenset())
    ledger = Ledger(record=full, purse=purse)

    with pytest.raises(EnvironmentFault):
        ledger.intend("check")

    assert (purse.spent().opened, purse.spent().open) == (0, 0)
    full.close()
    purse.close()


def test_two_processes_cannot_write_one_ledger(tmp_path: Path) -> None:
    _, journal = opened(tmp_path / "ledger.jsonl")

    with pytest.raises(BlockingIOError):
        Journal(tmp_path / "ledger.jsonl", Redactor({}), frozenset())

    journal.close()
    Journal(tmp_path / "ledger.jsonl", Redactor({}), frozenset()).close()
