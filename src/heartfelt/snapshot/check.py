"""Holding surveyed ratings to their study: the first rating at fault is named."""

from __future__ import annotations

import numpy as np
import polars as pl

from heartfelt.errors import InputError, suggestion
from heartfelt.snapshot.survey import QuestionFacts, Survey
from heartfelt.study import Scale, Study
from heartfelt.tables import RATINGS


def check_ratings(found: Survey, ratings: pl.LazyFrame, study: Study, stimuli: list[str], where: str) -> None:
    """Hold the ratings to the study; the first rating at fault is named."""
    if found.doubled:
        _raise_doubled(ratings, where)
    questions = {question.id for question in study.asked}
    for name in found.questions:
        if name not in questions:
            raise InputError(
                f"{where}: {found.questions[name].ratings} ratings answer a question '{name}' the study does not ask.",
                suggestion(name, questions, "Questions"),
            )
    strangers = set() if found.stimuli == stimuli else set(found.stimuli) - set(stimuli)
    if strangers:
        name = sorted(strangers)[0]
        raise InputError(
            f"{where}: {len(strangers)} rated stimuli are not among the stimuli; the first is '{name}'.",
            suggestion(name, stimuli, "Stimuli")
            if len(stimuli) < 50
            else "Add them to the manifest, or remove their ratings.",
        )
    for name, facts in found.questions.items():
        scale = study.scale_of(name)
        if not _fits(facts, scale):
            _raise_off_scale(ratings, name, scale, where)


def _fits(facts: QuestionFacts, scale: Scale) -> bool:
    bounds = scale.bounds()
    if facts.low is None or facts.high is None:
        return True
    if bounds is None:
        low, high = getattr(scale, "low", None), getattr(scale, "high", None)
        return (
            np.isfinite(facts.low)
            and np.isfinite(facts.high)
            and (low is None or facts.low >= low)
            and (high is None or facts.high <= high)
        )
    whole = facts.whole or (scale.level == "interval" and getattr(scale, "type", "") == "numeric")
    return bool(bounds[0] <= facts.low and facts.high <= bounds[1] and whole)


def _raise_doubled(ratings: pl.LazyFrame, where: str) -> None:
    key = [name for name in RATINGS.key if name in ratings.collect_schema()]
    first = (
        ratings.filter(pl.col("rater").is_not_null())
        .group_by(key)
        .agg(pl.len().alias("times"), pl.col("value").alias("values"))
        .filter(pl.col("times") > 1)
        .sort(key)
        .collect(engine="streaming")
    )
    if not first.height:
        return
    row = first.row(0, named=True)
    values = ", ".join("empty" if v is None else f"{v:g}" for v in row["values"][:4])
    raise InputError(
        f"{where}: {first.height} ratings are there more than once; the first is rater '{row['rater']}' on stimulus"
        f" '{row['stimulus']}', question '{row['question']}' ({row['times']} times: {values}).",
        "Keep one rating each, or number repeated presentations in a column 'repeat' (0, 1, …).",
    )


def _raise_off_scale(ratings: pl.LazyFrame, question: str, scale: Scale, where: str) -> None:
    frame = ratings.filter((pl.col("question") == question) & pl.col("value").is_not_null()).collect(
        engine="streaming"
    )
    bad = []
    for row in frame.iter_rows(named=True):
        try:
            scale.read(row["value"])
        except InputError as error:
            bad.append((row, error.fix))
    if not bad:
        return
    row, fix = bad[0]
    raise InputError(
        f"{where}: {len(bad)} answers to '{question}' are off its scale; the first is {row['value']:g} by rater"
        f" '{row['rater']}' on stimulus '{row['stimulus']}'.",
        f"{fix} Correct the values, or state the scale that was used.",
    )
