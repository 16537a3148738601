"""Everything that can go wrong, in the order of the conversation. The family says who has to act.

* `UsageFault`: the person who typed the command. Nothing was judged.
* `EnvironmentFault`: the machine or the network. Nothing was judged.
* `ProviderFault`: the provider broke the wire while the kit was talking to it. A check turns it into a finding.
* `KitError`: we did. The run is invalid.

Each error keeps its facts in fields; the message is one sentence and says what to do next.
"""

from dataclasses import dataclass

from conformance.model import Blame, Json, MethodName, RequirementId


class ConformanceError(Exception):
    """Root of all errors that the kit raises itself."""

    blame: Blame = Blame.KIT

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """One sentence for a person: what happened, and what to do."""
        raise NotImplementedError


class UsageFault(ConformanceError):
    """The command line, the options file or the named input cannot be used."""

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem, advice)
        self.problem = problem
        self.advice = advice

    def sentence(self) -> str:
        return f"{self.problem} {self.advice}".strip()


class EnvironmentFault(ConformanceError):
    """This machine lacks something that the run needs, such as Node or the network."""

    blame = Blame.ENVIRONMENT

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem, advice)
        self.problem = problem
        self.advice = advice

    def sentence(self) -> str:
        return f"{self.problem} {self.advice}".strip()


class KitError(ConformanceError):
    """The kit contradicts itself. Always a bug of ours."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def sentence(self) -> str:
        return f"{self.problem} This is a fault of the kit, not of the provider: please report it with events.jsonl."


class ProviderFault(ConformanceError):
    """The provider broke a rule of the conversation itself."""

    blame = Blame.PROVIDER


class PackageFault(ProviderFault):
    """The plugin package breaks a rule before any process is started.

    `requirement` names the broken rule, such as ``MAN-001``.
    """

    def __init__(self, requirement: str, problem: str, advice: str) -> None:
        super().__init__(requirement, problem, advice)
        self.requirement = RequirementId(requirement)
        self.problem = problem
        self.advice = advice

    def sentence(self) -> str:
        return f"{self.problem} {self.advice}"


@dataclass
class WorkerGone(ProviderFault):
    """The worker process ended, or closed its stdout, while an answer was awaited."""

    method: MethodName | None
    exit_code: int | None
    stderr_tail: str

    def sentence(self) -> str:
        during = f" during {self.method}" if self.method else ""
        how = describe_exit(self.exit_code)
        tail = self.stderr_tail.strip()
        said = f" Its stderr ended with: {tail[-800:]}" if tail else " It wrote nothing to stderr."
        return f"The worker {how}{during}.{said}"


@dataclass
class AnswerTimeout(ProviderFault):
    """No answer came within the limit. `seconds` is that limit, and `limit` its name in the contract data."""

    method: MethodName
    seconds: float
    limit: str

    def sentence(self) -> str:
        return f"{self.method} was not answered within {self.seconds:g} s (limit `{self.limit}`)."


@dataclass
class RpcError(ProviderFault):
    """The worker answered a request with an error object. `code` is None when it is not a number."""

    method: MethodName
    code: int | float | None
    text: Json
    data: Json = None

    def sentence(self) -> str:
        return f"{self.method} was answered with error {self.code}: {self.text}"


@dataclass
class MalformedAnswer(ProviderFault):
    """An answer arrived that the host cannot use. `requirement` names the rule it breaks."""

    method: MethodName
    requirement: RequirementId
    problem: str

    def sentence(self) -> str:
        return f"The answer to {self.method} cannot be used: {self.problem}"


def describe_exit(exit_code: int | None) -> str:
    """Say in words how a process ended; negative codes are signals, None means that it still runs."""
    if exit_code is None:
        return "closed its stdout without exiting"
    if exit_code < 0:
        return f"was ended by signal {-exit_code}"
    return f"exited with code {exit_code}"
