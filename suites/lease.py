"""LEASE: what becomes of a sandbox, from acquire to destroy."""

from conformance.checks import Capability, check
from conformance.expect import expect, expect_alive, expect_answered, expect_reported_lost, expect_shape
from conformance.model import Cost, Level
from conformance.provider import Provider, answer_of
from conformance.steps import (
    acquire_lease,
    destroy_lease,
    quote,
    realized_lease,
    release_lease,
    run_to_success,
    write_file,
)

MUST = Level.MUST


@check("LEASE-001", level=MUST, cost=Cost.OWN)
async def acquire_hands_out_a_lease_with_an_id(provider: Provider) -> None:
    """Acquire answers with an object whose providerLeaseId is a non-empty string: the host's only handle."""
    answer = await answer_of(provider.acquire())

    expect_shape(answer)
    expect(
        answer,
        bool(answer.fields.get("providerLeaseId")),
        that="providerLeaseId is a non-empty string",
        observed=answer.came,
        advice="Return the id under which release and destroy find the sandbox again.",
    )


@check("LEASE-014", level=MUST, cost=Cost.OWN)
async def releasing_twice_succeeds_twice(provider: Provider) -> None:
    """The host repeats a release after a timeout, so the second one must succeed like the first."""
    lease = await realized_lease(provider)
    await provider.release(lease)

    again = await answer_of(provider.release(lease))

    expect_answered(again, advice="A lease that is already gone is a success: there is nothing left to do.")
    await expect_alive(provider)


@check("LEASE-017", level=MUST, needs=Capability.REUSABLE_LEASES, cost=Cost.OWN)
async def files_survive_a_reusable_release(provider: Provider) -> None:
    """A release with reuseLease true keeps the files of remoteCwd, so that the next run finds its work again."""
    lease = await realized_lease(provider, reuse=True)
    path = f"{lease.remote_cwd}/kept.txt"
    await write_file(provider, lease, path, "the work of the first run")
    await release_lease(provider, lease)

    resumed = await provider.resume(lease)
    again = provider.leased(resumed)
    expect(
        resumed, again is not None and again.id is not None, that="resume hands the lease out", observed=resumed.came
    )
    seen = await run_to_success(provider, again or lease, f"cat {quote(path)}")

    expect(
        seen,
        seen.stdout == "the work of the first run",
        that="the file is as it was before the release",
        observed=seen.came,
        advice="Suspend the sandbox at release, do not reset it.",
    )


@check("LEASE-028", level=MUST, needs=Capability.REUSABLE_LEASES, cost=Cost.OWN)
async def resuming_a_destroyed_lease_brings_no_sandbox_back(provider: Provider) -> None:
    """A destroyed lease is gone: resume must say so, and never hand out a sandbox, old or new."""
    lease = await acquire_lease(provider, reuse=True)
    await destroy_lease(provider, lease)

    answer = await answer_of(provider.resume(lease))

    expect_reported_lost(answer)
    await expect_alive(provider)
