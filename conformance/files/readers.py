"""Two programs in the sandbox that read a file while somebody else replaces it.

One has read the first half before and reads the rest afterwards: it must get one file and not two halves. The other
looks all the time whether the file is there with something in it. Both run in the background and are ended by a file.
"""

from dataclasses import dataclass

from conformance.evidence import Blocked
from conformance.files.sandbox import BACKGROUND, HASH, digest_in, wait_for
from conformance.host.lease import Lease
from conformance.model import RequirementId
from conformance.provider import Provider
from conformance.steps import Outcome, quote, run_script, run_to_success

HALF_BYTES = 65_536
"""How much is read before the file is replaced; the file should be some times larger."""

END_ROUNDS = 200
"""How often the end of a program is looked for, every 50 ms (our choice: ten seconds; the program looks as often)."""

GONE = 3
"""Exit code of the command that looks for the end of a program which was ended by somebody else."""


@dataclass(frozen=True)
class Reading:
    """What the two programs saw. Evidence for a check through `outcome`."""

    outcome: Outcome
    digest: str
    gaps: bool


async def start_readers(provider: Provider, lease: Lease, path: str) -> str:
    """Let both programs begin; gives the directory that `end_readers` needs."""
    folder = f"{path}.readers"
    half = (
        f"( exec 3< {quote(path)} && dd bs={HALF_BYTES} count=1 <&3 2>/dev/null && : > half && "
        f"{wait_for('end')} && cat <&3 ) > read; : > done"
    )
    # No sleep in this loop, because a gap may be short.
    gap = f": > looking; while [ ! -e end ] && [ -e half ]; do [ -s {quote(path)} ] || : > gap; done"
    await run_to_success(
        provider,
        lease,
        f"mkdir -p {quote(folder)} && cd {quote(folder)}\n"
        f"{BACKGROUND} sh -c {quote(half)} > log.half 2>&1 < /dev/null &\n{wait_for('half')}\n"
        f"{BACKGROUND} sh -c {quote(gap)} > log.gap 2>&1 < /dev/null &\n{wait_for('looking')}\n"
        "[ -e half ] && [ -e looking ]",
    )
    return folder


async def end_readers(provider: Provider, lease: Lease, folder: str) -> Reading:
    """End both programs and tell what they saw: the digest of what the first one read, and whether there was a gap."""
    script = (
        f"cd {quote(folder)} && : > end\n{wait_for('done', rounds=END_ROUNDS)}\n[ -e done ] || exit {GONE}\n"
        f"( {HASH} ) < read && if [ -e gap ]; then echo gap; fi"
    )
    outcome = await run_script(provider, lease, script)
    if outcome.exit_code == GONE:
        raise Blocked(RequirementId("EXEC-025"), "a program in the background did not live on", outcome.frames)
    return Reading(outcome, digest_in(outcome), gaps=outcome.stdout.split()[-1:] == ["gap"])
