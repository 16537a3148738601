"""What the reaper does once its run is gone."""

import pickle
from pathlib import Path

from conformance.account import Account, read_account
from conformance.errors import ConformanceError
from conformance.reaper.guard import remove_work
from conformance.wire.leftovers import end_orphans, end_workers

SHARED_LIMIT_S = 600.0
"""How long the reapers of parallel processes may need what the main process has unpacked (our choice)."""


def clean_up(ledger: Path, work: Path, job: bytes) -> None:
    """End the processes of the run, close what its ledger has open, and remove its directory."""
    account = _read(ledger)
    if account is None or not account.ended:
        end_workers(account.workers if account is not None else ())
        end_orphans(work)
    try:
        if account is not None and account.open:
            _close(ledger, job)
    finally:
        remove_work(work, wait_s=SHARED_LIMIT_S)


def _close(ledger: Path, job: bytes) -> None:
    # Heavy, and not needed by a run that has closed everything itself.
    from conformance.reaper.close import LOCK_LIMIT_S, reap  # noqa: PLC0415

    try:
        settings = pickle.loads(job)  # noqa: S301 - from the run itself, through a pipe of its own
        reap(ledger, settings, wait_s=LOCK_LIMIT_S)
    except ConformanceError:
        return  # told where it came up
    except Exception as error:  # noqa: BLE001 - nobody sees a traceback here, and a silent leak is the worst of all
        told = f"The reaper failed: {type(error).__name__}: {error}. Try `provider-conformance reap`.\n"
        ledger.with_suffix(".txt").write_text(told, encoding="utf-8")


def _read(ledger: Path) -> Account | None:
    try:
        return read_account(ledger)
    except (OSError, ConformanceError):
        return None
