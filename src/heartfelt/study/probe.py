"""Probes: trials that test the rater rather than the stimulus."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from heartfelt.study.model import Id, Part, Text


class AnchorProbe(Part):
    """Stimuli whose answers are known within limits, such as real recordings that must not score below 3.

    Their ratings are used for screening and nothing else. Without limits raters are judged only by the limits on the mean
    or sum that a screening policy sets, if it does.
    """

    type: Literal["anchor"]
    id: Id
    stimuli: Annotated[list[Id], Field(min_length=1)]
    question: Id
    at_least: float | None = None
    at_most: float | None = None
    per_session: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _possible(self) -> AnchorProbe:
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("at_least cannot exceed at_most")
        return self


class RepeatProbe(Part):
    """A stimulus shown twice: the two answers should not lie far apart."""

    type: Literal["repeat"]
    id: Id
    per_session: Annotated[int, Field(ge=1)] = 1
    at_most_apart: Annotated[float, Field(ge=0, description="largest difference that passes")] = 2
    gap: Annotated[int, Field(ge=1, description="trials between the two")] = 8


class AttentionProbe(Part):
    """A trial that tells the rater which answer to give."""

    type: Literal["attention"]
    id: Id
    text: Text
    question: Id
    answer: float | str
    per_session: Annotated[int, Field(ge=1)] = 1


class HeadphoneProbe(Part):
    """A check at the start that headphones are worn; recorded, and blocking only if asked."""

    type: Literal["headphones"]
    id: Id
    trials: Annotated[int, Field(ge=1)] = 6
    pass_at: Annotated[int, Field(ge=1)] = 5
    blocks: bool = False

    @model_validator(mode="after")
    def _passable(self) -> HeadphoneProbe:
        if self.pass_at > self.trials:
            raise ValueError("pass_at cannot exceed trials")
        return self


Probe: TypeAlias = Annotated[
    AnchorProbe | RepeatProbe | AttentionProbe | HeadphoneProbe, Field(discriminator="type")
]
