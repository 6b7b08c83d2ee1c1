"""Adjudication: which items go to a senior rater, who sees the answers without names and decides.

A rule is one class, with its name under ``type``. Which items a rule selects is computed from what was collected
(:mod:`heartfelt.collect.reading.adjudication`), what about a rule is impossible in
:mod:`heartfelt.study.consistency.adjudication`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from heartfelt.study.model import Id, Part
from heartfelt.study.scales.answer import Scale


class DisagreementRule(Part):
    """Items whose raters disagree. Each kind of scale has its own limit, and only that one is used.

    Where some raters say that there is none and others answer, ``share_at_most`` decides between these two first.
    """

    type: Literal["disagreement"]
    questions: list[Id] = Field(default=[], description="only these questions; all that are adjudicated if left out")
    share_at_most: float = Field(
        default=0.5,
        gt=0,
        lt=1,
        description="categories, yes-no: the most frequent answer has at most this share of them",
    )
    range_above: float | None = Field(
        default=None,
        ge=0,
        description="numbers, ordered categories: highest less lowest is above this; half the scale's range if"
        " neither this nor sd_above is given",
    )
    sd_above: float | None = Field(
        default=None, ge=0, description="numbers, ordered categories: the standard deviation (n - 1) is above this"
    )
    overlap_below: float = Field(
        default=0.5, gt=0, le=1, description="tags: the mean Jaccard overlap of two raters' sets is below this"
    )

    def limits(self, scale: Scale) -> tuple[float | None, float | None]:
        """The limits of range and standard deviation on a scale of numbers or ordered categories."""
        if self.range_above is not None or self.sd_above is not None:
            return self.range_above, self.sd_above
        bounds = scale.bounds()
        return (None if bounds is None else (bounds[1] - bounds[0]) / 2), None


class RejectedRule(Part):
    """Items whose draft was rejected by so many raters."""

    type: Literal["rejected"]
    at_least: int = Field(default=1, ge=1)


class PlantedRule(Part):
    """Items at which so many raters accepted a wrong value that was shown on purpose."""

    type: Literal["planted"]
    at_least: int = Field(default=1, ge=1)


class FlaggedRule(Part):
    """Items whose stimulus so many raters reported a problem with."""

    type: Literal["flagged"]
    at_least: int = Field(default=1, ge=1)


class RandomRule(Part):
    """A random share of all items, to see how often the senior rater differs where nobody asked for one."""

    type: Literal["random"]
    share: float = Field(gt=0, le=1)


class AllRule(Part):
    """Every item."""

    type: Literal["all"]


AdjudicationRule: TypeAlias = Annotated[
    DisagreementRule | RejectedRule | PlantedRule | FlaggedRule | RandomRule | AllRule, Field(discriminator="type")
]


class Adjudication(Part):
    """Which items senior raters decide, and when."""

    questions: list[Id] = Field(
        default=[], description="only these questions; every question with answers about one stimulus if left out"
    )
    rules: list[AdjudicationRule] = Field(min_length=1, description="an item that any of these selects is decided")
    after: int | None = Field(
        default=None, ge=1, description="ratings an item needs first; design.ratings_per_item if left out"
    )
    draft: bool = Field(
        default=True, description="whether senior raters see the machine's draft, marked as such, among the answers"
    )
