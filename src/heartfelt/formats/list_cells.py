"""Cells that hold several answers: ``[3, 4, 5]`` of raters nobody knows, or ``["calm", "sad"]`` as a set of tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from heartfelt.errors import InputError
from heartfelt.formats.source_table import SourceTable
from heartfelt.study.scale import Tags

NO_RATER = "none"
"""What the option ``rater`` is set to where a table does not say who rated."""


def single_answers(
    table: SourceTable, values: Sequence[str], *, known_raters: bool
) -> tuple[SourceTable, Tags | None]:
    """The table with one answer per row: numbers become a row each, words become tags, whose scale is returned."""
    lists = _list_cells(table.rows, values)
    if not lists:
        return table, None
    if all(numeric for numeric in lists.values()):
        if known_raters:
            raise InputError(
                f"{table.path}: the column '{next(iter(lists))}' holds several numbers per cell, but a rater gives one"
                " answer per row.",
                f"Write one answer per row, or state that the raters are unknown with --map rater={NO_RATER}.",
            )
        rows = table.rows.with_columns(_cells(name, pl.Float64()) for name in lists).explode(list(lists))
        try:
            rows = rows.collect().lazy()
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f"{table.path}: the lists in {', '.join(lists)} differ in length within a row.",
                "Read one of these columns at a time.",
            ) from error
        return replace(table, rows=rows, delimited=None), None
    tags = Tags(type="tags")
    rows = table.rows.with_columns(_cells(name, pl.String()).list.join(tags.separator) for name in lists)
    return replace(table, rows=rows, delimited=None), tags


def _list_cells(rows: pl.LazyFrame, values: Sequence[str]) -> dict[str, bool]:
    """The columns whose cells are lists, each with whether they are lists of numbers."""
    schema = rows.collect_schema()
    out: dict[str, bool] = {}
    for name in values:
        dtype = schema[name]
        if isinstance(dtype, pl.List):
            out[name] = dtype.inner.is_numeric()
        elif dtype == pl.String:
            cells = rows.select(pl.col(name).drop_nulls().str.strip_chars()).head(2000).collect()[name]
            if cells.len() and cells.str.contains(r"^\[.*\]$").all():
                parts = cells.str.extract_all(r"[^\[\],]+").explode().str.strip_chars(" '\"").drop_nulls()
                out[name] = parts.cast(pl.Float64, strict=False).is_not_null().all()
    return out


def _cells(name: str, inner: pl.DataType) -> pl.Expr:
    """A column of lists, or of text such as ``[1, 2]`` or ``["a", "b"]``, as lists."""
    return pl.col(name).map_batches(lambda cells: _as_lists(cells, inner), return_dtype=pl.List(inner))


def _as_lists(cells: pl.Series, inner: pl.DataType) -> pl.Series:
    if cells.dtype == pl.String:
        parts = cells.str.strip_chars().str.strip_chars("[]").str.split(",")
        cells = parts.list.eval(pl.element().str.strip_chars(" '\"").replace("", None)).list.drop_nulls()
    return cells.cast(pl.List(inner), strict=False)
