"""A simulated rater as a running study meets one: what they are shown, and what they reply.

``collect.simulation`` shows them the steps of a real session; the trials and pages of those steps have these attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

Departure: TypeAlias = Literal["leave", "vanish"]
"""``leave`` tells the study; ``vanish`` just closes the window."""


class QuestionPage(Protocol):
    """A page of a questionnaire."""

    @property
    def time(self) -> str:
        """``before``, ``after``, or one time that a questionnaire between trials comes."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions of the page."""


PageAnswers: TypeAlias = Callable[[QuestionPage], Mapping[str, object]]


class SetMember(Protocol):
    """A stimulus of a set as it is presented."""

    @property
    def media(self) -> str | None:
        """The opaque id of its media file."""

    @property
    def kind(self) -> Literal["judged", "reference", "x"]:
        """What it is presented as."""


class Trial(Protocol):
    """One stimulus or set and the questions about it."""

    @property
    def kind(self) -> Literal["practice", "rating", "attention"]:
        """What the page shows it as."""

    @property
    def number(self) -> int:
        """Which trial this is for the rater, from 1, not counting practice."""

    @property
    def media(self) -> str | None:
        """The opaque id of the stimulus's media file."""

    @property
    def members(self) -> Sequence[SetMember]:
        """The stimuli of a set in the order shown; empty where ``media`` is the one stimulus."""

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions asked, in their order."""

    @property
    def words(self) -> str | None:
        """What an attention trial tells the rater to answer."""

    @property
    def machine(self) -> Mapping[str, str | None]:
        """Drafts to verify, by question; one withheld on purpose is None."""


TrialT = TypeVar("TrialT", bound=Trial, contravariant=True)


@dataclass(frozen=True, slots=True)
class FieldEffort:
    """What answering one question of a trial took."""

    seconds: float
    keystrokes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialAnswers:
    """A simulated rater's answers to one trial."""

    values: Mapping[str, object]
    seconds: float
    """Time to answer, net of the clip's own length."""
    duration: float
    """Simulated time from the trial's start until the answer is sent."""
    verdicts: Mapping[str, Literal["accepted", "fixed"]] = field(default_factory=dict)
    """On drafts that were shown; a draft that is accepted as it is needs no value."""
    efforts: Mapping[str, FieldEffort] = field(default_factory=dict)
    """How single questions were answered."""


# No slots: a frozen class that has them cannot be called by way of ``Participant[...]``.
@dataclass(frozen=True, kw_only=True)
class Participant(Generic[TrialT]):
    """A rater to be."""

    name: str
    answer: Callable[[TrialT], TrialAnswers | Departure]
    about: Mapping[str, object]
    """Answers to the study's demographic questions."""
    page_seconds: float = 20.0
    """Simulated time on a page that is not a trial."""
    questionnaire: PageAnswers | None = None
    """The rater's answers to a page of a questionnaire; none if left out."""
