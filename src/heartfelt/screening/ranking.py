"""The joint ranking of raters by carelessness: how much evidence all rules together bring, and from where.

Each rule that looks for carelessness gives a rater evidence in powers of ten, between 0 and 4: minus the logarithm of
its p-value (the smallest over questions), the posterior odds of carrying no information, the adjusted p-value of parallel
answers, or 2 for a missed limit of the study. The score is the sum over rules. It is a ranking for a person to read from the
top, not a test: rules overlap, so a score has no false-positive rate of its own. Bias, BT.500 and P.913 do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from heartfelt.screening.rules import RULES


def ranking(flags: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """One row per rater, most evidence first: rank, score, who flagged, and each rule's evidence in its column."""
    counted = [name for name in RULES if RULES[name].careless]
    parts = (
        flags.filter(pl.col("rater").is_not_null() & pl.col("rule").is_in(counted))
        .group_by("rater", "rule")
        .agg(pl.max("evidence"))
    )
    table = pl.DataFrame({"rater": list(raters)}, schema={"rater": pl.String})
    for name in counted:
        one = parts.filter(pl.col("rule") == name).select("rater", pl.col("evidence").alias(name))
        table = table.join(one, on="rater", how="left", maintain_order="left")
    flagged = (
        flags.filter("flagged")
        .sort("error_controlled", descending=True, maintain_order=True)
        .unique(["rater", "rule"], maintain_order=True)
        .group_by("rater", maintain_order=True)
        .agg(pl.col("rule").alias("flagged_by"))
    )
    table = table.join(flagged, on="rater", how="left", maintain_order="left")
    table = table.with_columns(
        pl.sum_horizontal(pl.col(counted).fill_null(0.0)).alias("score"),
        pl.col("flagged_by").fill_null(pl.lit([], dtype=pl.List(pl.String))),
    )
    table = table.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
    return table.select("rank", "rater", "score", "flagged_by", *counted).sort(
        "rank", "rater", maintain_order=True
    )
