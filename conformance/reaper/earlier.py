"""The ledgers that lie beside a report: those of this run, and what earlier ones have left."""

import contextlib
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from conformance.account import Account, read_account
from conformance.errors import UsageFault

PATTERN = "ledger-*.jsonl"

WORK_PREFIX = "provider-conformance-"
"""How the name of a run's private directory starts."""


def ledger_path(folder: Path, work: Path) -> Path:
    """Where the ledger of a process lies; its private directory lends it a name that no other has."""
    return folder / f"ledger-{work.name.rpartition('-')[2]}.jsonl"


def clear(folder: Path) -> list[Account]:
    """Remove the ledgers of earlier runs that are settled, and return those that are not."""
    left = list[Account]()
    for path in ledgers_in(folder):
        with contextlib.suppress(OSError, UsageFault):
            if in_use(path):
                continue
            account = read_account(path)
            if account is not None and not account.settled:
                left.append(account)
                continue
            path.unlink()
            path.with_suffix(".txt").unlink(missing_ok=True)
    return left


def ledgers_in(folder: Path) -> list[Path]:
    """Every ledger in a report folder, the oldest first."""
    return sorted(folder.glob(PATTERN), key=lambda path: (path.stat().st_mtime, path.name))


def complaint(left: Sequence[Account]) -> str:
    """Say in a sentence what earlier runs have left."""
    leases = [entry for account in left for entry in account.open]
    named = sum(entry.id is not None for entry in leases)
    files = ", ".join(account.path.name for account in left)
    return (
        f"Earlier runs left {len(leases)} lease{'' if len(leases) == 1 else 's'} that may still exist, "
        f"{named} of them with a known id ({files}). "
        "`provider-conformance reap` closes what can be closed."
    )


def in_use(path: Path) -> bool:
    """Whether a process holds this ledger. Raises `OSError` when it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
