"""How quick this backend is: what a short command takes, and how far limits of our own choice stretch for that."""

from dataclasses import dataclass

from conformance.contract import Limit

ROUND_TRIPS = 5
"""A limit of our choice is made longer by so many short commands (our choice: a rule that needs one leaves room)."""

MOST = 5.0
"""But never longer than this many times its own length (our choice: slower than that is a finding)."""


@dataclass
class Pace:
    """What a short command takes, in seconds; 0 until it was measured."""

    latency_s: float = 0.0
    told: bool = True

    def note(self, seconds: float) -> None:
        """Take a measurement; the slowest one counts."""
        if seconds > self.latency_s:
            self.latency_s, self.told = seconds, False

    def stretch(self, limit: Limit, seconds: float) -> float:
        """A time limit as it holds here: the contract's as it is, one of ours with room for a slow backend."""
        if limit.chosen_by != "kit":
            return seconds
        return min(seconds * MOST, seconds + self.latency_s * ROUND_TRIPS)

    def take_event(self) -> list[dict[str, object]]:
        """The event that tells of the newest measurement, once."""
        if self.told:
            return []
        self.told = True
        return [{"event": "pace", "latency_s": round(self.latency_s, 4), "round_trips": ROUND_TRIPS, "most": MOST}]
