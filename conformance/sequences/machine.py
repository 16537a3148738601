"""The state machine: Hypothesis chooses the steps.

Steps are chosen from closed lists only, so that the same seed gives the same sequences wherever it runs.
"""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from conformance.evidence import Blocked
from conformance.sequences.actions import FILES, Action, Kind
from conformance.sequences.broken import Broken
from conformance.sequences.driver import Driver
from conformance.sequences.facts import Facts, Standing
from conformance.sequences.search import Search

A_FILE = st.sampled_from((*FILES, FILES[0]))
AN_END = st.sampled_from((Kind.RELEASE, Kind.DESTROY))
ABOUT_THE_GONE = st.sampled_from((Kind.RELEASE_THE_GONE, Kind.DESTROY_THE_GONE, Kind.RESUME_THE_GONE))
ANOTHER_WORKER = st.sampled_from((Kind.RESTART, Kind.KILL, Kind.KILL_IN_A_WRITE))


def explore(search: Search, seed: int, count: int, steps: int, home: Path) -> None:
    """Run `count` sequences of at most `steps` steps. Raises what the first one that went wrong raised."""
    options = hypothesis.settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),  # pyright: ignore[reportArgumentType] # an enum of a metaclass
        phases=[hypothesis.Phase.generate],
    )
    machine = type("Sequence", (Machine,), {"search": search})
    set_hypothesis_home_dir(home)
    try:
        run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=options)
    finally:
        set_hypothesis_home_dir(None)


class Machine(RuleBasedStateMachine):
    """One sequence: its rules, and when each may be chosen."""

    search: ClassVar[Search]

    def __init__(self) -> None:
        super().__init__()
        # Hypothesis plays a sequence that went wrong once more; it is known already.
        hypothesis.assume(self.search.found is None)
        self.actions: list[Action] = []
        self.went_wrong = False
        self.facts: dict[str, Facts] = {}
        self._drive(self._begin())
        self.search.ran += 1

    async def _begin(self) -> None:
        self.facts = await self.driver.begin()

    @property
    def driver(self) -> Driver:
        """Does what the rules say."""
        return self.search.driver

    def take(self, kind: Kind, lease: str = "", file: str = "") -> None:
        """Take one step."""
        self.actions.append(Action(kind, lease, file))
        self._drive(self.driver.do(self.actions[-1], self.facts))

    def _drive(self, call: Coroutine[Any, Any, Any]) -> None:
        try:
            self.search.drive(call)
        except (Broken, Blocked) as ended:
            self.went_wrong = True
            self.search.note(ended, self.actions)
            raise

    def teardown(self) -> None:
        """See what became of it all, unless the sequence went wrong before, and end what it made."""
        if not self.facts:
            return
        try:
            if not self.went_wrong:
                self._drive(self.driver.look_at_all(self.facts))
        finally:
            self._drive(self.driver.end(self.facts))

    def active(self, data: st.DataObject) -> str:
        """One of the leases that take commands."""
        return data.draw(
            st.sampled_from([name for name, each in self.facts.items() if each.standing is Standing.ACTIVE])
        )

    @precondition(lambda self: "C" not in self.facts)
    @rule()
    def acquire(self) -> None:
        """One more lease."""
        self.take(Kind.ACQUIRE)

    @rule(data=st.data(), file=A_FILE)
    def write(self, data: st.DataObject, file: str) -> None:
        """A file of an active lease."""
        self.take(Kind.WRITE, self.active(data), file)

    # Twice, because most sequences should find out what became of what they wrote.
    write_more = write

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        """All files of an active lease, written or not."""
        self.take(Kind.READ, self.active(data))

    @precondition(lambda self: "B" in self.facts)
    @rule()
    def release(self) -> None:
        """The reusable lease, once or again."""
        self.take(Kind.RELEASE, "B")

    @precondition(lambda self: "B" in self.facts)
    @rule()
    def resume(self) -> None:
        """The reusable lease, released or not."""
        self.take(Kind.RESUME, "B")

    @precondition(lambda self: "C" in self.facts)
    @rule(how=AN_END)
    def end(self, how: Kind) -> None:
        """The lease that the sequence made, once or again."""
        self.take(how, "C")

    @rule(how=ABOUT_THE_GONE)
    def come_back_to_the_gone(self, how: Kind) -> None:
        """A call about a lease that was destroyed before; only a reusable one is ever resumed."""
        self.take(how if "B" in self.facts else Kind.DESTROY_THE_GONE)

    @rule(how=ANOTHER_WORKER, file=A_FILE)
    def replace_the_worker(self, how: Kind, file: str) -> None:
        """Another worker after an orderly end, after a crash, or after one in the middle of a command."""
        if how is Kind.KILL_IN_A_WRITE:
            self.take(how, "A", file)
        else:
            self.take(how)
