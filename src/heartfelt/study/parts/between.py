"""Questionnaires between trials, and all forms of a study by name.

A form is a list of questions that is answered together: ``questions`` about a stimulus, the questionnaires ``before`` and
``after``, and ``between:ID`` for each block of ``between``. A block may come several times; one time it comes is
``between:ID@N``, where N is the number of trials answered before it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from heartfelt.study.model import ExtendedPart, Part, Place, Question

_PREFIX = "between:"


class QuestionnaireSource(NamedTuple):
    """Questions as written, and where they stand in ``study.yaml``."""

    place: Place
    questions: list[Question]


class Between(ExtendedPart, Part):
    """A questionnaire between two trials: after so many of them, after every so many, or at each break.

    It does not come after the last trial, where ``after`` does. Practice trials are not counted, probes are.
    """

    later_keys: ClassVar[tuple[str, ...]] = ("after_trials", "every", "at_break")
    id: str = Field(pattern=r"^[\w-]{1,100}$", description="the name its answers carry")
    questions: list[Question] = Field(min_length=1, description="as in 'before' and 'after'")
    after_trials: Annotated[
        list[Annotated[int, Field(ge=1)]],
        BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
        Field(description="the number of answered trials after which it comes, or several such numbers"),
    ] = []
    every: int | None = Field(default=None, ge=1, description="it comes after every so many trials")
    at_break: bool = Field(default=False, description="it comes before each break of 'batch'")

    @model_validator(mode="after")
    def _when(self) -> Between:
        if bool(self.after_trials) + (self.every is not None) + self.at_break != 1:
            raise ValueError("say when it comes. Give one of 'after_trials', 'every' and 'at_break'")
        return self

    @property
    def form(self) -> str:
        return f"{_PREFIX}{self.id}"

    @property
    def repeated(self) -> bool:
        return not self.after_trials or len(set(self.after_trials)) > 1

    def due(self, answered: int, *, resting: bool) -> int | None:
        """The number of trials after which it last came due for a rater who answered so many; None if it did not yet."""
        if self.at_break:
            return answered or None if resting else None
        if self.every is not None:
            return answered - answered % self.every or None
        return max((number for number in self.after_trials if number <= answered), default=None)

    def trials_until(self, answered: int) -> int | None:
        """Trials to answer until it comes next; None if nothing but a break leads to it."""
        if self.every is not None:
            return self.every - answered % self.every
        return min((number - answered for number in self.after_trials if number > answered), default=None)


def occurrence(block: Between, trials: int) -> str:
    """The name of one time a block comes."""
    return f"{block.form}@{trials}"


def read_occurrence(time: str) -> tuple[str, int] | None:
    """The block and the number of trials answered before it; None for another form."""
    block, _, trials = time.removeprefix(_PREFIX).rpartition("@")
    return (block, int(trials)) if time.startswith(_PREFIX) else None
