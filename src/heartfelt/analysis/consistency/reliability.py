"""How far the ratings of each question can be trusted, and the ceiling that puts on any predictor.

With published means alone, the one-way table is still known: the mean square within items is the pooled variance of the ratings,
the one between comes from the means, both weighted by counts. So ICC(1) and the reliability of the means follow without a
single rating. Their intervals are F, with n0 where counts differ (Searle, Casella & McCulloch 1992, 3.8), and take raters as
different for every item; the ceilings are those of `heartfelt.stats.ceilings.number_ceiling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict, TypeVar

import numpy as np
import polars as pl

from heartfelt.analysis.data.material import MANY_QUESTIONS, AnalysisData, QuestionData
from heartfelt.analysis.findings.parts import Agreement, Ceilings, Level, Reliability, VarianceShares
from heartfelt.failures import Failed, attempt, collecting_in_thread
from heartfelt.stats.agreement import alpha
from heartfelt.stats.ceilings.noise_ceiling import ceiling
from heartfelt.stats.ceilings.number_ceiling import ceiling_from_means
from heartfelt.stats.compiled.kernel import compiling_at_once
from heartfelt.stats.estimate import Estimate, FutureRaters
from heartfelt.stats.reliability import icc, raters_needed, reliability_with, split_half, variance_components
from heartfelt.stats.reliability.spearman_brown import stepped_up

RATERS = (1, 3, 5, 10)
TARGETS = (0.7, 0.8, 0.9)
SPLITS, FEWEST_SPLITS = 100, 20
MOST_GROUPS = 60
MANY_RATINGS = 100_000
LEFT_TO_POOL = "given for all questions on this scale together"
NO_ORDER = "the answers are categories without an order"
NOT_CATEGORIES = "the answers are numbers, not categories"
Figures = TypeVar("Figures", Reliability, Agreement, VarianceShares)
SHARES = ("rater", "stimulus", "residual", "share_rater", "share_stimulus", "share_residual")
FROM_MEANS = "one-way analysis of variance from published means, spreads and counts"


class KrippendorffAlphas(TypedDict):
    """Krippendorff's alpha by level of measurement, under the names that :class:`Reliability` has for it."""

    alpha_interval: Estimate
    alpha_ordinal: Estimate
    alpha_nominal: Estimate


class IntraclassCorrelations(TypedDict):
    """The intraclass correlations by form: ICC(1), ICC(1,k) to ICC(3,k)."""

    icc1: Estimate
    icc1k: Estimate
    icc2: Estimate
    icc2k: Estimate
    icc3: Estimate
    icc3k: Estimate


def reliability(material: AnalysisData, seed: int, *, brief: bool = False) -> dict[str, Reliability]:
    """The reliability of every question; ``brief`` leaves out all but what a side-by-side shows.

    Where there are many questions, those that share a scale get alpha only, and their pool the rest.
    """
    pooled = _members(material.pools) if material.many else set()
    crowded = _members(pool for pool in material.pools if len(pool.members) > MANY_QUESTIONS)
    gone = Estimate.missing(LEFT_TO_POOL)

    def of(question: QuestionData) -> Reliability:
        if question.id in pooled and question.ratings.height:
            alphas, forms = _alphas(question, seed), _forms(lambda _: gone)
            return Reliability(**alphas, **forms, split_half=gone, ceiling=Ceilings(correlation=gone))
        votes = question.id not in crowded
        figures = attempt(question_reliability, question, seed, brief=brief, votes=votes)
        return _nothing(figures.reason) if isinstance(figures, Failed) else figures

    names = [question.id for question in material.questions]
    if len(names) < 2 or sum(question.ratings.height for question in material.questions) < MANY_RATINGS:
        return dict(zip(names, map(of, material.questions), strict=True))
    # Of many ratings, most of the time is spent where other threads can run.
    with compiling_at_once(), ThreadPoolExecutor(2) as pool:
        return dict(zip(names, pool.map(collecting_in_thread(of), material.questions), strict=True))


def _members(pools: Iterable[QuestionData]) -> set[str]:
    return {name for pool in pools for name in pool.members}


def pooled_reliability(material: AnalysisData, seed: int) -> dict[str, Reliability] | None:
    """The reliability of all questions on one scale together."""
    return {
        pool.id: replace(question_reliability(pool, seed), n_questions=len(pool.members)) for pool in material.pools
    } or None


def question_reliability(question: QuestionData, seed: int, *, brief: bool = False, votes: bool = True) -> Reliability:
    """Agreement beyond chance, intraclass correlations, ceilings and raters needed for one question.

    Without ``votes`` the ceiling of accuracy, which is simulated, is left to the pool of questions.
    """
    if not question.ratings.height:
        # From means, spreads and counts alone; all the rest is missing, with the reason.
        figures = _nothing(question.why_no_raters or question.why_empty, method=True)
        if not question.items.height:
            return figures
        one_way = one_way_from_means(*(question.items[name] for name in ("mean", "sd", "n")))
        top = replace(figures.ceiling, correlation=one_way.ceiling, rmse=one_way.rmse)
        figures = replace(figures, icc1=one_way.icc1, icc1k=one_way.icc1k, ceiling=top)
        return with_more_raters(figures, one_way.icc1)
    forms = intraclass_correlations(question, seed)
    alphas = _alphas(question, seed)
    if brief:
        best = Estimate.missing(NO_ORDER, "ceiling, correlation")
        if question.numbers:
            best = ceiling(question.coded, metric="correlation", seed=seed).overall
        not_compared = Estimate.missing("left out of the comparison")
        return Reliability(**alphas, **forms, split_half=not_compared, ceiling=Ceilings(correlation=best))
    halves = Estimate.missing(NO_ORDER)
    if question.numbers:
        # Over so many ratings the mean of a few splits is as steady as that of many over few.
        splits = max(FEWEST_SPLITS, min(SPLITS, 10_000_000 // question.ratings.height))
        halves = split_half(question.coded, splits=splits, seed=seed)
    figures = Reliability(
        **alphas,
        **forms,
        split_half=halves,
        ceiling=_ceilings(question, seed, votes),
        variance_components=_components(question, seed),
    )
    return with_more_raters(figures, figures.icc1 if figures.icc2.is_missing else figures.icc2)


def with_more_raters(figures: Reliability, single: Estimate) -> Reliability:
    """Add what more raters would give, and how many a target needs, from the reliability of one rating."""

    def whole(number: float | None) -> int | None:
        return None if number is None else int(number)

    needed = {f"{target:g}": raters_needed(single, target) for target in TARGETS}
    return replace(
        figures,
        reliability_with={str(k): reliability_with(single, k) for k in RATERS},
        raters_needed={name: whole(e.value) for name, e in needed.items()},
        raters_needed_between={name: (whole(e.low), whole(e.high)) for name, e in needed.items()},
        raters_needed_if_careless={name: whole(e.bound_if_careless) for name, e in needed.items()},
        single_rating=single.method,
    )


def for_future_raters(figures: Figures, whom: FutureRaters) -> Figures:
    """The same figures with intervals for raters like these, or reaching to the bounds if some future ones are careless."""
    changed: dict[str, Any] = {
        part.name: estimate.for_future_raters(whom)
        for part in fields(figures)
        if isinstance(estimate := getattr(figures, part.name), Estimate)
    }
    return replace(figures, **changed)


def reliability_for(figures: Reliability, whom: FutureRaters) -> Reliability:
    """The same reliability for these future raters, with the raters needed that follow from it."""
    if whom == "alike":
        return figures
    shares = figures.variance_components
    out = replace(
        for_future_raters(figures, whom),
        variance_components=None if shares is None else for_future_raters(shares, whom),
    )
    return with_more_raters(out, out.icc1 if out.icc2.is_missing else out.icc2) if out.reliability_with else out


def _nothing(reason: str, method: bool = False) -> Reliability:
    """A question without ratings, or whose reliability could not be computed: every figure missing, with the reason."""
    gone = Estimate.missing(reason)

    def named(name: str) -> Estimate:
        return Estimate.missing(reason, name if method else "")

    ceilings = Ceilings(
        correlation=named("ceiling, correlation"),
        rmse=named("ceiling, rmse"),
        accuracy=named("ceiling, accuracy"),
        metric="correlation",
        by_system={},
        within_cells=gone,
        cell_means=gone,
        cell_means_in_sample=gone,
        human=gone,
    )
    empty = Reliability(
        alpha_interval=gone,
        alpha_ordinal=gone,
        alpha_nominal=gone,
        **_forms(named),
        split_half=gone,
        ceiling=ceilings,
        variance_components=VarianceShares(**dict.fromkeys(SHARES, gone)),
    )
    return with_more_raters(empty, empty.icc1)


def _alphas(question: QuestionData, seed: int) -> KrippendorffAlphas:
    """Krippendorff's alpha at the interval, ordinal and nominal level."""

    def at(level: Level) -> Estimate:
        if not (question.categorical if level == "nominal" else question.numbers):
            return Estimate.missing(NOT_CATEGORIES if level == "nominal" else NO_ORDER)
        return alpha(*question.triples_if_known, level, seed=seed)

    return {"alpha_interval": at("interval"), "alpha_ordinal": at("ordinal"), "alpha_nominal": at("nominal")}


def question_alpha(question: QuestionData, ratings: pl.DataFrame) -> Estimate:
    """Krippendorff's alpha of some ratings at the question's own level of measurement."""
    if question.why_no_raters is not None:
        return Estimate.missing(question.why_no_raters, f"Krippendorff's alpha, {question.level}")
    return alpha(ratings["rater"], ratings["item"], ratings["value"], question.level)


def intraclass_correlations(question: QuestionData, seed: int) -> IntraclassCorrelations:
    """ICC(1), ICC(1,k) to ICC(3,k); those that need to know who rated are missing where that is not known."""
    if not question.numbers:
        return _forms(lambda form: Estimate.missing(NO_ORDER, form))
    # Without one of very few ratings nobody may disagree any more; the jackknife then has no variance to divide by.
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = icc(question.coded, seed=seed)

    def figure(form: str) -> Estimate:
        coefficient: Estimate = getattr(correlations, form)
        if question.why_no_raters is None or form.startswith("icc1"):
            return coefficient
        return Estimate.missing(question.why_no_raters, coefficient.method, coefficient.counts)

    return _forms(figure)


def _forms(make: Callable[[str], Estimate]) -> IntraclassCorrelations:
    return {
        "icc1": make("icc1"),
        "icc1k": make("icc1k"),
        "icc2": make("icc2"),
        "icc2k": make("icc2k"),
        "icc3": make("icc3"),
        "icc3k": make("icc3k"),
    }


def _components(question: QuestionData, seed: int) -> VarianceShares:
    if not question.numbers or question.why_no_raters is not None:
        reason = NO_ORDER if not question.numbers else question.why_no_raters or ""
        return VarianceShares(**{name: Estimate.missing(reason, name) for name in SHARES})
    components = variance_components(question.coded, seed=seed)
    return VarianceShares(
        rater=components.rater,
        stimulus=components.item,
        residual=components.residual,
        share_rater=components.rater_share,
        share_stimulus=components.item_share,
        share_residual=components.residual_share,
    )


def _ceilings(question: QuestionData, seed: int, votes: bool) -> Ceilings:
    """Ceilings by metric; by system, within cells and of the bare cell means for the metric labels are made for."""
    system, cell = _systems_and_cells(question)
    correlation, rmse = (Estimate.missing(NO_ORDER, f"ceiling, {name}") for name in ("correlation", "rmse"))
    accuracy = Estimate.missing(LEFT_TO_POOL if question.categorical else NOT_CATEGORIES, "ceiling, accuracy")
    ceilings, main = Ceilings(correlation=correlation, rmse=rmse, accuracy=accuracy), None
    if question.numbers:
        main = ceiling(question.coded, metric="correlation", cell=cell, group=system, seed=seed)
        rmse = ceiling(question.coded, metric="rmse", seed=seed).overall
        ceilings = replace(ceilings, correlation=main.overall, rmse=rmse)
    if question.categorical and (votes or main is None):
        of_votes = ceiling(question.coded, metric="accuracy", cell=cell, seed=seed)
        ceilings = replace(
            ceilings,
            accuracy=of_votes.overall,
            accuracy_smooth=of_votes.smooth,
            accuracy_cell_means=of_votes.cell_means,
            accuracy_human=of_votes.human,
        )
        main = main or of_votes
    assert main is not None, "answers are numbers or categories"
    return replace(
        ceilings,
        metric=main.metric,
        by_system={str(name): of_system for name, of_system in main.groups.items()},
        within_cells=main.within_cells,
        cell_means=main.cell_means,
        cell_means_in_sample=main.cell_means_in_sample,
        human=main.human,
    )


def _systems_and_cells(question: QuestionData) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    """The system, and the cell of system and intent, of each item; None where all share one or systems are too many."""
    names, facts = question.items["item"].to_list(), question.items.select("item", "system", "intent")
    systems = facts["system"].fill_null("unknown")
    cells = facts.select(pl.concat_str(pl.col("system", "intent").fill_null(""), separator=" / ")).to_series()
    system, cell = (dict(zip(names, column.to_list(), strict=True)) for column in (systems, cells))
    return system if 1 < systems.n_unique() <= MOST_GROUPS else None, cell if cells.n_unique() > 1 else None


@dataclass(frozen=True, slots=True)
class OneWayMeans:
    """ICC(1,1), ICC(1,k), and the ceilings of correlation and root mean squared error."""

    icc1: Estimate
    icc1k: Estimate
    ceiling: Estimate
    rmse: Estimate


def one_way_from_means(mean: pl.Series, sd: pl.Series, n: pl.Series) -> OneWayMeans:
    """One-way reliability of published means; missing with a reason where spread or count is."""
    usable = pl.DataFrame({"mean": mean, "sd": sd, "n": n}).drop_nulls().filter(pl.col("n") > 1)
    counts = {"items": usable.height, "ratings": int(usable["n"].sum())}
    y, s, k = (usable[name].to_numpy().astype(np.float64) for name in ("mean", "sd", "n"))
    within = float(((k - 1) * s**2).sum() / (k - 1).sum()) if usable.height else 0.0
    tops = ceiling_from_means(y, s, k, "correlation"), ceiling_from_means(y, s, k, "rmse")
    if usable.height < 2 or within <= 0:
        few = "fewer than two items have a mean, a spread and a count"
        gone = Estimate.missing(few if usable.height < 2 else "the spreads are all zero", FROM_MEANS, counts)
        return OneWayMeans(gone, gone, *tops)
    total = float(k.sum())
    grand = float((k * y).sum() / total)
    df = (usable.height - 1, total - usable.height)
    n0 = (total - float((k**2).sum()) / total) / df[0]
    f = float((k * (y - grand) ** 2).sum()) / df[0] / within
    single, *limits = [(ratio - 1) / (ratio - 1 + n0) for ratio in _f_with_limits(f, df)]
    several = stepped_up(single, n0)
    name = "F" if float(np.ptp(k)) == 0 else "F with n0 for unequal counts"
    icc1 = Estimate(value=single, method=f"ICC(1,1), {FROM_MEANS}", counts=counts)
    icc1 = icc1.with_interval(limits[0], limits[1], name)
    method = f"ICC(1,k), {FROM_MEANS}, k = {n0:.6g}"
    if not math.isfinite(several):
        return OneWayMeans(icc1, Estimate.missing("the means are all equal", method, counts), *tops)
    low, high = (stepped_up(limit, n0) for limit in limits)
    icc1k = Estimate(value=several, method=method, counts=counts).with_interval(low, high, name)
    return OneWayMeans(icc1, icc1k, *tops)


def _f_with_limits(f: float, df: tuple[int, float]) -> tuple[float, float, float]:
    """An F ratio and the limits of the 95% interval of the ratio it estimates."""
    from scipy.special import fdtri

    return f, f / float(fdtri(*df, 0.975)), f / float(fdtri(*df, 0.025))
