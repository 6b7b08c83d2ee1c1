"""The answers that labels and analyses are made of: first presentations with a finite value, one a rater and item.

A rater whom the source does not name gets an id of their own for every answer, so that nothing downstream takes
two anonymous votes for one person's. ``known`` says which ids are real.
"""

from __future__ import annotations

import polars as pl

from heartfelt.snapshot import Snapshot

UNKNOWN = "\x00unknown rater "


def first_answers(snapshot: Snapshot) -> pl.DataFrame:
    """``rater, stimulus, question, value, known`` of every first presentation with a finite value, probes left out."""
    snapshot = snapshot.without_probes
    table = snapshot.scan_ratings()
    have = table.collect_schema().names()
    if "repeat" in have:
        table = table.filter(pl.col("repeat").fill_null(0) == 0)
    named = pl.col("rater").is_not_null()
    anonymous = pl.concat_str(pl.lit(UNKNOWN), pl.col("_row").cast(pl.String))
    found = (
        table.with_row_index("_row")
        .filter(pl.col("value").is_finite())
        .select(
            pl.when(named).then(pl.col("rater")).otherwise(anonymous).alias("rater"),
            "stimulus",
            "question",
            "value",
            named.alias("known"),
        )
        .collect()
    )
    if not snapshot.survey.doubled and "repeat" not in have:
        return found
    return found.unique(["rater", "stimulus", "question"], keep="first", maintain_order=True)
