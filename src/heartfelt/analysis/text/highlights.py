"""Which questions the verdict covers one by one, and the figures it reads of them.

Up to four questions are all covered. Of more, those with references come first, then those in which systems differ most (eta
squared), then the study's order; the rest share a sentence. With more than twelve questions, those on one scale are taken
together and the verdict covers the pools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from heartfelt.analysis.data.material import MANY_QUESTIONS
from heartfelt.analysis.findings.parts import Agreement, AnovaEffect, RatingModelEffect, Reliability
from heartfelt.analysis.summary import Summary
from heartfelt.stats.estimate import IF_CARELESS, Estimate
from heartfelt.wording import number, p_value, share

Information: TypeAlias = Literal["shown", "not shown", "unknown"]

MOST_COVERED = 4
NOTABLY_LOWER = 0.1
LEAST_RELIABLE = 0.7
SINGLE_ITEM_RELIABILITY = 0.9
WIDEST = 0.5
MOST_RATERS = 1000
"""Larger numbers of raters per item are not named as a goal."""


def covered(summary: Summary) -> tuple[list[str], list[str]]:
    """The questions that get sentences of their own, and the rest."""
    names = list(summary.reliability or {})
    if len(names) <= MOST_COVERED:
        return names, []
    referenced, size = {row.question for row in summary.slopes or ()}, _system_effect_sizes(summary)
    ranked = sorted(names, key=lambda name: (name not in referenced, -size.get(name, -1.0)))
    chosen = ranked[:MOST_COVERED]
    return chosen, [name for name in names if name not in chosen]


def _system_effect_sizes(summary: Summary) -> dict[str, float]:
    """The largest eta squared of systems on the mean ratings or signed deviations of each question."""
    size: dict[str, float] = {}
    for row in summary.anova or ():
        if row.effect == "system" and row.eta_squared is not None and row.deviation != "absolute":
            size[row.outcome] = max(size.get(row.outcome, 0.0), row.eta_squared)
    return size


def covers_pools(summary: Summary) -> bool:
    """Whether there are so many questions that pools of them are covered."""
    return len(summary.reliability or {}) > MANY_QUESTIONS and bool(summary.reliability_pooled)


def main_questions(summary: Summary) -> Mapping[str, Reliability]:
    """The reliability the verdict is about: of the questions covered, or of the pools where there are many questions."""
    if covers_pools(summary):
        return summary.reliability_pooled or {}
    trust = summary.reliability or {}
    return {name: trust[name] for name in covered(summary)[0]}


def called(name: str, figures: Reliability | Agreement) -> str:
    """A question by its name; a pool by how many questions it holds."""
    return f"the {figures.n_questions} questions on the scale {name}" if figures.n_questions else name


def single_rating(trust: Reliability) -> tuple[str, Estimate]:
    """The coefficient of one rating and what it is called: an ICC for numbers, else Krippendorff's alpha."""
    for figure in (trust.icc2, trust.icc1):
        if not figure.is_missing:
            return "reliability", figure
    for figure in (trust.alpha_interval, trust.alpha_ordinal, trust.alpha_nominal):
        if not figure.is_missing:
            return "Krippendorff's alpha", figure
    return "reliability", trust.icc1


def mean_rating(trust: Reliability) -> Estimate:
    """The reliability of the mean of a stimulus's ratings."""
    return trust.icc1k if trust.icc2k.is_missing else trust.icc2k


def fitness(labels: Estimate) -> str:
    """What labels of such a reliability are good for."""
    value, low, high = labels.value, labels.low, labels.high
    if value is None or low is None or high is None or high - low > WIDEST:
        return "too uncertain to judge"
    if value >= SINGLE_ITEM_RELIABILITY:
        return "reliable enough for single stimuli"
    if value >= LEAST_RELIABLE:
        return "reliable enough for groups of stimuli, not for single ones"
    return "too unreliable for single stimuli"


def if_careless(figure: Estimate) -> str:
    """``, .12 or more if some future raters are careless``, where that bound is notably lower than the interval's; else nothing."""
    low, bound = figure.low, figure.bound_if_careless
    if low is None or bound is None or low - bound < NOTABLY_LOWER:
        return ""
    return f", {share(bound)} or more {IF_CARELESS}"


def information(trust: Reliability) -> Information:
    """Whether the ratings of a question are shown to depend on the stimuli: the interval of one rating lies above zero."""
    low = single_rating(trust)[1].low
    return "unknown" if low is None else "shown" if low > 1e-9 else "not shown"


def cell_words(summary: Summary) -> str:
    """What stimuli of one cell have in common: ``system and intent``, one of them, or nothing."""
    counts = {"system": summary.counts.systems, "intent": summary.counts.intents}
    return " and ".join(name for name, count in counts.items() if count > 1)


def held_constant(row: AnovaEffect, summary: Summary) -> list[str]:
    """The covariates a model holds constant."""
    return [name for name in summary.covariates if name in row.model.split(" + ")]


def system_effects(summary: Summary, *, with_covariates: bool = False) -> list[AnovaEffect]:
    """The tests of systems on mean ratings or signed deviations, without interactions."""
    return [
        row
        for row in summary.anova or ()
        if row.effect == "system"
        and row.deviation != "absolute"
        and "*" not in row.model
        and row.f is not None
        and bool(held_constant(row, summary)) == with_covariates
    ]


def main_effects(summary: Summary) -> dict[str, AnovaEffect]:
    """The test of systems of each question."""
    out: dict[str, AnovaEffect] = {}
    for row in system_effects(summary):
        if not row.why_missing:
            out.setdefault(row.outcome, row)
    return out


def rating_tests(summary: Summary) -> dict[str, RatingModelEffect]:
    """The test of systems of each question in the model of the ratings, where there is one."""
    return {row.outcome: row for row in summary.mixed or () if row.effect == "system" and row.p is not None}


def highest(row: RatingModelEffect) -> tuple[str, str] | None:
    """The systems with the highest and the lowest mean; None where means are missing."""
    mean_by_name = {name: float(mean) for name, mean in (row.means or {}).items() if not mean.is_missing}
    if len(mean_by_name) < 2:
        return None
    return max(mean_by_name, key=mean_by_name.__getitem__), min(mean_by_name, key=mean_by_name.__getitem__)


def is_significant(p: float | None) -> bool:
    """Whether a test was made and is significant at .05."""
    return p is not None and p < 0.05


def differs(row: AnovaEffect | RatingModelEffect) -> bool:
    """Whether an effect is significant."""
    return is_significant(row.p)


def f_test(row: AnovaEffect | RatingModelEffect) -> str:
    """``F(5, 974) = 150.53, p < .001, eta squared = .123``."""
    if row.f is None or row.df is None:
        return f"no test ({row.why_missing or 'no F'})"
    first, second = row.df
    df = "inf" if second is None else f"{second:.0f}" if float(second).is_integer() else f"{second:.1f}"
    text = f"F({first}, {df}) = {number(row.f, 2)}, {p_value(row.p)}"
    if isinstance(row, RatingModelEffect) or row.eta_squared is None:
        return text
    return f"{text}, eta squared = {share(row.eta_squared, 3)}"
