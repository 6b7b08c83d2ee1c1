"""The items on which each model was furthest off."""

from __future__ import annotations

import polars as pl

from heartfelt.scoring.scores import Task


def worst_misses(rows: pl.DataFrame, task: Task, threshold: float, most: int) -> pl.DataFrame:
    """At most ``most`` answered items per model, the worst first, with how far ``off`` the model was.

    Numbers and degrees are compared on the scale, or by rank where predictions are not on it; a wrong yes or no is as far off
    as its score is from ``threshold`` (1 without a score), and a wrong category is 1 off. Items that were not missed are left
    out.
    """
    mine = rows.filter((pl.col("task") == task.id) & pl.col("answered"))
    truth = pl.col("truth")
    if task.kind in ("numbers", "ordinal"):
        on_scale = pl.col("code").is_not_null().any().over("model")
        ranks = pl.col("score").rank().over("model") - truth.rank().over("model")
        off = pl.when(on_scale).then((pl.col("code") - truth).abs()).otherwise(ranks.abs())
    else:
        size = (pl.col("score") - threshold).abs().fill_null(1.0) if task.kind == "binary" else pl.lit(1.0)
        off = pl.when(pl.col("said") != truth).then(size).otherwise(0.0)
    return (
        mine.with_columns(off.alias("off"))
        .filter(pl.col("off") > 0)
        .sort("off", "stimulus", descending=[True, False])
        .group_by("model", maintain_order=True)
        .head(most)
    )
