"""SPSS files (.sav, .zsav, .por): values, their labels, and the labels of variables as the texts of questions.

Nominal variables are read as the labels of their values, all others as codes. User-missing values are gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.extras import missing_package
from heartfelt.formats.tables.workbooks import TextTable

SPSS = {".sav", ".zsav", ".por"}
LABELS = ("nominal", "all", "none")


def read_spss(path: Path, labels: str = "nominal") -> TextTable:
    """All variables; ``labels`` says which labelled values are read as words: nominal, all or none."""
    try:
        import pyreadstat
    except ImportError as error:
        raise missing_package("pyreadstat") or error from error
    if labels not in LABELS:
        raise InputError(f"labels={labels} is not possible.", suggestion(labels, LABELS, "Labels"))
    portable = path.suffix.lower() == ".por"
    read: Any = pyreadstat.read_por if portable else pyreadstat.read_sav
    missing_too = {} if portable else {"user_missing": True}  # portable files do not declare missing values
    try:
        columns, meta = read(path, output_format="dict")
        _, declared = read(path, metadataonly=True, output_format="dict", **missing_too)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read as an SPSS file: {error}.", "Get a complete copy of the file, or save it as CSV."
        ) from error
    frame = pl.DataFrame(
        {name: _column(name, list(cells), meta, labels) for name, cells in columns.items()}, strict=False
    )
    frame = frame.with_columns(pl.col(pl.String).replace("", None))
    texts = {name: text for name, text in meta.column_names_to_labels.items() if text}
    return TextTable(rows=frame, notes=tuple(_notes(frame, meta, declared)), texts=texts)


def _notes(frame: pl.DataFrame, meta: Any, declared: Any) -> Iterator[str]:
    as_words = [n for n in frame.columns if n in meta.variable_value_labels and frame[n].dtype == pl.String]
    if as_words:
        yield (
            f"The values of {', '.join(as_words[:5])}{' …' if len(as_words) > 5 else ''} were read as their labels;"
            f" choose with {as_option('labels', 'all')} or none."
        )
    missing = [name for name in declared.missing_ranges if name in frame.columns]
    if missing:
        yield f"Values that the file declares missing are gaps: in {', '.join(missing[:8])}."


def _column(name: str, cells: list[Any], meta: Any, labels: str) -> pl.Series:
    words = {float(k): v for k, v in meta.variable_value_labels.get(name, {}).items() if isinstance(k, int | float)}
    as_words = labels == "all" or (labels == "nominal" and meta.variable_measure.get(name) == "nominal")
    if not words or not as_words:
        return pl.Series(name, cells, strict=False)
    texts = [None if cell is None else words.get(cell, _code(cell)) for cell in cells]
    return pl.Series(name, texts, dtype=pl.String)


def _code(cell: object) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
