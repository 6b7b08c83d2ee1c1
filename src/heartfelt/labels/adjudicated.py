"""Labels of items that a senior rater decided.

By default the label of a question answered with categories is the decided one (also where the votes are tied or too few), and
labels that are numbers stay those of the raters: a single number decided by one person has no standard error, and scores and
ceilings rest on many raters. ``n`` and ``sd`` are those of the ratings; ``share`` is the share of the ratings that agree with the
decision. A column ``adjudicated`` says which items were decided, whatever their label is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from heartfelt.labels.columns import ITEM
from heartfelt.snapshot import Snapshot
from heartfelt.wording import plural

Adjudicated: TypeAlias = Literal["categories", "all", "none"]
DECIDED = "adjudicated"
"""The method of a label that a senior rater decided, and the column that says which items were decided."""
NO_INTERVAL = "decided by a senior rater: no interval"


def with_decisions(
    table: pl.DataFrame, snapshot: Snapshot, questions: Sequence[str], which: Adjudicated, answers: pl.DataFrame
) -> pl.DataFrame:
    """The labels of ``questions``, replaced by decisions where there are such and ``which`` wants them.

    ``answers`` are all answers that count, those of items with too few for a label included.
    """
    adjudications, study = snapshot.adjudications, snapshot.study
    wanted = {"none": [], "all": list(questions)}.get(
        which, [name for name in questions if study.scale_of(name).level != "interval"]
    )
    decided = adjudications.filter(pl.col("question").is_in(wanted) & pl.col("value").is_finite())
    decided = decided.select(
        *ITEM, "value", "answer" if "answer" in adjudications.columns else pl.lit(None).alias("answer")
    )
    both = answers.join(decided.select(*ITEM, pl.col("value").alias("final")), on=ITEM, maintain_order="left")
    votes = both.group_by(ITEM).agg(
        pl.len().cast(pl.Int64).alias("n"), (pl.col("value") == pl.col("final")).mean().alias("share")
    )
    rows = (
        decided.join(votes, on=ITEM, how="left", maintain_order="left")
        .join(table.select(*ITEM, "sd"), on=ITEM, how="left", maintain_order="left")
        .with_columns(
            pl.col("n").fill_null(0),
            pl.col("answer").cast(pl.String),
            method=pl.lit(DECIDED),
            why_missing=pl.lit(NO_INTERVAL),
        )
    )
    undecided = table.join(decided, on=ITEM, how="anti", maintain_order="left")
    every = adjudications.select(*ITEM, pl.lit(True).alias(DECIDED))
    return (
        pl.concat([undecided, rows], how="diagonal")
        .select(table.columns)
        .join(every, on=ITEM, how="left", maintain_order="left")
        .with_columns(pl.col(DECIDED).fill_null(False))
    )


def decision_notes(table: pl.DataFrame) -> tuple[str, ...]:
    """How many labels were decided, where any was."""
    count = int((table["method"] == DECIDED).sum())
    return (f"{plural(count, 'label')} decided by senior raters.",) if count else ()
