"""The best that can be expected of predicted numbers, categories, choices, strengths and traces, and what one person reaches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import cast, get_args

import numpy as np
import polars as pl

from heartfelt.labels.labelling import PUBLISHED
from heartfelt.labels.strengths import contest, rater_of
from heartfelt.scoring.ground_truth.truth import ITEM, NO_RATINGS, Truth, item_names
from heartfelt.scoring.measurement.sheet import floats_of, yes
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import ScoringTask
from heartfelt.stats.ceilings.noise_ceiling import Ceiling, ceiling
from heartfelt.stats.ceilings.number_ceiling import NumberMetric, ceiling_from_means
from heartfelt.stats.ceilings.yardsticks import Metric
from heartfelt.stats.comparison.predicted.ceilings import RankMetric, choice_ceilings, strength_ceiling
from heartfelt.stats.comparison.predicted.hits import mean_hits
from heartfelt.stats.comparison.predicted.prediction import ChoiceScores
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.traces.scores import mean_over_stimuli


def ceilings_of(task: ScoringTask, truth: Truth, confidence: float, seed: int) -> ChoiceScores | str:
    """The best scores that can be expected on the pairs of a task, or why they are not known."""
    items = truth.items_of(task).select(pl.col("stimulus").alias("pair"))
    table = truth.pairs.of(task.questions[0]).join(items, on="pair", how="semi", maintain_order="left")
    if not table.height:
        return "there are no comparisons"
    rater = rater_of(table)
    # Without names, every answer counts as that of another person.
    raters = pl.Series(range(table.height)) if rater is None else rater
    return choice_ceilings(raters, table["first"], table["second"], table["value"], confidence=confidence, seed=seed)


def one_rater(task: ScoringTask, truth: Truth, confidence: float) -> Estimate:
    """How well one person's choice predicts another's: the mean agreement of two raters on a pair, a tie being half right."""
    name = "one rater's choice as a prediction of another's"
    table = truth.pairs.of(task.questions[0])
    ordered = pl.col("first") < pl.col("second")
    table = table.with_columns(pl.when(ordered).then("value").otherwise(1.0 - pl.col("value")).alias("_v"))
    # The others are other people: a rater's own further answers to the pair are not among them.
    has_rater = pl.col("rater").is_not_null()
    own_count = pl.when(has_rater).then(pl.len().over("pair", "rater")).otherwise(1)
    own_sum = pl.when(has_rater).then(pl.col("_v").sum().over("pair", "rater")).otherwise("_v")
    others_count = (pl.len().over("pair") - own_count).cast(pl.Float64).alias("_n")
    others_sum = (pl.col("_v").sum().over("pair") - own_sum).alias("_sum")
    table = table.with_columns(others_count, others_sum).filter(pl.col("_n") > 0)
    if not table.height:
        return Estimate.missing("no pair was judged by two raters", name)
    v = table["_v"].to_numpy()
    others_mean = (table["_sum"] / table["_n"]).to_numpy()
    # A rater who sees no difference is half right whatever the other chose.
    agreed = v * others_mean + (1.0 - v) * (1.0 - others_mean)
    difference = mean_hits(
        rater_of(table), table["first"], table["second"], agreed, np.zeros(v.size), confidence=confidence
    )
    return replace(difference.estimate, method=name)


def strength_ceilings(task: ScoringTask, truth: Truth, options: ScoreOptions) -> dict[str, Estimate]:
    """The correlations that the true strengths of these contestants can be expected to have with the estimated ones."""
    names = get_args(RankMetric)
    result, reason = None, NO_RATINGS
    if truth.snapshot is not None:
        result = contest(truth.snapshot, task.questions[0], truth.contestants(task), options.confidence)
        reason = "there are no comparisons"
    if result is None:
        return {name: Estimate.missing(reason, f"ceiling, {name}") for name in names}
    ceiling = partial(strength_ceiling, result.result, confidence=options.confidence, seed=options.seed)
    return {name: ceiling(name) for name in names}


def mean_ceiling(courses: pl.DataFrame, column: str, confidence: float) -> Estimate:
    """The mean over stimuli of what is expected of a prediction of their course, with an interval over stimuli."""
    name = {"ceiling": "ceiling, trace_ccc", "one_rater": "one rater"}[column]
    values = courses[column].drop_nulls().to_numpy() if courses.height else np.zeros(0)
    if not values.size:
        return Estimate.missing("no stimulus has a course of two raters that varies", name)
    return mean_over_stimuli(values, name, confidence)[0]


def ceiling_of(task: ScoringTask, base: str, truth: Truth, options: ScoreOptions) -> Ceiling | str:
    """The ceiling over the items that are scored, or why there is none.

    Tied items of categories are not scored but show how clear items are, so their votes are used too. Where single ratings are
    not known, the ceiling of numbers comes from the labels' standard errors.
    """
    items = truth.items.filter(pl.col("question").is_in(task.questions))
    if task.kind == "numbers":
        items = items.filter(pl.col("label").is_not_null())
    methods = [str(name) for name in items["method"].unique()]
    if task.kind == "numbers" and len(methods) == 1 and not is_mean(methods[0]):
        return f"no ceiling of labels made by '{methods[0]}' is known"
    if task.kind == "categories" and any(name.startswith("Dawid") for name in methods):
        return "no ceiling of labels made by Dawid-Skene is known"
    facts = items.select(*ITEM, "system", "intent")
    ratings = truth.answers.join(facts, on=ITEM, how="inner", maintain_order="left")
    if not ratings.height:
        return _ceiling_of_means(items, cast("NumberMetric", base), options) if task.kind == "numbers" else NO_RATINGS
    value = ratings["value"].to_numpy()
    if task.kind == "binary":
        value = yes(truth.study.scale_of(task.questions[0]), value)
    both = pl.col("system", "intent").cast(pl.String).fill_null("")
    cell = ratings.select(pl.concat_str(both, separator="\x1f")).to_series()
    return ceiling(
        ratings["rater"],
        item_names(ratings) if len(task.questions) > 1 else ratings["stimulus"],
        value,
        cell=cell if base == "correlation" and cell.n_unique() > 1 else None,
        metric=cast("Metric", base),
        confidence=options.confidence,
        seed=options.seed,
    )


def _ceiling_of_means(items: pl.DataFrame, metric: NumberMetric, options: ScoreOptions) -> Ceiling | str:
    """The ceiling of mean labels from their standard errors, or why there is none."""
    if not items["standard_error"].is_not_null().any():
        return f"{NO_RATINGS}, without spread and count"
    label, error, n = (floats_of(items[name]) for name in ("label", "standard_error", "n"))
    top = ceiling_from_means(label, error * np.sqrt(n), n, metric, options.confidence)
    unknown = Estimate.missing(NO_RATINGS, "ceiling")
    return Ceiling(
        metric=metric,
        overall=top,
        within_cells=unknown,
        cell_means=unknown,
        cell_means_in_sample=unknown,
        human=unknown,
    )


def is_mean(method: str) -> bool:
    """Whether labels made by this method are means of ratings."""
    return method in ("mean", PUBLISHED) or method.startswith("ITU-T P.910")
