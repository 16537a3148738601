"""Closing by hand what a ledger has open, and what the author's hooks add to that."""

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.account import Account, read_account
from conformance.cli import main
from conformance.hooks import Hooks
from conformance.host.lease import Keeper
from conformance.host.setup import setup_of
from conformance.host.tenant import Tenant
from conformance.journal import Journal
from conformance.ledger import Ending, Entry, Kind, Ledger
from conformance.plan import bench_for, make_plan
from conformance.provider import Provider
from conformance.reaper import inventory
from conformance.reaper.after import clean_up
from conformance.reaper.inventory import Inventory
from conformance.reaper.reference import reference
from conformance.redact import Redactor
from conformance.settings import Options, read_settings
from conformance.wire.transcript import Transcript

from .host.live import TRACE

RUN = "conformance-report/ledger-abc.jsonl"


def left_open(folder: Path, *, nameless: int = 0, secret: str = "", options: Options | None = None) -> Account:
    """The ledger of a run of the reference that died with a lease, a kept lease, a setup and a template open."""
    (folder / "conformance-report").mkdir(exist_ok=True)
    chosen = Options("reference", config=f'{{"root": "{folder / "backend"}"}}', seed=1) if options is None else options

    async def run() -> None:
        settings = read_settings(chosen, {"TOKEN": secret}, folder)
        plan = make_plan(settings, folder)
        journal = Journal(folder / RUN, Redactor(settings.secrets), plan.subject.secret_names)
        journal.open(reference(plan, chosen, folder, folder / "work", 0))
        bench = bench_for(plan, Transcript(), folder / "work", {"PATH": "/usr/bin:/bin"}, journal=journal)
        provider = await bench.provider(TRACE)
        await open_some(provider)
        for _ in range(nameless):
            bench.ledger.intend("check")
        bench.kill_workers()
        journal.close()

    asyncio.run(run())
    return account_of(folder)


async def open_some(provider: Provider) -> None:
    await provider.acquire()
    kept = provider.leased(await provider.acquire(provider.reuse_config))
    assert kept is not None
    await provider.release(kept)
    setup = provider.set_up(await provider.start_setup())
    assert setup is not None
    await provider.capture_template(setup)


def account_of(folder: Path) -> Account:
    account = read_account(folder / RUN)
    assert account is not None
    return account


def backend(folder: Path) -> list[str]:
    return sorted(path.name[:3] for path in (folder / "backend").iterdir())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a run; no list of machines lags behind here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inventory, "LATE_S", 0.0)
    return tmp_path


def test_everything_is_closed_and_nothing_the_second_time(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [entry.kind for entry in left_open(here).open] == ["lease", "lease", "setup", "template"]
    assert backend(here) == ["ref", "ref", "ref", "tpl"]

    assert main(["reap"]) == 0

    assert backend(here) == []
    assert capsys.readouterr().out.count("asked for by") == 4
    written = (here / RUN).read_bytes()
    assert main(["reap", "conformance-report"]) == 0
    assert "Nothing was open." in capsys.readouterr().out
    assert (here / RUN).read_bytes() == written


def test_what_the_ledger_has_not_opened_is_not_touched(here: Path) -> None:
    left_open(here)
    (here / "other").mkdir()
    foreign = [path.rename(here / "other" / path.name) for path in (here / "backend").glob("ref-*")]
    left_open(here)
    for path in foreign:
        path.rename(here / "backend" / path.name)

    assert main(["reap", RUN]) == 0

    assert {path.name for path in (here / "backend").iterdir()} >= {path.name for path in foreign}


def test_an_acquire_without_an_answer_is_settled_by_an_inventory_that_knows_every_sandbox(here: Path) -> None:
    left_open(here, nameless=1)

    assert main(["reap", RUN]) == 0

    assert [entry.ending for entry in account_of(here).entries.values() if entry.id is None] == ["never-opened"]


def test_an_acquire_without_an_answer_stays_unknown_beside_a_sandbox_that_nobody_knows(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left_open(here, nameless=1)
    stranger = here / "backend" / f"ref-{'0' * 32}"
    stranger.mkdir()

    assert main(["reap", RUN]) == 20

    assert stranger.name in capsys.readouterr().out
    assert stranger.exists()
    assert [entry.id for entry in account_of(here).open] == [None]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--provider-config", '{"root": "/elsewhere"}'], "The config is not the one of the run"),
        (["--provider", "mutant:no-such"], "There is no mutant"),
        (["--provider", "sh", "--provider-manifest", "m"], "--provider-manifest goes only with"),
    ],
)
def test_another_provider_or_config_closes_nothing(
    here: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    left_open(here)

    assert main(["reap", RUN, *arguments]) == 4

    assert why in capsys.readouterr().err
    assert len(account_of(here).open) == 4
    assert backend(here) == ["ref", "ref", "ref", "tpl"]


def test_a_secret_comes_from_the_environment_and_is_asked_for_by_name(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'[config]\nroot = "{here / "backend"}"\n[secrets]\ntoken = "TOKEN"\n'
    (here / "conformance.toml").write_text(text, encoding="utf-8")
    options = Options("reference", file="conformance.toml", seed=1)
    left_open(here, secret="a-real-token-9c1", options=options)  # noqa: S106 - what must not be found
    assert b"a-real-token" not in (here / RUN).read_bytes()
    monkeypatch.delenv("TOKEN", raising=False)

    assert main(["reap", RUN]) == 4
    assert "TOKEN" in capsys.readouterr().err

    monkeypatch.setenv("TOKEN", "a-real-token-9c1")
    assert main(["reap", RUN]) == 0
    assert backend(here) == []
    assert b"a-real-token" not in (here / RUN).read_bytes()


def test_a_ledger_in_use_is_left_to_its_owner(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left_open(here)
    owner = Journal(here / RUN, Redactor(), frozenset())

    assert main(["reap", RUN]) == 4

    owner.close()
    assert "still works" in capsys.readouterr().err
    assert len(account_of(here).open) == 4


def test_a_reaper_that_fails_says_so_and_removes_the_directory_of_the_run(here: Path) -> None:
    left_open(here)

    clean_up(here / RUN, here / "work", b"no settings")

    assert "The reaper failed: UnpicklingError" in (here / RUN).with_suffix(".txt").read_text(encoding="utf-8")
    assert not (here / "work").exists()
    assert len(account_of(here).open) == 4


def test_no_ledger_is_nothing_to_do_and_a_wrong_name_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reap"]) == 0
    assert main(["reap", "nowhere.jsonl"]) == 4
    assert "nowhere.jsonl: there is no such file" in capsys.readouterr().err
    assert here.exists()


# --- the hooks


def lease(ledger: Ledger, name: str | None) -> Entry:
    keeper = Keeper("driver", "plugin", frozenset(), frozenset())
    entry = ledger.intend("check")
    tenant = Tenant.make(random.Random(1))  # noqa: S311 - ids that can be repeated
    if name is not None:
        ledger.answer(entry, keeper.lease(entry.label, tenant, {}, {"providerLeaseId": name}))
    return entry


def setup(ledger: Ledger, name: str) -> Entry:
    entry = ledger.intend("check", Kind.SETUP)
    tenant = Tenant.make(random.Random(1))  # noqa: S311 - ids that can be repeated
    ledger.answer(entry, setup_of(tenant, {}, {"providerLeaseId": name}))
    return entry


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Hooks]:
    """A backend of names in a directory, and its hooks."""
    monkeypatch.setattr(inventory, "LATE_S", 0.0)

    def make(*names: str, kill: bool = True) -> Hooks:
        for name in names:
            (tmp_path / name).touch()
        removing = f"import os, sys; os.remove({str(tmp_path)!r} + '/' + sys.argv[1])"
        return Hooks(("ls", str(tmp_path)), (sys.executable, "-c", removing) if kill else None)

    return make


def settled(ledger: Ledger, hooks: Hooks, closed: list[Entry] | None = None, *, looked_before: bool = False) -> str:
    async def settle() -> str:
        looking = Inventory(ledger, hooks, {"PATH": "/usr/bin:/bin"})
        if looked_before:
            await looking.look()
        return await looking.settle(closed or [])

    return asyncio.run(settle())


def test_what_is_listed_is_removed_and_then_gone(machines: Callable[..., Hooks], tmp_path: Path) -> None:
    ledger = Ledger()
    entries = [lease(ledger, "a"), lease(ledger, "b"), setup(ledger, "c")]

    assert settled(ledger, machines("a", "c", "foreign")) == ""

    assert [entry.ending for entry in entries] == [Ending.GONE] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["foreign"]


def test_what_is_listed_stays_open_where_nothing_removes_it(machines: Callable[..., Hooks]) -> None:
    ledger = Ledger()
    alive, gone = lease(ledger, "a"), lease(ledger, "b")

    assert settled(ledger, machines("a", kill=False)) == ""

    assert (alive.is_open, gone.ending) == (True, Ending.GONE)


def test_a_list_of_other_names_proves_nothing(machines: Callable[..., Hooks]) -> None:
    ledger = Ledger()
    entry, nameless = lease(ledger, "a"), lease(ledger, None)

    assert "other names" in settled(ledger, machines("machine-1"))

    assert entry.is_open
    assert nameless.is_open


def test_an_empty_list_proves_that_nothing_lives(machines: Callable[..., Hooks]) -> None:
    ledger = Ledger()
    entry, nameless = lease(ledger, "a"), lease(ledger, None)

    assert settled(ledger, machines()) == ""

    assert (entry.ending, nameless.ending) == (Ending.GONE, Ending.NEVER_OPENED)


def test_a_sandbox_that_nobody_named_may_be_the_one(machines: Callable[..., Hooks], tmp_path: Path) -> None:
    ledger = Ledger()
    entry, nameless = lease(ledger, "a"), lease(ledger, None)

    assert "perhaps one of those without an id: stranger." in settled(ledger, machines("a", "stranger"))

    assert (entry.ending, nameless.is_open) == (Ending.GONE, True)
    assert [path.name for path in tmp_path.iterdir()] == ["stranger"]


def test_a_destroy_that_did_nothing_is_found_out(machines: Callable[..., Hooks], tmp_path: Path) -> None:
    ledger = Ledger()
    hooks, entry = machines("a"), lease(ledger, "a")
    ledger.settle(entry, Ending.DESTROYED)

    assert settled(ledger, hooks, [entry], looked_before=True) == ""

    assert (entry.disproved, entry.ending) == (Ending.DESTROYED, Ending.GONE)
    assert list(tmp_path.iterdir()) == []


def test_a_hook_that_fails_settles_nothing_and_is_told() -> None:
    ledger = Ledger()
    entry = lease(ledger, "a")

    assert "The hook inventory" in settled(ledger, Hooks(("false",)))

    assert entry.is_open


def test_without_a_hook_everything_stays_as_it_is() -> None:
    ledger = Ledger()
    entry = lease(ledger, None)

    assert settled(ledger, Hooks()) == ""

    assert entry.is_open
