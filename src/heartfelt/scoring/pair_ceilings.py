"""The best that can be expected of predicted choices, strengths and traces, and what one person reaches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np
import polars as pl

from heartfelt.labels.strengths import contest, rater_of
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import ScoringTask
from heartfelt.scoring.truth import NO_RATINGS, Truth
from heartfelt.stats.comparison.ceilings import RankMetric, choice_ceilings, strength_ceiling
from heartfelt.stats.comparison.hits import mean_hits
from heartfelt.stats.comparison.prediction import ChoiceScores
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.trace_scores import mean_over_stimuli


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
