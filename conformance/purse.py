"""What the kit processes of one run have opened together, kept in one small file.

The file is an SQLite database: it gives a lock over processes that a killed one cannot keep, and a half-done change is
undone by the next who looks. A lease of a killed process still counts, for nobody has closed it.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from pathlib import Path

from conformance.budget import Budget
from conformance.evidence import CheckEnded

SHARED = "shared"
"""Owner of the worker and the leases that many checks of a process use."""

LOCK_S = 30.0
"""How long one process waits for another to let go of the file (our choice; a change takes a millisecond)."""

CLOSING_S = 1.0
"""Lease-seconds set aside for closing each open lease, so that the bound holds at the end too (our choice)."""

ERRORS_IN_A_ROW = 3
"""Environment errors one after another that end a run: what is broken stays broken, and each may cost a lease."""

_TABLES = """
create table if not exists lease (
    process integer, label text, owner text, opened real, closed real, lost integer default 0,
    primary key (process, label)
);
create table if not exists reservation (
    process integer, owner text, slots integer, fresh integer, claimed integer default 0,
    primary key (process, owner)
);
create table if not exists running (process integer, owner text, since real, primary key (process, owner));
create table if not exists quiet (process integer, owner text);
create table if not exists fact (name text primary key, value text);
"""


class Stop(StrEnum):
    """Why no check that needs the backend is started any more."""

    BUDGET = "budget"
    ENVIRONMENT = "environment"


class Grant(Enum):
    """Whether leases could be set aside."""

    YES = "yes"
    LATER = "later"
    BUSY = "busy"
    """Another process wants to be the only one at the backend for a while, or this one waits until it is."""

    NEVER = "never"


@dataclass(frozen=True)
class Spent:
    """What was opened so far, over all processes. `lost`: nobody could confirm that they are closed."""

    opened: int
    open: int
    lost: int
    seconds: float


@dataclass(frozen=True)
class Running:
    """A check that runs now, in any process, and since when by the monotonic clock."""

    check: str
    since: float


class OverBudget(CheckEnded):
    """A check wanted a lease that the budget does not allow."""


class NoRoom(OverBudget):
    """As many are open as may be; that changes when others end."""


@dataclass
class Purse:
    """The budget of a run and what is left of it. One object a process; all share the file at `path`."""

    path: Path
    budget: Budget
    clock: Callable[[], float] = time.monotonic
    process: int = field(default_factory=os.getpid)

    def __post_init__(self) -> None:
        """Open the file, or make it."""
        # Only what reads is called from another thread; SQLite itself keeps the two apart.
        self._file = sqlite3.connect(self.path, timeout=LOCK_S, isolation_level=None, check_same_thread=False)
        # What a power cut would lose is of no use to anyone afterwards.
        self._file.execute("pragma synchronous = off")
        self._file.executescript(_TABLES)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def spent(self) -> Spent:
        """What was opened so far."""
        row = self._file.execute(
            "select count(*), count(*) - count(closed), sum(lost), sum(ifnull(closed, ?) - opened) from lease",
            (self.clock(),),
        ).fetchone()
        return Spent(opened=row[0], open=row[1], lost=row[2] or 0, seconds=round(row[3] or 0.0, 3))

    @property
    def stopped(self) -> tuple[Stop, str] | None:
        """Why the run was stopped, in a word and in a sentence; None while it goes on."""
        return self._stopped()

    def reserve(self, wants: Mapping[str, tuple[int, int]], *, quiet: bool = False) -> tuple[Grant, str]:
        """Set leases aside for owners of this process, all or none: how many at once, and how many new ones in all.

        With `quiet` no check of another process has any until these are given back. The sentence says what is in the
        way.
        """
        with self._change():
            stopped = self._stopped()
            if stopped is not None:
                return Grant.NEVER, stopped[1]
            if self._others_are_busy(wants, quiet=quiet):
                return Grant.BUSY, ""
            sentence = self._no_time_left()
            fresh = sum(new for _, new in wants.values())
            if not sentence and fresh and self._promised(except_for=wants) + fresh > self.budget.leases:
                sentence = f"No more than {self.budget.leases} leases may be opened (--max-leases)."
            if sentence:
                self._stop(Stop.BUDGET, sentence)
                return Grant.NEVER, sentence
            others = self._in_use(except_for=wants)
            mine = sum(max(slots, self._open_of(owner)) for owner, (slots, _) in wants.items())
            if fresh and others + mine > self.budget.at_once:
                return self._later(mine)
            self._file.executemany(
                "insert or replace into reservation (process, owner, slots, fresh) values (?, ?, ?, ?)",
                [(self.process, owner, slots, new) for owner, (slots, new) in wants.items()],
            )
            return Grant.YES, ""

    def anyone_inside(self) -> bool:
        """Whether a check of any process that lives has leases set aside."""
        with self._change():
            return any(self._lives(process) for process in self._inside())

    def give_back(self, owner: str, slots: int = 0) -> None:
        """An owner of this process needs no more than `slots` from now on."""
        with self._change():
            for table in ("reservation", "quiet"):
                # One of two names of ours.
                statement = f"delete from {table} where process = ? and owner = ?"  # noqa: S608
                self._file.execute(statement, (self.process, owner))
            if slots:
                self._file.execute(
                    "insert into reservation (process, owner, slots, fresh) values (?, ?, ?, 0)",
                    (self.process, owner, slots),
                )

    def give_all_back(self) -> None:
        """This process will open no more leases. On a full disk nothing is written; its end then says the same."""
        with contextlib.suppress(sqlite3.Error), self._change():
            self._forget(self.process)

    def claim(self, owner: str, label: str) -> None:
        """Count a lease before it is asked for. Raises `OverBudget` where none was set aside and there is no room."""
        stopped = self._stopped() if self.out_of_time() else None
        if stopped is not None:
            raise OverBudget(stopped[1])
        with self._change():
            row = self._file.execute(
                "select slots, fresh - claimed from reservation where process = ? and owner = ?", (self.process, owner)
            ).fetchone()
            slots, fresh = row if row is not None else (0, 0)
            if fresh < 1 and self._promised() + 1 > self.budget.leases:
                raise OverBudget(f"No more than {self.budget.leases} leases may be opened (--max-leases).")
            if self._open_of(owner) + 1 > slots and self._in_use() + 1 > self.budget.at_once:
                raise NoRoom(f"{self.budget.at_once} leases are open, and no more may be (--max-concurrent-leases).")
            self._file.execute(
                "update reservation set claimed = claimed + 1 where process = ? and owner = ?", (self.process, owner)
            )
            self._open(owner, label)

    def opened(self, owner: str, label: str) -> None:
        """A lease is there that was not asked for."""
        with self._change():
            self._open(owner, label)

    def closed(self, label: str) -> None:
        """A lease was confirmed closed."""
        self._set(label, "closed = ifnull(closed, ?), lost = 0", self.clock())

    def lost(self, label: str) -> None:
        """Nobody knows what became of a lease: it counts until somebody does."""
        self._set(label, "closed = null, lost = 1")

    def never_opened(self, label: str) -> None:
        """There was no lease after all."""
        self._file.execute("delete from lease where process = ? and label = ?", (self.process, label))

    def hand_over(self, label: str, owner: str) -> None:
        """A lease belongs to another owner of this process from now on."""
        self._file.execute("update lease set owner = ? where process = ? and label = ?", (owner, self.process, label))

    def out_of_time(self) -> bool:
        """Whether the lease-seconds are used up; then the run is stopped."""
        with self._change():
            sentence = self._no_time_left()
            if sentence and self._stopped() is None:
                self._stop(Stop.BUDGET, sentence)
            return bool(sentence)

    def met(self, *, environment_error: bool) -> None:
        """Note how a check that needs the backend ended: several environment errors in a row stop the run."""
        with self._change():
            errors = 1 + int(self._fact("errors") or 0) if environment_error else 0
            self._note("errors", str(errors))
            if errors >= ERRORS_IN_A_ROW and self._stopped() is None:
                self._stop(Stop.ENVIRONMENT, f"{errors} environment errors in a row ended the run.")

    def runs(self, check: str, *, now: bool) -> None:
        """A check of this process runs now, or does no more."""
        if now:
            row = (self.process, check, self.clock())
            self._file.execute("insert or replace into running (process, owner, since) values (?, ?, ?)", row)
        else:
            self._file.execute("delete from running where process = ? and owner = ?", (self.process, check))

    def running(self) -> list[Running]:
        """The checks that run now, in all processes."""
        return [Running(*row) for row in self._file.execute("select owner, since from running").fetchall()]

    @property
    def told(self) -> bool:
        """Whether it was said that nothing was spent so far: before that no lease is opened."""
        return self._fact("told") is not None

    def tell(self) -> None:
        """It was said."""
        with self._change():
            self._note("told", "yes")

    @contextlib.contextmanager
    def _change(self) -> Generator[None]:
        self._file.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._file.execute("rollback")
            raise
        self._file.execute("commit")

    def _open(self, owner: str, label: str) -> None:
        self._file.execute(
            "insert or replace into lease (process, label, owner, opened) values (?, ?, ?, ?)",
            (self.process, label, owner, self.clock()),
        )

    def _set(self, label: str, change: str, *values: float) -> None:
        # `change` is one of the few texts above.
        statement = f"update lease set {change} where process = ? and label = ?"  # noqa: S608
        self._file.execute(statement, (*values, self.process, label))

    def _open_of(self, owner: str) -> int:
        query = "select count(*) from lease where process = ? and owner = ? and closed is null"
        return int(self._file.execute(query, (self.process, owner)).fetchone()[0])

    def _in_use(self, except_for: Mapping[str, object] | None = None) -> int:
        """Leases that are open or set aside, of all owners but some of this process."""
        query = """
            select process, owner, max(slots) from (
                select process, owner, count(*) as slots from lease where closed is null group by process, owner
                union all select process, owner, slots from reservation
            ) group by process, owner
        """
        return sum(
            slots
            for process, owner, slots in self._file.execute(query)
            if not (process == self.process and owner in (except_for or ()))
        )

    def _promised(self, except_for: Mapping[str, object] | None = None) -> int:
        """Leases that were opened, or that were set aside and may still be."""
        opened = int(self._file.execute("select count(*) from lease").fetchone()[0])
        rows = self._file.execute("select process, owner, max(fresh - claimed, 0) from reservation")
        return opened + sum(
            fresh for process, owner, fresh in rows if not (process == self.process and owner in (except_for or ()))
        )

    def _later(self, mine: int) -> tuple[Grant, str]:
        for (process,) in self._file.execute("select distinct process from reservation").fetchall():
            self._lives(process)
        stuck = sum(
            1
            for process, lost in self._file.execute("select process, lost from lease where closed is null").fetchall()
            if lost or not self._lives(process)
        )
        if mine + stuck <= self.budget.at_once:
            return Grant.LATER, ""
        others = f", and {stuck} were never confirmed closed" if stuck else ""
        sentence = f"It takes {mine} leases at once{others}; {self.budget.at_once} may be (--max-concurrent-leases)."
        return Grant.NEVER, sentence

    def _lives(self, process: int) -> bool:
        with contextlib.suppress(PermissionError):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                self._forget(process)
                return False
        return True

    def _forget(self, process: int) -> None:
        self._file.execute("delete from reservation where process = ?", (process,))
        self._file.execute("delete from quiet where process = ?", (process,))

    def _others_are_busy(self, wants: Mapping[str, object], *, quiet: bool) -> bool:
        alone = self._file.execute("select process from quiet where process != ?", (self.process,)).fetchall()
        if any(self._lives(process) for (process,) in alone):
            return True
        if not quiet:
            return False
        # Noted before the others have left: none of them is let in any more.
        self._file.execute("delete from quiet where process = ?", (self.process,))
        owners = [(self.process, owner) for owner in wants if owner != SHARED]
        self._file.executemany("insert into quiet values (?, ?)", owners)
        return any(self._lives(process) for process in self._inside() if process != self.process)

    def _inside(self) -> list[int]:
        rows = self._file.execute("select process from reservation where owner != ?", (SHARED,)).fetchall()
        return [process for (process,) in rows]

    def _no_time_left(self) -> str:
        spent = self.spent()
        if spent.seconds + spent.open * CLOSING_S < self.budget.seconds:
            return ""
        return f"{spent.seconds:.0f} of {self.budget.seconds:g} lease-seconds are spent (--max-lease-seconds)."

    def _stopped(self) -> tuple[Stop, str] | None:
        kind, sentence = self._fact("stop"), self._fact("why")
        return None if kind is None or sentence is None else (Stop(kind), sentence)

    def _stop(self, kind: Stop, sentence: str) -> None:
        self._note("stop", kind)
        self._note("why", sentence)

    def _note(self, name: str, value: str) -> None:
        self._file.execute("insert or replace into fact (name, value) values (?, ?)", (name, value))

    def _fact(self, name: str) -> str | None:
        row = self._file.execute("select value from fact where name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])
