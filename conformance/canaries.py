"""Marks that nobody can guess, planted where they must not come back from; and texts that a shell would act on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.evidence import Evidence
from conformance.expect import expect
from conformance.host.lease import Lease
from conformance.host.worker import Worker
from conformance.model import FrameNumber
from conformance.provider import Provider
from conformance.redact import Form, Redactor
from conformance.wire.transcript import Direction

SHORTEST = 8
"""Characters of a secret that is searched for (our choice: a shorter one shows up by chance)."""

MARK = "kit-"
"""How a mark begins; `pattern` relies on it."""

_PLACES = {Direction.TO_HOST: "stdout", Direction.STDERR: "stderr"}


@dataclass(frozen=True)
class Sighting:
    """A secret that came back: which one, how it was spelled, and where. Never the secret itself."""

    name: str
    form: Form
    place: str
    frame: FrameNumber

    def __str__(self) -> str:
        return f"{self.name}, as {self.form}, on {self.place} in frame {self.frame}"


def new_mark(provider: Provider) -> str:
    """A text that occurs nowhere else."""
    return f"{MARK}{provider.new_id()}"


def pattern(mark: str) -> str:
    """A pattern for grep that matches a mark and not itself, so that no search finds its own command line."""
    return f"[{mark[0]}]{mark[1:]}"


def is_local(lease: Lease) -> bool:
    """Whether the provider says of a lease that commands run on the worker's own machine (`isolation: "local"`)."""
    return lease.metadata.get("isolation") == "local"


def sightings(worker: Worker, secrets: Mapping[str, str], *, since: FrameNumber | None = None) -> list[Sighting]:
    """Where secrets, given by name, came back in what a worker wrote on stdout and stderr, however spelled.

    With `since`, only what was written after that frame is searched.
    """
    redactor = Redactor({name: secret for name, secret in secrets.items() if len(secret) >= SHORTEST})
    return [
        Sighting(hit.name, hit.form, _PLACES[frame.direction], frame.number)
        for frame in worker.peer.transcript.since(FrameNumber(0) if since is None else since)
        if frame.worker == worker.number and frame.direction in _PLACES
        for hit in redactor.hits(frame.data.decode("utf-8", "replace"))
    ]


def expect_unseen(evidence: Evidence, found: Iterable[Sighting], what: str, *, advice: str) -> None:
    """Demand that no secret came back."""
    told = list(dict.fromkeys(map(str, found)))
    expect(
        evidence,
        not told,
        that=f"{what} is in no message and on no line of stderr",
        observed="; ".join(told[:5]) or "it is nowhere",
        advice=advice,
    )


@dataclass(frozen=True)
class Injections:
    """Texts that make a file in an empty directory as soon as a shell reads them, wherever it was told to put them."""

    folder: Path | str

    def of(self, field: str) -> list[str]:
        """The texts for one field; each names the field in the file that it makes."""
        touches = [f"touch {self.folder}/{field}-{number}" for number in range(6)]
        frames = ("$({})", "`{}`", "; {}; ", "'; {}; '", '"; {}; "', "\n{}\n")
        return [frame.format(touch) for frame, touch in zip(frames, touches, strict=True)]

    def files(self) -> list[str]:
        """The files that were made in a directory of the host."""
        return sorted(path.name for path in Path(self.folder).iterdir())
