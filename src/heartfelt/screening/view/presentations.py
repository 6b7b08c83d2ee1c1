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
"""What a collection notes about a trial: the listening cannot have been, or less was heard than the study asks."""
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
        (pl.col(name) if name in columns else pl.lit(None)).cast(dtype).alias(name) for name, dtype in _RECORDED.items()
    ]
    at = pl.col("at").dt.epoch("us") if "at" in columns else pl.lit(None, pl.Int64)
    rows = (
        table.filter(pl.col("rater").is_not_null())
        .with_columns(shown.alias("_shown"), at.alias("_at"), *recorded)
        .group_by(key, maintain_order=True)
        .agg(
            "seconds",
            pl.min("heard"),
            # Alphabetically, `impossible` comes before `incomplete`, and it is the graver of the two.
            pl.min("heard_flag"),
            "stimulus",
            pl.max("_at"),
        )
        .collect()
    )
    rows = rows.with_columns(pl.col("seconds").list.drop_nulls().list.unique(maintain_order=True))
    if not (rows["seconds"].list.len().sum() or rows["heard"].count() or rows["heard_flag"].count()):
        return pl.DataFrame()
    gap = pl.lit(None, pl.Float64)
    if rows["_at"].count():
        gap = pl.col("_at").sort().diff().gather(pl.col("_at").rank("ordinal") - 1).over("rater") / 1e6
    clip = _clip_seconds(rows["stimulus"], snapshot.stimuli)
    return rows.select("rater", "seconds", "heard", "heard_flag", clip, gap.alias("gap"))


def _clip_seconds(presented: pl.Series, stimuli: pl.DataFrame) -> pl.Series:
    """The length of all clips of each trial together; 0 where it is not known."""
    if "duration" not in stimuli.columns or not stimuli["duration"].count():
        return pl.zeros(presented.len(), eager=True).alias("clip")
    clips = pl.DataFrame({"stimulus": presented.list.unique()}).with_row_index("trial").explode("stimulus")
    lengths = stimuli.select("stimulus", pl.col("duration").cast(pl.Float64).alias("clip"))
    joined = clips.join(lengths, on="stimulus", how="left", maintain_order="left")
    return joined.group_by("trial", maintain_order=True).agg(pl.sum("clip"))["clip"]
