"""Presentations, for the rules about listening and timing: one row per trial, whatever was asked in it.

A rating, a pair, a MUSHRA set, a ranking and a trace are one trial each, so a set of six members counts once. ``heard`` is
the share of the clip that was heard, of a set that of the member heard least; ``heard_flag`` is what the collection
noted about it. ``seconds`` lists the times recorded for the trial: one where its answers share it, else one per
answer. ``clip`` is the length of all its clips together, and ``gap`` the seconds since the rater's previous answer.
"""

from __future__ import annotations

import polars as pl

from heartfelt.snapshot import Snapshot
from heartfelt.snapshot.comparisons import has_sets

IMPOSSIBLE, INCOMPLETE = "impossible", "incomplete"
"""What a collection notes about a trial: more was reported than time allows, or less was heard than the study asks."""
_RECORDED = {"seconds": pl.Float64, "heard": pl.Float64, "heard_flag": pl.String}


def presentations(snapshot: Snapshot) -> pl.DataFrame:
    """``rater, seconds, heard, heard_flag, clip, gap``; an empty table where none of it was recorded."""
    table = snapshot.scan_ratings()
    columns = table.collect_schema().names()
    if not set(_RECORDED) & set(columns):
        return pl.DataFrame()
    shown = pl.coalesce("trial", "stimulus") if has_sets(table) else pl.col("stimulus")
    key = ["rater", "_shown", *(name for name in ("repeat", "position") if name in columns)]
    recorded = [
        (pl.col(name) if name in columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in _RECORDED.items()
    ]
    at = pl.col("at").dt.epoch("us") if "at" in columns else pl.lit(None, pl.Int64)
    rows = (
        table.filter(pl.col("rater").is_not_null())
        .with_columns(shown.alias("_shown"), at.alias("_at"), *recorded)
        .join(_durations(snapshot.stimuli), on="stimulus", how="left", maintain_order="left")
        .group_by(key, maintain_order=True)
        .agg(
            pl.col("seconds").drop_nulls().unique(maintain_order=True),
            pl.min("heard"),
            # Alphabetically, `impossible` comes before `incomplete`, and it is the graver of the two.
            pl.min("heard_flag"),
            pl.col("_duration").filter(pl.col("stimulus").is_first_distinct()).sum().alias("clip"),
            pl.max("_at"),
        )
        .collect()
    )
    if not (rows["seconds"].list.len().sum() or rows["heard"].count() or rows["heard_flag"].count()):
        return pl.DataFrame()
    gap = pl.col("_at").sort().diff().gather(pl.col("_at").rank("ordinal") - 1).over("rater") / 1e6
    return rows.select("rater", "seconds", "heard", "heard_flag", "clip", gap.alias("gap"))


def _durations(stimuli: pl.DataFrame) -> pl.LazyFrame:
    known = pl.col("duration") if "duration" in stimuli.columns else pl.lit(None)
    return stimuli.lazy().select("stimulus", known.cast(pl.Float64).alias("_duration"))
