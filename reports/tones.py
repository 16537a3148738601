"""How serious a word is: one tone and one sign for each, so that no reader needs to tell colours apart."""

from enum import StrEnum
from typing import assert_never

from conformance.model import State, Verdict, Word


class Tone(StrEnum):
    """Five degrees; the style sheet has one colour for each."""

    GOOD = "good"
    BAD = "bad"
    CARE = "care"
    ODD = "odd"
    QUIET = "quiet"

    @property
    def sign(self) -> str:
        """A sign that can be told from the others without colour."""
        match self:
            case Tone.GOOD:
                return "✓"
            case Tone.BAD:
                return "✗"
            case Tone.CARE:
                return "!"
            case Tone.ODD:
                return "?"
            case Tone.QUIET:
                return "\u2013"
            case _:
                assert_never(self)


def tone_of_state(state: State) -> Tone:
    """Give the tone of what became of a check."""
    match state:
        case State.PASS:
            return Tone.GOOD
        case State.FAIL | State.EXPECTED_FAIL:
            return Tone.BAD
        case State.WARN | State.UNSTABLE | State.UNEXPECTED_PASS:
            return Tone.CARE
        case State.KIT_ERROR | State.ENV_ERROR | State.OVER_BUDGET | State.INCONCLUSIVE:
            return Tone.ODD
        case State.UNSUPPORTED | State.NOT_APPLICABLE | State.BLOCKED | State.SKIPPED:
            return Tone.QUIET
        case _:
            assert_never(state)


def tone_of_verdict(verdict: Verdict) -> Tone:
    """Give the tone of a verdict."""
    match verdict:
        case Verdict.CERTIFIED:
            return Tone.GOOD
        case Verdict.FAILED:
            return Tone.BAD
        case Verdict.INCOMPLETE:
            return Tone.CARE
        case Verdict.CUSTOM_RUN:
            return Tone.ODD
        case Verdict.UNSUPPORTED:
            return Tone.QUIET
        case _:
            assert_never(verdict)


def tone_of_word(word: Word) -> Tone:
    """Give the tone of the word for a capability."""
    match word:
        case Word.CERTIFIED | Word.CERTIFIED_BY_DISCOVERY:
            return Tone.GOOD
        case Word.BROKEN_PROMISE | Word.HOLLOW_PROMISE | Word.BROKEN:
            return Tone.BAD
        case Word.UNPROVEN:
            return Tone.CARE
        case Word.NOT_CLAIMED | Word.DECLINED | Word.ABSENT:
            return Tone.QUIET
        case _:
            assert_never(word)
