"""Trials in which stimuli were judged together, read from a table of ratings.

A rating row of such a trial is the value of one stimulus beside the others: rows with the same rater and ``trial`` belong
together, and ``place`` says where each stimulus was presented. Where it was not recorded ``place`` is empty; stimuli are then
listed by name, and nothing is said about an order.
"""

from __future__ import annotations

import polars as pl

from heartfelt.study import Scale, Study
from heartfelt.study.scales.set_scale import BestWorst, Choice, Preference, Ranking, SetScale

TRIAL = ("rater", "trial")
_ABOUT = ("set", "position", "seconds", "at", "repeat")


def set_questions(study: Study) -> list[str]:
    """The questions of a study that are answered about several stimuli at once."""
    return [question.id for question in study.asked if isinstance(study.scale_of(question.id), SetScale)]


def has_sets(ratings: pl.DataFrame | pl.LazyFrame) -> bool:
    """Whether stimuli were judged together."""
    return {"trial", "place"} <= set(ratings.collect_schema().names())


def members(ratings: pl.DataFrame, question: str) -> pl.DataFrame:
    """The rows of one question in trials with sets: ``rater, trial, stimulus, place, ordered, role, value`` and what else is known.

    ``trial`` is unique to a rater's presentation here, whatever ids the source used. ``ordered`` says whether the places of the
    trial were recorded; where they were not, ``place`` numbers the stimuli by name.
    """
    if not has_sets(ratings):
        return ratings.clear().with_columns(
            trial=pl.lit(None, pl.String),
            place=pl.lit(None, pl.Int64),
            ordered=pl.lit(None, pl.Boolean),
            role=pl.lit(None, pl.String),
        )
    answered = (pl.col("question") == question) & pl.col("trial").is_not_null() & pl.col("value").is_not_null()
    rows = ratings.filter(answered)
    role = pl.col("role").fill_null("member") if "role" in rows.columns else pl.lit("member")
    rows = rows.with_columns(role.alias("role"), pl.lit(True).alias("ordered"))
    if not rows["place"].null_count():
        return rows
    by_name = pl.col("stimulus").rank("ordinal").over(*TRIAL).cast(pl.Int64)
    return rows.with_columns(pl.col("place").is_not_null().all().over(*TRIAL).alias("ordered")).with_columns(
        pl.when("ordered").then("place").otherwise(by_name).alias("place")
    )


def in_both_orders(first: pl.Series, second: pl.Series) -> bool:
    """Whether pairs come in both orders about as often as orders drawn at random would.

    Of n comparisons of a pair in random order both orders occur with probability 1 - 2^(1 - n). Half as many such pairs as that
    gives are evidence enough; a table sorted by name has none.
    """
    table = pl.DataFrame({"first": first, "second": second})
    named = (pl.min_horizontal("first", "second").alias("a"), pl.max_horizontal("first", "second").alias("b"))
    ahead = (pl.col("first") < pl.col("second")).sum()
    met = table.group_by(named).agg(ahead.alias("ahead"), pl.len().alias("n"))
    both = ((pl.col("ahead") > 0) & (pl.col("ahead") < pl.col("n"))).sum()
    expected = (1.0 - 0.5 ** (pl.col("n") - 1.0)).sum()
    return bool(met.select((both > 0) & (both >= expected / 2.0)).item())


def pairs(ratings: pl.DataFrame, question: str, stimuli: pl.DataFrame | None = None) -> pl.DataFrame:
    """Trials with two stimuli: ``rater, trial, first, second, value`` and what else is known of the trial.

    ``value`` is that of the stimulus presented first: for a choice 1 if it was chosen, 0 if the other was, 0.5 for a tie;
    for a preference the grade in its favour. Where ``ordered`` is false, the first is the one whose name comes first. With the
    table of ``stimuli`` there are also ``first_system`` and ``second_system``.
    """
    rows = members(ratings, question)
    about = [name for name in _ABOUT if name in rows.columns]
    first = rows.filter(pl.col("place") == 1).select(
        *TRIAL, pl.col("stimulus").alias("first"), "value", "ordered", *about
    )
    second = rows.filter(pl.col("place") == 2).select(*TRIAL, pl.col("stimulus").alias("second"))
    table = first.join(second, on=TRIAL, how="inner", nulls_equal=True, maintain_order="left")
    table = table.select(*TRIAL, "first", "second", "value", "ordered", *about)
    if stimuli is None or "system" not in stimuli.columns:
        return table
    systems = stimuli.select("stimulus", "system")
    for side in ("first", "second"):
        made_by = systems.rename({"stimulus": side, "system": f"{side}_system"})
        table = table.join(made_by, on=side, how="left", maintain_order="left")
    return table


def choices(ratings: pl.DataFrame, question: str, scale: Scale) -> pl.DataFrame:
    """Which of two: ``rater, trial, first, second, value, grade`` and what else is known, for every two stimuli of a trial.

    ``first`` was presented before ``second`` where ``ordered``; ``value`` is 1 where it was preferred, 0 where the other was, 0.5
    for a tie.
    ``grade`` is that of a preference, in favour of the first. Rankings give every two members of a set; best-worst answers
    give the best and the worst against each other and against the rest. Other scales give no row.
    """
    table = pairs(ratings, question) if isinstance(scale, Choice | Preference) else _within_sets(ratings, question)
    grade = pl.col("value") if isinstance(scale, Preference) else pl.lit(None, pl.Float64)
    table = table.with_columns(grade.alias("grade"))
    if not isinstance(scale, Choice | Preference | Ranking | BestWorst):
        return table.clear()
    if not isinstance(scale, Choice):
        table = table.with_columns((0.5 + pl.col("value").sign() / 2).alias("value"))
    if isinstance(scale, Ranking):
        table = table.with_columns((1.0 - pl.col("value")).alias("value"))
    if isinstance(scale, BestWorst):
        table = table.filter(pl.col("value") != 0.5)
    return table.filter(pl.col("first") != pl.col("second"))


def _within_sets(ratings: pl.DataFrame, question: str) -> pl.DataFrame:
    """Every two members of a trial, with the value of the first less that of the second."""
    rows = members(ratings, question)
    about = [name for name in _ABOUT if name in rows.columns]
    first = rows.select(*TRIAL, pl.col("stimulus").alias("first"), "place", "value", "ordered", *about)
    second = rows.select(
        *TRIAL, pl.col("stimulus").alias("second"), pl.col("place").alias("_after"), pl.col("value").alias("_other")
    )
    table = first.join(second, on=TRIAL, how="inner", nulls_equal=True, maintain_order="left")
    table = table.filter(pl.col("place") < pl.col("_after"))
    return table.with_columns(pl.col("value") - pl.col("_other")).select(
        *TRIAL, "first", "second", "value", "ordered", *about
    )


def contests(table: pl.DataFrame, stimuli: pl.DataFrame, of: str) -> pl.DataFrame:
    """The comparisons of ``choices`` between systems (or stimuli) instead: ``first`` and ``second`` name those.

    ``first_stimulus`` and ``second_stimulus`` keep the stimuli; ``unit`` is what was compared on: the prompt if the stimuli of
    every comparison share it, the two stimuli otherwise. Comparisons within a system, or with a stimulus of none, are
    left out.
    """
    low, high = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
    table = table.with_columns(pl.concat_str(low, high, separator="\x1f").alias("unit"))
    prompt = _shared(table, stimuli, "prompt")
    if prompt is not None:
        table = table.with_columns(prompt)
    names = stimuli.select("stimulus", pl.col(of).cast(pl.String).alias("name"))
    for side in ("first", "second"):
        called = names.rename({"stimulus": side, "name": f"_{side}"})
        table = table.join(called, on=side, how="left", maintain_order="left")
        table = table.rename({side: f"{side}_stimulus", f"_{side}": side})
    both_present = pl.col("first").is_not_null() & pl.col("second").is_not_null()
    sides = ["first", "second", "value", "grade", "unit", "first_stimulus", "second_stimulus", "ordered"]
    columns = [*TRIAL, *sides]
    return table.filter(both_present & (pl.col("first") != pl.col("second"))).select(columns).sort(columns)


def _shared(table: pl.DataFrame, stimuli: pl.DataFrame, column: str) -> pl.Series | None:
    """The value of a column of the stimuli that both members share in every comparison; None where they do not."""
    if column not in stimuli.columns or not table.height:
        return None
    of = stimuli.select("stimulus", pl.col(column).cast(pl.String).alias("unit"))
    first, second = (
        table.select(side).join(of, left_on=side, right_on="stimulus", how="left", maintain_order="left")["unit"]
        for side in ("first", "second")
    )
    return first if first.null_count() == 0 and bool((first == second).all()) else None
