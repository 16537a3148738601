"""Commands of the author that look at the backend past the provider: what lives there, and how to remove one."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.errors import EnvironmentFault, UsageFault
from conformance.host.tool import run_tool

HOOK_LIMIT_S = 60.0
"""How long one of these commands may take (our choice: a slow cloud's list of machines)."""

PLACE = "{id}"
"""Where the id of the sandbox goes in a command; without it, the id is the last argument."""


@dataclass(frozen=True)
class Hooks:
    """The commands as argument vectors; None where the author gave none.

    ``inventory`` prints the providerLeaseId of each live sandbox, one a line. ``kill`` removes one sandbox.
    """

    inventory: tuple[str, ...] | None = None
    kill: tuple[str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """Which of them there are."""
        given = {"inventory": self.inventory, "kill": self.kill}
        return [name for name, command in given.items() if command is not None]

    def list_sandboxes(self, environment: Mapping[str, str]) -> frozenset[str]:
        """Ids of the live sandboxes. Raises `EnvironmentFault` when the command is missing, fails or hangs."""
        output = _run("inventory", self.inventory or (), environment)
        return frozenset(line.strip() for line in output.splitlines() if line.strip())

    def remove_sandbox(self, number: str, environment: Mapping[str, str]) -> None:
        """Remove one sandbox behind the provider's back. Raises `EnvironmentFault` as above."""
        command = self.kill or ()
        placed = tuple(word.replace(PLACE, number) for word in command)
        _run("kill", placed if placed != command else (*command, number), environment)


def command_of(name: str, text: object) -> tuple[str, ...]:
    """A command from settings: a list of words, or one text that is split as a shell would, and run by none."""
    words: object = text
    if isinstance(text, str):
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageFault(f"The hook {name} cannot be split into words: {error}.") from error
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):  # pyright: ignore[reportUnknownVariableType]
        raise UsageFault(f"The hook {name} must be a command, not {text!r}.", "Write it as on a command line.")
    return tuple(str(word) for word in words)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _run(name: str, command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    advice = f"Run `{shlex.join(command)}` by hand and correct hooks.{name}."
    try:
        ended = run_tool(command, seconds=HOOK_LIMIT_S, environment=environment)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise EnvironmentFault(f"The hook {name} did not end within {HOOK_LIMIT_S:g} s.", advice) from error
        raise EnvironmentFault(f"The hook {name} cannot be started: {error}.", advice) from error
    if ended.exit_code != 0:
        raise EnvironmentFault(f"The hook {name} ended with {ended.exit_code}: {ended.said[:400]}.", advice)
    return ended.stdout
