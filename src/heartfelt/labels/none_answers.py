"""Items to which most raters answered "none": they have no value, and that is their label.

"None" is neither a number nor missing. Where at least half of the raters of an item answered "none", the label is "none":
``answer`` says so, ``share`` is the share of raters who agree, and the value is missing with that reason. Elsewhere the label
is made from the other answers.
"""

from __future__ import annotations

import polars as pl

from heartfelt.labels.columns import ITEM
from heartfelt.snapshot import Snapshot
from heartfelt.study.scales.answer import NONE

METHOD = "none"


def mostly_none(snapshot: Snapshot, answers: pl.DataFrame) -> pl.DataFrame:
    """The items that at least half of the raters answered with "none", as rows of a table of labels.

    ``answers`` are all other answers: columns stimulus and question.
    """
    allowed = [question.id for question in snapshot.study.asked if question.none]
    table = snapshot.scan_ratings()
    if not allowed or "answer" not in table.collect_schema():
        return pl.DataFrame(schema={**dict.fromkeys(ITEM, pl.String), "value": pl.Float64})
    if "repeat" in table.collect_schema():
        table = table.filter(pl.col("repeat").fill_null(0) == 0)
    answered_none = pl.col("question").is_in(allowed) & pl.col("value").is_null() & (pl.col("answer") == NONE)
    none = table.filter(answered_none).group_by(ITEM, maintain_order=True).agg(pl.len().alias("none")).collect()
    valued = answers.group_by(ITEM).agg(pl.len().alias("others"))
    counts = none.join(valued, on=ITEM, how="left", maintain_order="left")
    counts = counts.with_columns(pl.col("others").fill_null(0)).filter(pl.col("none") >= pl.col("others"))
    total = pl.col("none") + pl.col("others")
    reason = pl.format("{} of {} raters answered 'none'", "none", total).alias("why_missing")
    return counts.select(
        *ITEM,
        pl.lit(None, pl.Float64).alias("value"),
        pl.lit(NONE).alias("answer"),
        (pl.col("none") / total).alias("share"),
        total.cast(pl.Int64).alias("n"),
        pl.lit(METHOD).alias("method"),
        reason,
    )
