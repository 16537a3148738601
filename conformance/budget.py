"""What a run may cost on a backend that bills."""

import math
from dataclasses import dataclass

from conformance.errors import UsageFault
from conformance.model import Json

LEASES = 200
"""Leases in all (our choice: three times what a whole certification takes)."""

AT_ONCE = 6
"""Leases at once (our choice: what a laptop carries, and what a trial account of a backend usually grants)."""

LEASE_SECONDS = 3_600.0
"""Lease-seconds in all (our choice: an hour of one sandbox)."""


@dataclass(frozen=True)
class Rate:
    """What an hour of one lease costs. The currency is any text; the kit only multiplies."""

    amount: float
    currency: str

    @classmethod
    def parse(cls, text: str) -> "Rate":
        """Read ``0.12 EUR``. Raises `UsageFault` for anything else."""
        number, _, currency = text.strip().partition(" ")
        try:
            amount = float(number)
        except ValueError:
            amount = math.nan
        if not (math.isfinite(amount) and amount >= 0 and currency.strip()):
            raise UsageFault(
                f"--lease-rate {text!r} is not an amount and a currency.", "Example: --lease-rate '0.12 EUR'."
            )
        return cls(amount, currency.strip())

    def cost(self, lease_seconds: float) -> str:
        """The price of so many lease-seconds, in words."""
        return f"{self.amount * lease_seconds / 3_600:.2f} {self.currency}"


@dataclass(frozen=True)
class Budget:
    """Bounds of a run: leases in all, leases at once, lease-seconds in all."""

    leases: int = LEASES
    at_once: int = AT_ONCE
    seconds: float = LEASE_SECONDS
    rate: Rate | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing can be done with. No lease at all is fine: the free checks then run."""
        if self.leases < 0:
            raise UsageFault(f"--max-leases {self.leases} is less than none.")
        if self.at_once < 1:
            raise UsageFault(f"--max-concurrent-leases {self.at_once} is less than one.")
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise UsageFault(f"--max-lease-seconds {self.seconds:g} is no time.")

    def as_json(self) -> dict[str, Json]:
        """For the report."""
        return {
            "max_leases": self.leases,
            "max_concurrent_leases": self.at_once,
            "max_lease_seconds": self.seconds,
            "rate": None if self.rate is None else {"amount": self.rate.amount, "currency": self.rate.currency},
        }

    def sentence(self) -> str:
        """The bounds in words."""
        return f"at most {self.leases} leases, {self.at_once} at once, {self.seconds:g} lease-seconds"

    def priced(self, lease_seconds: float) -> str:
        """So many lease-seconds in words, with their price where a rate is known."""
        price = "" if self.rate is None else f" ({self.rate.cost(lease_seconds)})"
        return f"{lease_seconds:.0f} lease-seconds{price}"
