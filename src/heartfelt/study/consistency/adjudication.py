"""Which questions senior raters decide, what makes two answers the same, and what about adjudication is impossible."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from heartfelt.study.content import StudyContent
from heartfelt.study.model import Place, ReferenceProblem
from heartfelt.study.parts.adjudication_rules import AdjudicationRule, DisagreementRule, PlantedRule, RejectedRule
from heartfelt.study.scales.answer import Scale
from heartfelt.study.scales.scale import Tags
from heartfelt.study.scales.similarity import members


def adjudicated(study: StudyContent) -> list[str]:
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


# --- adjudication that makes no sense ---------------------------------------------------------------------------------


def check_adjudication(study: StudyContent, path: Place) -> None:
    """Refuse rules that could never select anything, and questions that cannot be decided."""
    adjudication, names = study.adjudication, adjudicated(study)
    if adjudication is None:
        return
    if study.sets is not None:
        raise ReferenceProblem(
            path, "stimuli are compared in sets here, so no item has a value of its own to decide. Leave it out"
        )
    for name in adjudication.questions:
        study.check_question((*path, "questions"), name)
        if name not in names:
            raise ReferenceProblem(
                (*path, "questions"), f"'{name}' is answered with a trace, which cannot be decided. Leave it out"
            )
    if not names:
        raise ReferenceProblem(path, "the study has no question that can be decided item by item")
    if adjudication.after is not None and adjudication.after > _most_ratings(study):
        raise ReferenceProblem(
            (*path, "after"),
            f"an item gets {study.design.ratings_per_item} ratings (design.ratings_per_item) and never reaches"
            f" {adjudication.after}. Give a lower number",
        )
    for number, rule in enumerate(adjudication.rules):
        _check_rule(study, rule, names, (*path, "rules", number))


def _check_rule(study: StudyContent, rule: AdjudicationRule, names: Sequence[str], path: Place) -> None:
    if isinstance(rule, DisagreementRule):
        for name in rule.questions:
            study.check_question((*path, "questions"), name)
            if name not in names:
                raise ReferenceProblem(
                    (*path, "questions"), f"'{name}' is not among the questions that are adjudicated"
                )
        _check_disagreement(study, rule, rule.questions or names, path)
    drafted = any(study.question(name).machine_first for name in names)
    if isinstance(rule, RejectedRule | PlantedRule) and not drafted:
        raise ReferenceProblem(path, "none of the questions is machine_first, so no draft can be accepted or rejected")


def _check_disagreement(study: StudyContent, rule: DisagreementRule, names: Sequence[str], path: Place) -> None:
    if _most_ratings(study) < 2:
        raise ReferenceProblem(
            path, "one rating per item cannot disagree. Raise design.ratings_per_item or use another rule"
        )
    for name in names:
        scale = study.scale_of(name)
        if scale.level == "nominal" and rule.share_at_most < 1 / len(scale.codes()):
            raise ReferenceProblem(
                (*path, "share_at_most"),
                f"the most frequent of {len(scale.codes())} answers to '{name}' always has more than this share."
                f" Give {1 / len(scale.codes()):.2g} or more",
            )
        if scale.level in {"interval", "ordinal"}:
            _check_spread(rule, scale, name, path)


def _check_spread(rule: DisagreementRule, scale: Scale, name: str, path: Place) -> None:
    bounds = scale.bounds()
    if bounds is None:
        if rule.limits(scale) == (None, None):
            raise ReferenceProblem(path, f"'{name}' has no lowest and highest answer. Give range_above or sd_above")
        return
    width = bounds[1] - bounds[0]
    for key, most in (("range_above", width), ("sd_above", width / math.sqrt(2))):
        limit = getattr(rule, key)
        if limit is not None and limit >= most:
            raise ReferenceProblem((*path, key), f"answers to '{name}' cannot be above this. Give less than {most:.3g}")


def _most_ratings(study: StudyContent) -> float:
    """The most ratings an item can get: an adaptive study spends its budget where it is needed."""
    return math.inf if study.design.adaptive else study.design.ratings_per_item
