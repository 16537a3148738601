"""What goes wrong when the contract's own data is read."""

from collections.abc import Sequence

from conformance.errors import KitError, UsageFault
from conformance.nearest import nearest


class ContractDataError(KitError):
    """A data file of the contract is broken: which file, which key in it, and what is wrong there."""

    def __init__(self, file: str, key: str, reason: str) -> None:
        super().__init__(f"{file}: {key}: {reason}.")
        self.file = file
        self.key = key
        self.reason = reason


class UnknownRevisionError(UsageFault):
    """The kit holds no data for this revision of the contract; `known` are those it has."""

    def __init__(self, revision: str, known: Sequence[str]) -> None:
        guess = nearest(revision, known)
        meant = f" Did you mean {guess}?" if guess is not None else ""
        super().__init__(
            f"Unknown contract revision {revision!r}.", f"This kit knows: {', '.join(known) or 'none'}.{meant}"
        )
        self.revision = revision
        self.known = tuple(known)
