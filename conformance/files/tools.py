"""The programs that the host's commands need in the image, and a small run of each."""

from collections.abc import Mapping

from conformance.evidence import Finding
from conformance.expect import expect
from conformance.host.lease import Lease
from conformance.model import Blame
from conformance.provider import Provider
from conformance.steps import Outcome, quote, run_to_success

IMAGE_TOOLS = {
    "sh": "sh -c :",
    "mkdir": "mkdir -p a/b",
    "cat": "echo text | cat > f",
    "mv": "mv -f f g",
    "chmod": "chmod 600 g",
    "base64": "printf dGV4dA== | base64 -d",
    "dd": "dd if=g bs=2 skip=1 count=1",
    "wc": "wc -c < g",
    "find": "find . -mindepth 1 -maxdepth 1 ! -name a -exec echo {} +",
    "tar": "tar -cf t.tar --exclude '*/b' -- a && tar -xf t.tar -C a",
    "head": "head -c 2 g",
    "tail": "tail -c +2 g",
    "tee": "tee h < g",
    "basename": "basename a/b",
    "dirname": "dirname a/b",
    "readlink": "command -v readlink",
    "sleep": "sleep 0.05",
    "kill": "kill -0 $$",
    "nohup": "nohup true < /dev/null",
    "awk": "awk 'BEGIN { exit 0 }'",
    "sha256sum or shasum": "sha256sum g || shasum -a 256 g",
    "env": "env true",
    "rm": "rm -rf a",
}
"""What every transfer needs (contract). Each run may use what the ones before it have made."""

RUN_TOOLS = {"git": "git --version", "node": "node --version"}
"""What a run needs beside them (contract)."""


async def expect_tools(provider: Provider, lease: Lease, tools: Mapping[str, str]) -> None:
    """Demand that each tool works. A missing one is the image's fault, and is reported as that."""
    outcome, missing = await missing_tools(provider, lease, tools)
    try:
        expect(
            outcome,
            not missing,
            that=f"the image has {', '.join(tools)}",
            observed=f"missing or of no use: {', '.join(missing)}" if missing else "all of them work",
            advice="Add these programs to the sandbox image; the protocol is not at fault.",
        )
    except Finding as finding:
        raise Finding(finding.decision, finding.sent, finding.advice, Blame.ENVIRONMENT) from finding


async def missing_tools(provider: Provider, lease: Lease, tools: Mapping[str, str]) -> tuple[Outcome, list[str]]:
    """Run each tool once, all in one command; gives those that do not work."""
    folder = quote(f"{lease.remote_cwd}/{provider.new_id()}")
    tried = [f"( {run} ) >/dev/null 2>&1 || echo {quote(name)}" for name, run in tools.items()]
    script = "\n".join([f"mkdir -p {folder} && cd {folder}", *tried, f"cd / && rm -rf {folder}"])
    outcome = await run_to_success(provider, lease, script)
    printed = outcome.stdout.splitlines()
    return outcome, [name for name in tools if name in printed]
