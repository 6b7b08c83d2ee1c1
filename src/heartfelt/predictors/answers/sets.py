"""Stimuli that were judged together, as they are asked about and scored: sets, and the pairs they hold.

A pair is named by its two stimuli in the order of their names, joined by ``|``, whichever was presented first; a larger set
likewise by its members. Answers are read by :mod:`heartfelt.snapshot.comparisons`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import polars as pl

from heartfelt.labels import Benchmark
from heartfelt.labels.strengths import COMPARED, first_presentations
from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import TRIAL, choices, in_both_orders, members

__all__ = ["COMPARED", "answers_of", "holding", "pair_name", "set_name", "sets_of", "win_shares"]

SEPARATOR = "|"
FIRST, SECOND = "first", "second"
"""Answers that name a place rather than a stimulus."""
_SETS: dict[str, pl.DataType | type[pl.DataType]] = {
    "stimulus": pl.String,
    "question": pl.String,
    "members": pl.List(pl.String),
    "set": pl.String,
}
_ANSWERS: dict[str, pl.DataType | type[pl.DataType]] = {
    "question": pl.String,
    "rater": pl.String,
    "first": pl.String,
    "second": pl.String,
    "value": pl.Float64,
    "ordered": pl.Boolean,
    "pair": pl.String,
}


def set_name(stimuli: Iterable[str]) -> str:
    """What a set of these stimuli is called, in whatever order they are given."""
    return SEPARATOR.join(sorted(stimuli))


def pair_name() -> pl.Expr:
    """What the pair in the columns ``first`` and ``second`` is called."""
    ends = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
    return pl.concat_str(ends, separator=SEPARATOR).alias("pair")


def answers_of(source: Snapshot | Benchmark, questions: Sequence[str], part: str | None = None) -> pl.DataFrame:
    """``question, rater, first, second, value, ordered, pair`` of every answer to these questions, in the order presented.

    ``ordered`` says whether that order was recorded; otherwise the two are in the order of their names. ``value`` is 1 where the
    first was chosen, 0 where the second was, 0.5 for a tie. Rankings and best-worst answers give the pairs that follow from them.
    ``part`` is a part of a benchmark: both stimuli of a pair lie in it.
    """
    parts = [pl.DataFrame(schema=_ANSWERS)]
    if isinstance(source, Benchmark):
        table = source.choices
        if part is not None:
            table = table.filter(pl.col("split") == part)
        if table.height:
            both = in_both_orders(table["first"], table["second"])
            table = table.filter(pl.col("question").is_in(list(questions)))
            parts.append(table.with_columns(pair_name(), pl.lit(both).alias("ordered")))
    else:
        ratings = first_presentations(source) if questions else None
        for name in questions:
            assert ratings is not None  # there are questions
            table = choices(ratings, name, source.study.scale_of(name))
            parts.append(table.with_columns(pair_name(), pl.lit(name).alias("question")))
    return pl.concat([part.select(*_ANSWERS).cast(pl.Schema(_ANSWERS)) for part in parts])


def win_shares(source: Snapshot | Benchmark, questions: Sequence[str]) -> pl.DataFrame:
    """``stimulus, question, value``: how often each stimulus was chosen among its comparisons, a tie being half a time."""
    answers = answers_of(source, questions)
    lost = answers.select("question", pl.col("second").alias("stimulus"), (1.0 - pl.col("value")).alias("value"))
    both = pl.concat([answers.select("question", pl.col("first").alias("stimulus"), "value"), lost])
    shares = both.group_by("stimulus", "question", maintain_order=True).agg(pl.mean("value"))
    return shares.sort("question", "stimulus")


def sets_of(source: Snapshot | Benchmark, questions: Sequence[str]) -> pl.DataFrame:
    """``stimulus`` (the set's name), ``question``, ``members`` (by name) and ``set`` (its id in the study) of what was judged.

    A benchmark holds pairs only.
    """
    parts = [pl.DataFrame(schema=_SETS)]
    ratings = None if isinstance(source, Benchmark) or not questions else first_presentations(source)
    for name in questions:
        if ratings is None:
            answers = answers_of(source, [name]).unique("pair", maintain_order=True)
            listed = pl.concat_list(pl.col("first"), pl.col("second")).list.sort()
            table = answers.select(listed.alias("members"), pl.lit(None, pl.String).alias("set"))
        else:
            rows = members(ratings, name)
            set_column = pl.first("set") if "set" in rows.columns else pl.lit(None, pl.String).alias("set")
            trials = rows.group_by(TRIAL, maintain_order=True).agg(
                pl.col("stimulus").unique().sort().alias("members"), set_column
            )
            table = trials.filter(pl.col("members").list.len() > 1).select("members", "set")
        named = pl.col("members").list.join(SEPARATOR).alias("stimulus")
        table = table.with_columns(named, pl.lit(name).alias("question"))
        parts.append(table.select(*_SETS).cast(pl.Schema(_SETS)).unique("stimulus", maintain_order=True))
    return pl.concat(parts)


def holding(sets: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """The sets that hold one of the pairs that ``items`` name, or are named themselves."""
    wanted = set(items.select("stimulus", "question").iter_rows())
    holds = [
        (name, question) in wanted
        or any((set_name(two), question) in wanted for two in itertools.combinations(stimuli, 2))
        for name, question, stimuli in sets.select("stimulus", "question", "members").iter_rows()
    ]
    return sets.filter(pl.Series(holds, dtype=pl.Boolean))
