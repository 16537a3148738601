"""CAP: what is promised in the manifest, and whether the worker has the methods behind it."""

import re
from collections.abc import Iterable

from conformance.answer import Answer, answer_of
from conformance.capabilities import lease_situations
from conformance.checks import Capability, check
from conformance.errors import RpcError
from conformance.evidence import show
from conformance.expect import REFUSALS, expect
from conformance.files.compare import expect_tree
from conformance.files.native import UNABLE
from conformance.files.operations import file, operation
from conformance.files.tree import OWNER_BITS, File, tree_of
from conformance.gates import A_DECLARED_CAPABILITY, INTERACTIVE_SETUP, LOGIN_TERMINAL, REUSABLE_LEASES
from conformance.host.lease import Lease
from conformance.model import Cost, Level, MethodName, object_of
from conformance.provider import Provider
from conformance.states import awake
from conformance.steps import advertised_methods
from conformance.transfer.carrier import Carrier
from conformance.view import PackageView

MUST, SHOULD = Level.MUST, Level.SHOULD

MOVED_BYTES = 300_000
"""More than one pipe or one message of an ordinary API takes."""

SYNC_METHODS = (MethodName("environmentSyncIn"), MethodName("environmentSyncOut"))

UNSUPPORTED = re.compile(
    r"unsupported|not (yet )?(supported|implemented|available)|(does not|cannot) support", re.IGNORECASE
)
"""How an error text says that something can never work here, as opposed to having gone wrong this time."""


@check("CAP-001", level=MUST, when=A_DECLARED_CAPABILITY)
async def every_declared_capability_has_its_methods(provider: Provider) -> None:
    """A capability that the manifest declares true has every method that it rests on in supportedMethods."""
    listed = advertised_methods(provider)
    rules = provider.subject.contract.capabilities
    promised = [key for key, value in provider.subject.declared.items() if value is True]
    hollow = {key: missing for key in promised if (missing := _without(listed, rules[key].prerequisites))}
    expect(
        provider.greeting,
        not hollow,
        that=f"the methods behind {', '.join(promised)} are all listed",
        observed="; ".join(
            f"{key} is declared true, but {', '.join(names)} is missing" for key, names in hollow.items()
        )
        or "each has all its methods",
        advice="Write the missing methods, or declare the capability false until they are there.",
    )


@check("CAP-002", level=MUST)
async def both_directions_of_native_sync_are_listed_or_neither(provider: Provider) -> None:
    """With only one of environmentSyncIn and environmentSyncOut the host moves all files over commands."""
    listed = advertised_methods(provider)
    there = [name for name in SYNC_METHODS if name in listed]
    expect(
        provider.greeting,
        len(there) != 1,
        that="environmentSyncIn and environmentSyncOut are both listed, or neither is",
        observed=f"listed of the two: {', '.join(there) or 'none'}",
        advice="Write the other direction as well, or leave both out and let the host use its own way.",
    )


@check("CAP-002", level=SHOULD)
async def the_two_directions_are_declared_alike(package: PackageView) -> None:
    """Declining one direction of native sync declines both, so a promise for the other one is worth nothing."""
    nested = object_of(package.subject.driver.get("sandboxCapabilities"))
    declared = [nested.get(key) for key in (Capability.NATIVE_SYNC_IN, Capability.NATIVE_SYNC_OUT)]
    expect(
        package,
        not (any(value is True for value in declared) and any(value is False for value in declared)),
        that="nativeSyncIn and nativeSyncOut are not declared as opposites",
        observed=f"nativeSyncIn, nativeSyncOut: {show(declared)}",
        advice="Give both keys the same value, or leave both out.",
    )


@check("CAP-004", level=MUST, when=LOGIN_TERMINAL)
async def the_login_terminal_has_all_its_methods(provider: Provider) -> None:
    """The flag for the login terminal makes the host open one, type into it and close it without a look at the list."""
    expect_behind_flags(provider, ["supportsSetupTokenLogin"])


@check("CAP-005", level=MUST, when=INTERACTIVE_SETUP)
async def interactive_setup_and_templates_have_all_their_methods(provider: Provider) -> None:
    """Each flag for setup and templates makes the host call the methods behind it without a look at the list."""
    expect_behind_flags(provider, ["supportsInteractiveSetup", "supportsTemplateCapture", "supportsTemplateDelete"])


@check("CAP-007", level=SHOULD)
async def reuse_is_declared_in_one_voice(package: PackageView) -> None:
    """Reuse is declared by the nested key; the older flag is left out, or says the same."""
    older = package.subject.driver.get("supportsReusableLeases")
    nested = object_of(package.subject.driver.get("sandboxCapabilities")).get("reusableLeases")
    expect(
        package,
        older is None or (older is True) is (nested is True),
        that="sandboxCapabilities.reusableLeases says what supportsReusableLeases says, or the latter is absent",
        observed=f"supportsReusableLeases: {show(older)}, sandboxCapabilities.reusableLeases: {show(nested)}",
        advice="Declare sandboxCapabilities.reusableLeases and remove the older flag; the nested value wins.",
    )


@check("CAP-008", level=MUST, needs=Capability.NATIVE_SYNC_IN, cost=Cost.SHARED)
async def a_lease_that_cannot_sync_says_so(provider: Provider, lease: Lease) -> None:
    """The host takes the native way for every lease that is not marked, and commands for one that is: that way works.

    Once a file was refused, it has no other way.
    """
    expect_supported_or_marked(lease, await sync_there_and_back(provider, lease))
    await expect_commands_carry(provider, lease)


@check("CAP-008", level=MUST, needs=Capability.NATIVE_SYNC_IN, when=REUSABLE_LEASES, cost=Cost.SHARED)
async def a_lease_of_a_reusable_environment_that_cannot_sync_says_so(provider: Provider, kept: Lease) -> None:
    """The same for a lease that is to be kept, which may live on another kind of backend."""
    async with awake(provider, kept) as lease:
        answers = await sync_there_and_back(provider, lease)
        expect_supported_or_marked(lease, answers)
        await expect_commands_carry(provider, lease)


async def sync_there_and_back(provider: Provider, lease: Lease) -> list[Answer]:
    """Move one small file in and out again, each way as far as it is listed."""
    listed = advertised_methods(provider)
    folder = provider.scratch
    source, inside = folder / "in", f"{lease.remote_cwd}/{provider.new_id()}/file"
    source.write_text("a few words", encoding="utf-8")
    moves = {
        "environmentSyncIn": lambda: provider.sync_in(lease, [operation(file(source, inside))]),
        "environmentSyncOut": lambda: provider.sync_out(lease, [operation(file(inside, folder / "out"))]),
    }
    return [await answer_of(move()) for name, move in moves.items() if name in listed]


def expect_supported_or_marked(lease: Lease, answers: Iterable[Answer]) -> None:
    """Demand that no sync is refused as unsupported, unless the metadata of the lease says that it cannot."""
    marked = is_marked(lease)
    for answer in answers:
        expect(
            answer,
            marked or not _unsupported(answer),
            that=f"{answer.method} is supported, or the lease metadata holds backend: job or "
            "nativeFileSyncUnsupported: true",
            observed=f"lease metadata {show(lease.metadata)}; {answer.came}",
            advice="Return nativeFileSyncUnsupported: true in the metadata of each lease that cannot sync natively.",
        )


async def expect_commands_carry(provider: Provider, lease: Lease) -> None:
    """Demand that files go in and out over commands, of a lease that is marked: the host has no other way then.

    Where it is not marked, the rules of that way are judged elsewhere.
    """
    if not is_marked(lease):
        return
    folder, carrier = f"{lease.remote_cwd}/{provider.new_id()}", Carrier(provider, lease)
    wanted = tree_of({"tool": File(b"#!/bin/sh\n", 0o755), "deep/er/large": provider.random.randbytes(MOVED_BYTES)})
    await carrier.put_directory(folder, wanted)
    seen = await carrier.take_directory(folder)
    expect_tree(
        provider,
        "what went in and out over commands, on a lease that is marked as unable to sync,",
        seen.with_bits(OWNER_BITS),
        wanted.with_bits(OWNER_BITS),
        advice="Let environmentExecute carry everything on a lease that cannot sync natively.",
    )


def is_marked(lease: Lease) -> bool:
    """Whether the metadata of a lease say that it cannot sync natively."""
    return bool(lease_situations(lease.metadata, reusable=False) & UNABLE)


def expect_behind_flags(provider: Provider, flags: Iterable[str]) -> None:
    """Demand that every method that a set flag of the driver promises is listed."""
    listed = advertised_methods(provider)
    methods = provider.subject.contract.methods
    for flag in filter(provider.subject.flag, flags):
        missing = _without(listed, [name for name, rule in methods.items() if rule.flag == flag])
        expect(
            provider.greeting,
            not missing,
            that=f"every method behind {flag} is listed",
            observed=f"missing: {', '.join(missing) or 'none'}",
            advice=f"Write the missing methods, or take {flag} out of the manifest until they are there.",
        )


def _without(listed: Iterable[str], needed: Iterable[MethodName]) -> list[MethodName]:
    return [name for name in needed if name not in listed]


def _unsupported(answer: Answer) -> bool:
    if answer.error_code in REFUSALS["unknown or not implemented"]:
        return True
    return isinstance(answer.fault, RpcError) and bool(UNSUPPORTED.search(str(answer.fault.text)))
