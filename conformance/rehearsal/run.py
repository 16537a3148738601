"""One agent run: where it keeps its files, how it sends its commands, and what it moves in and out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.answer import Answer
from conformance.files.tree import File, Tree, tree_of
from conformance.host.lease import Lease
from conformance.model import MethodName
from conformance.provider import Provider
from conformance.rehearsal.flow import Flow
from conformance.steps import Outcome, outcome_of, quote
from conformance.transfer.bridge import CHANNEL, Bridge
from conformance.transfer.carrier import Carrier
from conformance.transfer.steps import ALWAYS_OUT, Step, patterns_of

SHORT_MS = 15_000
"""What the host grants its first looks and its polls of the log (contract)."""

TIDY_MS = 5_000
"""What it grants the last clean-up (contract)."""

PATIENCE_MS = 30_000
"""Time limit of the command whose patience is taken for every command of a rehearsal (our choice).

The host waits four hours for an agent that sets no limit. Nothing that a rehearsal runs takes as long as this.
"""

ROUNDS = 3
"""How many rounds of the bridge an answer may take (our choice)."""

KEPT = (".paperclip-runtime", ".paperclip-upload-*")
"""What the host leaves in the workspace when it replaces it (contract)."""

LEFT_OUT = (*patterns_of(ALWAYS_OUT), ".git", ".git/*", ".paperclip-runtime")
"""What it does not take out of the workspace (contract)."""

WORKSPACE = tree_of({"text": b"as it was", "old": b"to be removed", "deep/er/file": b"left alone"})
"""The workspace on the host's side."""

OVERLAY = tree_of({"deep/over": b"put on top"})
"""What is put on top of it."""

AFTERWARDS = tree_of(
    {"text": b"changed", "deep/er/file": b"left alone", "deep/over": b"put on top", "made/new": b"new"}
)
"""The workspace after the work of the stub, as far as the host takes it out."""

ASSETS = ("config-seed", "skills", "mcp-config")
"""What goes beside the workspace, each as an archive."""

ANSWERS = {"first": "forty-two", "second": "go-on"}
"""What the host says to the stub's questions."""


@dataclass(frozen=True)
class Manner:
    """How a kind of run sends its commands. `adapter` names its folder; `time_ms` is the run's own time limit.

    In the command-line lane every command goes past a session; in the other one, those that move files do not.
    """

    adapter: str
    time_ms: int
    command_line: bool


COMMAND_LINE = Manner("claude", 120_000, command_line=True)
"""The command-line lane, of an agent with a time limit."""

ACP = Manner("claude_local", 14_400_000, command_line=False)
"""The ACP lane, of an agent without one."""

TIME_LIMITED = Manner("claude", 6_000, command_line=True)
"""The command-line lane, of an agent with little time."""


@dataclass(frozen=True)
class Run:
    """One run on one lease."""

    flow: Flow
    provider: Provider
    lease: Lease
    manner: Manner = COMMAND_LINE
    number: str = ""
    path: str = ""

    @property
    def workspace(self) -> str:
        """The workspace in the sandbox."""
        return self.lease.remote_cwd

    @property
    def runtime(self) -> str:
        """The host's own folder in it."""
        return f"{self.workspace}/.paperclip-runtime/{self.manner.adapter}"

    @property
    def launchers(self) -> str:
        """Where the run's own programs lie, first on its PATH."""
        return f"{self.workspace}/.paperclip-runtime/github/{self.number}"

    @property
    def bridge(self) -> Bridge:
        """Its file bridge."""
        return Bridge(f"{self.runtime}/paperclip-bridge")

    @property
    def logs(self) -> str:
        """Where the agent's output is copied to."""
        return self.bridge.log.rpartition("/")[0]

    @property
    def queue(self) -> str:
        """The folder of the bridge's queue."""
        return self.bridge.requests.rpartition("/")[0]

    @property
    def config_ms(self) -> int:
        """What the environment's config grants, or else the host's shortest time."""
        value = self.lease.config.get("timeoutMs")
        return value if isinstance(value, int) else SHORT_MS

    @property
    def patience(self) -> float:
        """Seconds for which an agent waits for an answer: some rounds of the bridge, since one takes several calls."""
        return ROUNDS * self.seconds("bridge")

    def seconds(self, limit: str) -> float:
        """A limit of the run of the kit."""
        return self.provider.launch.limits.seconds(limit)

    # -- commands

    async def ask(
        self,
        step: Step,
        *more: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        time_ms: int | None = None,
        bypass: bool = True,
    ) -> Answer:
        """One command of the host; `more` are words after the script. Raises what the call raises."""
        params = self.provider.make.execute(
            self.lease,
            self.lease.shell,
            ["-c", step.script, *more],
            cwd=self.workspace if cwd is None else cwd,
            timeout_ms=self.manner.time_ms if time_ms is None else time_ms,
            bypass_session=bypass,
            env=env,
            stdin=step.stdin,
        )
        execute, limits = MethodName("environmentExecute"), self.provider.launch.limits
        patience = min(limits.of_call(execute, each)[1] for each in (params, {"timeoutMs": PATIENCE_MS}))
        return await self.provider.call(execute, params, seconds=patience)

    async def send(self, step: Step, *more: str, rule: str | None = None, **options: Any) -> Outcome:
        """A command that has to succeed, by the rule of the step or by `rule`; `options` are those of `ask`."""
        outcome = outcome_of(await self.ask(step, *more, **options))
        self.flow.demand(
            outcome,
            holds=outcome.exit_code == 0 and not outcome.timed_out,
            that=f"the command {quote(step.script.splitlines()[0][:80])} ends with 0",
            observed=outcome.came,
            rule=rule,
        )
        return outcome

    async def control(self, step: Step, **options: Any) -> Outcome:
        """A command of the bridge, which has to succeed."""
        return await self.send(step, env=CHANNEL, **options)

    @property
    def carrier(self) -> "RunCarrier":
        """Moves files in the manner of the run."""
        return RunCarrier(self.provider, self.lease, run=self)

    @property
    def environment(self) -> dict[str, str]:
        """The variables of an agent, in short: who it works for, no credentials of others, its own programs first."""
        tenant = self.lease.tenant
        own = (
            {"PATH": self.path, "ZDOTDIR": self.launchers, "BASH_ENV": f"{self.launchers}/.bashrc"} if self.path else {}
        )
        empty = ("GH_TOKEN", "GITHUB_TOKEN", "GIT_AUTHOR_NAME", "GIT_ASKPASS", "SSH_AUTH_SOCK")
        return {
            "PAPERCLIP_AGENT_ID": tenant.agent,
            "PAPERCLIP_COMPANY_ID": tenant.company,
            "PAPERCLIP_API_URL": "http://127.0.0.1:3100",
            "PAPERCLIP_RUN_ID": self.number,
            "PAPERCLIP_TASK_ID": tenant.issue,
            "PAPERCLIP_WAKE_REASON": "issue_assigned",
            "PAPERCLIP_WAKE_PAYLOAD_JSON": f'{{"issueId":"{tenant.issue}","trigger":{{"reason":"issue_assigned"}}}}',
            "PAPERCLIP_WORKSPACE_CWD": self.workspace,
            "PAPERCLIP_API_KEY": self.provider.new_id(),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_SSH_COMMAND": "ssh -F /dev/null -o IdentitiesOnly=yes -o BatchMode=yes",
            **dict.fromkeys(empty, ""),
            **own,
        }


@dataclass(frozen=True)
class RunCarrier(Carrier):
    """Moves files as a run does: with its time limit, and judged by the step that is under way."""

    run: Run = field(kw_only=True)

    async def try_to_send(self, step: Step, *, cwd: str = "/", env: Mapping[str, str] | None = None) -> Outcome:
        """Run one step. How it ended is not looked at."""
        bypass = self.run.manner.command_line
        return outcome_of(await self.run.ask(step, cwd=cwd, env=env, bypass=bypass))

    def demand(self, outcome: Outcome, holds: bool, *, that: str, observed: object, advice: str = "") -> None:  # noqa: FBT001
        """Decide by what an outcome shows, or block."""
        self.run.flow.demand(outcome, holds=holds, that=that, observed=observed, advice=advice)


def texts_of(tree: Tree) -> Tree:
    """The files of a tree by their content alone: modes and empty directories have rules of their own."""
    files = {path.decode(): entry.content for path, entry in tree.entries.items() if isinstance(entry, File)}
    return tree_of(files)
