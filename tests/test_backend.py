"""The author's hooks: what they are given, what is believed of them, and what is said when they fail."""

import asyncio
import random
import sys
from pathlib import Path

import pytest

from conformance.backend import Backend, Listing, new_since
from conformance.errors import EnvironmentFault
from conformance.evidence import Trace, Undecided
from conformance.hooks import Hooks
from conformance.host.lease import Lease
from conformance.host.tenant import Tenant
from conformance.ledger import Ledger
from conformance.model import LeaseId, RequirementId

TRACE = Trace(RequirementId("LEASE-010"), "a_check")
LIST = (sys.executable, "-c", "import os, sys; print('\\n'.join(os.listdir(sys.argv[1])))")
REMOVE = (sys.executable, "-c", "import os, sys; os.rmdir(sys.argv[1])")


def lease(number: str) -> Lease:
    return Lease("L1", LeaseId(number), {}, None, {}, Tenant.make(random.Random(1)), frozenset())  # noqa: S311


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    for name in ("box-1", "box-2"):
        (tmp_path / "boxes" / name).mkdir(parents=True)
    hooks = Hooks((*LIST, str(tmp_path / "boxes")), (*REMOVE, f"{tmp_path}/boxes/{{id}}"))
    return Backend(TRACE, hooks, {"PATH": "/usr/bin:/bin"})


def test_a_sandbox_is_seen_and_removed(backend: Backend) -> None:
    async def remove() -> Listing:
        await backend.remove(lease("box-1"))
        return await backend.look()

    assert asyncio.run(remove()).sandboxes == {"box-2"}


def test_a_list_of_other_names_decides_nothing(backend: Backend) -> None:
    with pytest.raises(Undecided, match="providerLeaseIds"):
        asyncio.run(backend.look_for(lease("another")))


def test_a_kill_that_does_nothing_is_no_evidence_against_the_provider(backend: Backend) -> None:
    idle = Backend(TRACE, Hooks(backend.hooks.inventory, ("true",)), backend.environment)

    with pytest.raises(EnvironmentFault, match="still lists box-1"):
        asyncio.run(idle.remove(lease("box-1")))


def test_the_runs_own_leases_are_no_leftovers() -> None:
    ledger = Ledger()
    ledger.intend("a_check").held = lease("mine")
    before, now = Listing(TRACE, frozenset({"old"})), Listing(TRACE, frozenset({"old", "mine", "left"}))

    assert new_since(before, now, ledger) == ["left"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("no-such-program",), "cannot be started"),
        ((sys.executable, "-c", "raise SystemExit('no credentials')"), "ended with 1: no credentials"),
    ],
)
def test_a_hook_that_fails_is_the_environments_fault(command: tuple[str, ...], says: str) -> None:
    with pytest.raises(EnvironmentFault, match=says):
        Hooks(command).list_sandboxes({})


def test_without_a_place_the_id_comes_last(tmp_path: Path) -> None:
    (tmp_path / "box").mkdir()

    Hooks(None, REMOVE).remove_sandbox(str(tmp_path / "box"), {})

    assert list(tmp_path.iterdir()) == []
