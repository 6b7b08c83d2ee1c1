"""Adjudication: which items go to a senior rater, who sees the answers without names and decides.

A rule is one class, with its name under ``type``. Which items a rule selects is computed from what was collected
(:mod:`heartfelt.collect.reading.adjudication`); here are its limits, and what about them is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from heartfelt.study.answer import Scale
from heartfelt.study.model import Id, Part, Place, ReferenceProblem
from heartfelt.study.scale import Tags
from heartfelt.study.similarity import members

if TYPE_CHECKING:
    from heartfelt.study.study import Study


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

    def check_limits(self, study: Study, names: list[str], path: Place) -> None:
        if _most_ratings(study) < 2:
            raise ReferenceProblem(
                path, "one rating per item cannot disagree. Raise design.ratings_per_item or use another rule"
            )
        for name in names:
            scale = study.scale_of(name)
            if scale.level == "nominal" and self.share_at_most < 1 / len(scale.codes()):
                raise ReferenceProblem(
                    (*path, "share_at_most"),
                    f"the most frequent of {len(scale.codes())} answers to '{name}' always has more than this share."
                    f" Give {1 / len(scale.codes()):.2g} or more",
                )
            if scale.level in {"interval", "ordinal"}:
                self._check_numbers(scale, name, path)

    def _check_numbers(self, scale: Scale, name: str, path: Place) -> None:
        bounds = scale.bounds()
        if bounds is None:
            if self.limits(scale) == (None, None):
                raise ReferenceProblem(path, f"'{name}' has no lowest and highest answer. Give range_above or sd_above")
            return
        width = bounds[1] - bounds[0]
        for key, most in (("range_above", width), ("sd_above", width / math.sqrt(2))):
            limit = getattr(self, key)
            if limit is not None and limit >= most:
                raise ReferenceProblem(
                    (*path, key), f"answers to '{name}' cannot be above this. Give less than {most:.3g}"
                )


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

    def check(self, study: Study, path: Place) -> None:
        if study.sets is not None:
            raise ReferenceProblem(
                path, "stimuli are compared in sets here, so no item has a value of its own to decide. Leave it out"
            )
        for name in self.questions:
            study.check_question((*path, "questions"), name)
            if name not in adjudicated(study):
                raise ReferenceProblem(
                    (*path, "questions"), f"'{name}' is answered with a trace, which cannot be decided. Leave it out"
                )
        if not adjudicated(study):
            raise ReferenceProblem(path, "the study has no question that can be decided item by item")
        if self.after is not None and self.after > _most_ratings(study):
            raise ReferenceProblem(
                (*path, "after"),
                f"an item gets {study.design.ratings_per_item} ratings (design.ratings_per_item) and never reaches"
                f" {self.after}. Give a lower number",
            )
        for number, rule in enumerate(self.rules):
            self._check_rule(study, rule, (*path, "rules", number))

    def _check_rule(self, study: Study, rule: AdjudicationRule, path: Place) -> None:
        names = adjudicated(study)
        if isinstance(rule, DisagreementRule):
            for name in rule.questions:
                study.check_question((*path, "questions"), name)
                if name not in names:
                    raise ReferenceProblem(
                        (*path, "questions"), f"'{name}' is not among the questions that are adjudicated"
                    )
            rule.check_limits(study, rule.questions or names, path)
        drafted = any(study.question(name).machine_first for name in names)
        if isinstance(rule, RejectedRule | PlantedRule) and not drafted:
            raise ReferenceProblem(
                path, "none of the questions is machine_first, so no draft can be accepted or rejected"
            )


def adjudicated(study: Study) -> list[str]:
    """The questions that senior raters decide, in the order they are asked; none if the study has no adjudication."""
    if study.adjudication is None or study.sets is not None:
        return []
    chosen = set(study.adjudication.questions)
    return [
        question.id
        for question in study.asked
        if (not chosen or question.id in chosen)
        and study.scale_of(question.id).level != "comparison"
        and getattr(study.scale_of(question.id), "type", None) != "trace"
    ]


def answer_key(words: float | str | None, scale: Scale) -> Hashable:
    """What makes two answers the same: tags in any order, texts but for case and spaces; "none" of tags is no tag."""
    if isinstance(scale, Tags):
        return frozenset(members(scale, str(words)))
    return " ".join(words.casefold().split()) if scale.level == "text" and isinstance(words, str) else words


def _most_ratings(study: Study) -> float:
    """The most ratings an item can get: an adaptive study spends its budget where it is needed."""
    return math.inf if study.design.adaptive else study.design.ratings_per_item
