"""Buckets: how the votes on an item are divided, for questions of presence and of yes or no.

An answer above the lowest category is *present* (*yes*); the lowest is *absent* (*no*). Every rated item falls into one
bucket by these two sides, whatever the degrees of presence:

| bucket | votes |
|---|---|
| ``unanimous_present``, ``unanimous_absent`` | two or more, all on one side |
| ``majority_present``, ``majority_absent`` | more on this side than on the other |
| ``tied`` | equally many on both sides: no majority, and no label |
| ``single_rater_present``, ``single_rater_absent`` | one |

Yes-no questions say ``yes`` and ``no`` in place of present and absent. A tie leaves the majority empty; it is never
forced to a side here. emolia-bench, whose buckets these are, has no ``tied``: it gives a tie to the smaller label and
counts it among the majorities; :func:`forced` gives that convention for files that need it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from heartfelt.errors import InputError
from heartfelt.labels.columns import ITEM, ITEM_COLUMNS, count, flag, number, text
from heartfelt.labels.labelling import first_answers
from heartfelt.snapshot import Snapshot
from heartfelt.study import Scale, Study
from heartfelt.study.scales.scale import Ordered, YesNo
from heartfelt.tables import Contract

TIED = "tied"

BUCKETS = Contract(
    "buckets",
    "one row per rated item: how its votes are divided",
    (
        *ITEM_COLUMNS,
        count("n", "votes, one per rater"),
        count("present_votes", "votes above the lowest category"),
        count("absent_votes", "votes for the lowest category"),
        flag("majority_present", "the side with more votes; empty when tied", nullable=True),
        flag("present_tie", "equally many votes on both sides"),
        number("majority_value", "code of the most frequent category; empty when tied", nullable=True),
        count("majority_votes", "votes for the most frequent category, or for each of the tied"),
        flag("value_tie", "two or more categories are the most frequent"),
        flag("unanimous", "all votes on one side; empty for one vote", nullable=True),
        flag("unanimous_value", "all votes for one category; empty for one vote", nullable=True),
        text("bucket", "the bucket"),
        number("lowest_tied", "the lowest of the most frequent categories"),
        number("lowest_tied_present", "the lowest of them above the lowest category", nullable=True),
    ),
    key=tuple(ITEM),
)


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """``table`` has a row per rated item, ``votes`` one per item and category that got any.

    ``left_out`` names the questions on other scales.
    """

    table: pl.DataFrame
    votes: pl.DataFrame
    left_out: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many items each bucket holds."""
        counted = self.table.group_by("bucket").len("items").sort("bucket")
        return {str(name): int(items) for name, items in counted.iter_rows()}


def has_sides(scale: Scale) -> bool:
    """Whether answers on a scale say present or absent, yes or no."""
    return isinstance(scale, Ordered | YesNo)


def sides(scale: Scale) -> tuple[str, str]:
    """What the two sides of a scale are called, the lower first."""
    return ("no", "yes") if isinstance(scale, YesNo) else ("absent", "present")


def buckets(snapshot: Snapshot, *, answers: pl.DataFrame | None = None) -> Buckets:
    """Count the votes on every item of presence and yes-no questions; ``answers`` as of ``first_answers``."""
    snapshot = snapshot.without_probes
    study = snapshot.study
    question_ids = [question.id for question in study.asked]
    usable = [name for name in question_ids if has_sides(study.scale_of(name))]
    if not usable:
        raise InputError(
            f"No question of '{study.name}' is answered with yes or no, or with ordered categories.",
            "Buckets need a scale of type yes-no or ordered; labels of other scales come from heartfelt.labels.labels.",
        )
    answers = first_answers(snapshot) if answers is None else answers
    scales = {name: study.scale_of(name) for name in usable}
    rows = [(name, min(scale.labels()), *sides(scale)) for name, scale in scales.items()]
    schema = {"question": pl.String, "_lowest": pl.Float64, "_low": pl.String, "_high": pl.String}
    votes = (
        answers.join(pl.DataFrame(rows, schema=schema, orient="row"), on="question", how="inner", maintain_order="left")
        .group_by(*ITEM, "value", "_lowest", "_low", "_high")
        .agg(pl.len().cast(pl.Int64).alias("votes"))
        .sort(*ITEM, "value")
    )
    left_out = tuple(name for name in question_ids if name not in set(usable))
    return Buckets(_table(votes), votes.select(*ITEM, "value", "votes"), left_out)


def _table(votes: pl.DataFrame) -> pl.DataFrame:
    high = pl.col("value") > pl.col("_lowest")
    most = pl.col("votes") == pl.col("votes").max()
    counted = votes.group_by(*ITEM, maintain_order=True).agg(
        pl.first("_low", "_high"),
        pl.sum("votes").alias("n"),
        pl.col("votes").filter(high).sum().alias("present_votes"),
        pl.max("votes").alias("majority_votes"),
        (most.sum() > 1).alias("value_tie"),
        pl.col("value").filter(most).min().alias("lowest_tied"),
        pl.col("value").filter(most & high).min().alias("lowest_tied_present"),
        pl.len().alias("_used"),
    )
    present, absent, several = pl.col("present_votes"), pl.col("absent_votes"), pl.col("n") > 1
    counted = counted.with_columns((pl.col("n") - present).alias("absent_votes")).with_columns(
        (present == absent).alias("present_tie"),
        pl.when(present != absent).then(present > absent).alias("majority_present"),
        pl.when(~pl.col("value_tie")).then(pl.col("lowest_tied")).alias("majority_value"),
        pl.when(several).then((present == 0) | (absent == 0)).alias("unanimous"),
        pl.when(several).then(pl.col("_used") == 1).alias("unanimous_value"),
    )
    side = pl.when("majority_present").then("_high").otherwise("_low")
    kind = pl.when("unanimous").then(pl.lit("unanimous")).otherwise(pl.lit("majority"))
    kind = pl.when(several).then(kind).otherwise(pl.lit("single_rater"))
    named = pl.when("present_tie").then(pl.lit(TIED)).otherwise(pl.concat_str(kind, side, separator="_"))
    typed = BUCKETS.typed(counted.lazy().with_columns(named.alias("bucket")), "buckets")
    return typed.select(BUCKETS.names).collect()


def forced(table: pl.DataFrame, study: Study, *, contradict: bool = False) -> pl.DataFrame:
    """The table of buckets with every tie given to the smaller label, as emolia-bench's columns need it.

    ``majority_present`` and ``majority_value`` have no gaps any more; ``present_tie`` and ``value_tie`` still say which
    were forced; ``bucket`` is untouched. Of tied categories the lowest on the majority's side is taken, so that one vote
    each for not, weakly and strongly present is weakly present and present. With ``contradict`` the lowest is taken
    whatever the side, as emolia-bench does: that item is then *not present* by one column and present by the other.
    With it, ties are also put into emolia-bench's majority buckets.
    """
    present = pl.col("majority_present").fill_null(False)
    consistent = pl.when(present).then(pl.col("lowest_tied_present").fill_null(pl.col("lowest_tied")))
    lowest = pl.col("lowest_tied")
    value = lowest if contradict else consistent.otherwise(lowest)
    bucket = pl.col("bucket")
    if contradict:
        names = {name: f"majority_{sides(study.scale_of(name))[0]}" for name in table["question"].unique()}
        low = pl.col("question").replace_strict(names, return_dtype=pl.String)
        bucket = pl.when("present_tie").then(low).otherwise(bucket)
    return table.with_columns(
        present.alias("majority_present"),
        pl.col("majority_value").fill_null(value).alias("majority_value"),
        bucket.alias("bucket"),
    )
