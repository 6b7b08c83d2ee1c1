"""``benchmark_labels.csv``: one row per rated item, in emolia-bench's columns and order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from heartfelt.datasets.emolia.subset import EmoliaOptions, Subset, items_of
from heartfelt.labels import first_answers
from heartfelt.labels.buckets import ITEM, Buckets, buckets, forced
from heartfelt.snapshot import Snapshot

_EMO_VOTES = ("not_present_votes", "weakly_present_votes", "strongly_present_votes")
_DIM_VOTES = ("no_votes", "yes_votes")


@dataclass(frozen=True, eq=False)
class Material:
    """All that a subset's files are made of.

    ``items`` has every item, rated or not; ``labels`` every rated one with typed columns, among them ``_majority`` (empty
    when tied, unless ties are treated as published), ``_matches`` and ``_unanimous`` of the slices; ``item`` numbers the
    rows, and ``answers`` use the same numbers.
    """

    snapshot: Snapshot
    subset: Subset
    options: EmoliaOptions
    items: pl.DataFrame
    answers: pl.DataFrame
    labels: pl.DataFrame
    counted: Buckets

    @property
    def unrated(self) -> pl.DataFrame:
        """Items nobody rated."""
        return self.items.join(self.labels.select(ITEM), on=ITEM, how="anti", maintain_order="left")

    @property
    def tied(self) -> int:
        """Items with as many votes on either side."""
        return int(self.labels["majority_present_tie"].sum())

    @cached_property
    def prior(self) -> dict[int, bool]:
        """What rated items were chosen to show, by the item's number."""
        chosen = self.labels.filter(pl.col("_intended").is_not_null())
        return dict(chosen.select("item", "_intended").iter_rows())


def gather(snapshot: Snapshot, subset: Subset, options: EmoliaOptions) -> Material:
    """Count a subset's votes and bring them into its columns."""
    answers = first_answers(snapshot).filter(pl.col("question").is_in(subset.questions))
    counted = buckets(snapshot, answers=answers)
    items = items_of(snapshot, subset)
    labels = _labels(counted, items, _people(snapshot, answers), subset, options, snapshot)
    labels = labels.with_row_index("item").with_columns(pl.col("item").cast(pl.Int64))
    numbered = answers.join(labels.select(*ITEM, "item"), on=ITEM, how="inner", maintain_order="left")
    return Material(snapshot, subset, options, items, numbered, labels, counted)


def written(material: Material) -> pl.DataFrame:
    """The table as the file has it: exactly its columns, with truth values spelt as pandas spells them."""
    return spelt(material.labels.select(material.subset.form.columns))


def spelt(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with ``True`` and ``False`` for truth values."""
    words = {True: "True", False: "False"}
    truth = [name for name, kind in frame.schema.items() if kind == pl.Boolean]
    return frame.with_columns(pl.col(name).replace_strict(words, return_dtype=pl.String) for name in truth)


def _people(snapshot: Snapshot, answers: pl.DataFrame) -> pl.DataFrame:
    """Who rated each item, and how long it took them."""
    ratings = snapshot.ratings
    if "repeat" in ratings.columns:
        ratings = ratings.filter(pl.col("repeat").fill_null(0) == 0)
    ratings = ratings.filter(pl.col("value").is_finite()).join(
        answers.select(ITEM).unique(), on=ITEM, how="semi", maintain_order="left"
    )
    ratings = pl.concat(
        [
            ratings.filter(pl.col("rater").is_not_null()).unique(
                ["rater", *ITEM], keep="first", maintain_order=True
            ),
            ratings.filter(pl.col("rater").is_null()),
        ]
    )
    nothing = pl.lit(None, dtype=pl.Float64)
    have = ratings.columns
    seconds = pl.col("seconds") * 1000 if "seconds" in have else nothing
    reaction = (
        pl.col("reaction_time_ms").cast(pl.Float64, strict=False) if "reaction_time_ms" in have else seconds
    )
    sample = pl.col("sample_time_ms").cast(pl.Float64, strict=False) if "sample_time_ms" in have else nothing
    timed = ratings.with_columns(reaction.alias("_reaction"), sample.alias("_sample"))
    return timed.group_by(ITEM).agg(
        pl.col("rater").drop_nulls().sort().str.join("|").alias("usernames"),
        pl.mean("_reaction").alias("reaction_time_ms_mean"),
        pl.median("_reaction").alias("reaction_time_ms_median"),
        pl.mean("_sample").alias("sample_time_ms_mean"),
    )


def _votes(counted: Buckets, subset: Subset) -> pl.DataFrame:
    names = _EMO_VOTES if subset.form.kind == "emo" else _DIM_VOTES
    votes = counted.votes
    return votes.group_by(ITEM).agg(
        pl.col("votes").filter(pl.col("value") == code).sum().alias(name)
        for code, name in zip(subset.codes, names, strict=True)
    )


def _labels(
    counted: Buckets,
    items: pl.DataFrame,
    people: pl.DataFrame,
    subset: Subset,
    options: EmoliaOptions,
    snapshot: Snapshot,
) -> pl.DataFrame:
    table = forced(counted.table, snapshot.study, contradict=not options.honest)
    for part in (people, _votes(counted, subset)):
        table = table.join(part, on=ITEM, how="left")
    table = items.join(table, on=ITEM, how="inner", maintain_order="left")
    place = {code: at for at, code in enumerate(subset.codes)}
    words = dict(zip(subset.codes, subset.words, strict=True))
    present = pl.col("majority_present")
    majority = pl.when(~pl.col("present_tie")).then(present) if options.honest else present
    unanimous = pl.col("unanimous") if options.honest else pl.col("unanimous").fill_null(False)
    same = pl.col("unanimous_value") if options.honest else pl.col("unanimous_value").fill_null(False)
    matches = majority == pl.col("intended")
    return table.with_columns(
        pl.col("majority_value").replace_strict(place, return_dtype=pl.Int64).alias("majority_rating_int"),
        pl.col("majority_value").replace_strict(words, return_dtype=pl.String).alias("majority_rating"),
        pl.col("majority_votes").alias("majority_rating_votes"),
        pl.col("value_tie").alias("majority_rating_tie"),
        present.cast(pl.Int64).alias("majority_present"),
        pl.max_horizontal("present_votes", "absent_votes").alias("majority_present_votes"),
        pl.col("present_tie").alias("majority_present_tie"),
        pl.col("unanimous").fill_null(False).alias("all_agree_binary"),
        pl.col("unanimous_value").fill_null(False).alias("all_agree_ordinal"),
        pl.col("intended").cast(pl.Int64).alias("intended_present"),
        matches.alias("matches_intended_label"),
        matches.alias("matches_intended_polarity"),
        pl.col("bucket").alias("benchmark_bucket"),
        pl.col("n").alias("n_raters"),
        majority.alias("_majority"),
        matches.alias("_matches"),
        unanimous.alias("_unanimous"),
        same.alias("_unanimous_value"),
        pl.col("intended").alias("_intended"),
    )
