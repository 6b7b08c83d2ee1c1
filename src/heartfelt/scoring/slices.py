"""Slices: the same metrics on the items of one system, intent, task type, bucket, language and so on.

Slices are over answered items, with intervals over stimuli.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from heartfelt.scoring import binary as two_sided
from heartfelt.scoring import numbers as numeric
from heartfelt.scoring.measure import Measure
from heartfelt.scoring.metrics import Kind
from heartfelt.scoring.scores import Slice
from heartfelt.scoring.sheet import Floats, Sheet
from heartfelt.scoring.tasks import Task
from heartfelt.scoring.truth import Truth

MOST_VALUES = 60
_METRICS: dict[Kind, tuple[str, ...]] = {
    "binary": ("balanced_accuracy", "accuracy", "auroc"),
    "categories": ("accuracy", "macro_f1"),
    "ordinal": ("quadratic_kappa",),
    "numbers": ("pearson", "spearman", "rmse"),
    "text": (),
}


def columns_of(truth: Truth, task: Task, wanted: Sequence[str] | None) -> list[str]:
    """The columns a task is sliced by."""
    rows = truth.items.filter(pl.col("question").is_in(task.questions))
    if wanted is not None:
        return [name for name in wanted if rows[name].n_unique() > 1]
    out = []
    for name in truth.slices:
        column = rows[name].drop_nulls()
        distinct = column.n_unique() if column.dtype in (pl.String, pl.Boolean) else 0
        if 2 <= distinct <= MOST_VALUES and distinct < rows.height:
            out.append(name)
    return out


def slices(sheet: Sheet, measure: Measure, columns: Sequence[str]) -> Iterator[Slice]:
    """Every slice of one sheet."""
    if not _METRICS[sheet.task.kind]:
        return
    values = {name: _values(sheet, measure, name) for name in _METRICS[sheet.task.kind]}
    for column in columns:
        cells = sheet.rows[column if column in sheet.rows.columns else f"own_{column}"].cast(pl.String)
        for value in cells.drop_nulls().unique().sort().to_list():
            rows = (cells == value).fill_null(False).to_numpy()
            for metric, y in values.items():
                kept = rows & sheet.answered & np.isfinite(y)
                group = None if sheet.stimulus is None or not kept.any() else sheet.stimulus[kept]
                if group is not None and np.unique(group).size == group.size:
                    group = None
                found = measure.number(metric, sheet.truth[kept], y[kept], group)
                yield Slice(
                    sheet.model, sheet.task.id, column, value, metric, int(rows.sum()), int(kept.sum()), found
                )


def _values(sheet: Sheet, measure: Measure, metric: str) -> Floats:
    if sheet.task.kind == "binary":
        return (
            two_sided.ordering(sheet)
            if metric == "auroc"
            else two_sided.decided(sheet, measure.options.threshold)[0]
        )
    if sheet.task.kind == "numbers":
        off = metric == "rmse" and not sheet.on_scale
        return np.full(sheet.truth.size, np.nan) if off else numeric.said(sheet)
    return sheet.code
