"""Trials in which stimuli were judged together, read from a table of ratings.

A rating row of such a trial is the value of one stimulus beside the others: rows with the same rater and ``trial`` belong
together, and ``place`` says where each stimulus was presented.
"""

from __future__ import annotations

import polars as pl

from heartfelt.study import Study
from heartfelt.study.set_scale import SetScale

TRIAL = ("rater", "trial")
_ABOUT = ("set", "position", "seconds", "at", "repeat")


def set_questions(study: Study) -> list[str]:
    """The questions of a study that are answered about several stimuli at once."""
    return [question.id for question in study.asked if isinstance(study.scale_of(question.id), SetScale)]


def has_sets(ratings: pl.DataFrame | pl.LazyFrame) -> bool:
    """Whether stimuli were judged together."""
    return {"trial", "place"} <= set(ratings.collect_schema().names())


def members(ratings: pl.DataFrame, question: str) -> pl.DataFrame:
    """The rows of one question in trials with sets: ``rater, trial, stimulus, place, role, value`` and what else is known.

    ``trial`` is unique to a rater's presentation here, whatever ids the source used.
    """
    if not has_sets(ratings):
        return ratings.clear().with_columns(
            trial=pl.lit(None, pl.String), place=pl.lit(None, pl.Int64), role=pl.lit(None, pl.String)
        )
    asked = (pl.col("question") == question) & pl.col("trial").is_not_null() & pl.col("value").is_not_null()
    rows = ratings.filter(asked)
    role = pl.col("role").fill_null("member") if "role" in rows.columns else pl.lit("member")
    return rows.with_columns(role.alias("role"))


def pairs(ratings: pl.DataFrame, question: str, stimuli: pl.DataFrame | None = None) -> pl.DataFrame:
    """Trials with two stimuli: ``rater, trial, first, second, value`` and what else is known of the trial.

    ``value`` is that of the stimulus presented first: for a choice 1 if it was chosen, 0 if the other was, 0.5 for a tie;
    for a preference the grade in its favour. With the table of ``stimuli`` there are also ``first_system`` and
    ``second_system``.
    """
    rows = members(ratings, question)
    about = [name for name in _ABOUT if name in rows.columns]
    first = rows.filter(pl.col("place") == 1).select(
        *TRIAL, pl.col("stimulus").alias("first"), "value", *about
    )
    second = rows.filter(pl.col("place") == 2).select(*TRIAL, pl.col("stimulus").alias("second"))
    table = first.join(second, on=TRIAL, how="inner", nulls_equal=True, maintain_order="left")
    table = table.select(*TRIAL, "first", "second", "value", *about)
    if stimuli is None or "system" not in stimuli.columns:
        return table
    systems = stimuli.select("stimulus", "system")
    for side in ("first", "second"):
        made_by = systems.rename({"stimulus": side, "system": f"{side}_system"})
        table = table.join(made_by, on=side, how="left", maintain_order="left")
    return table
