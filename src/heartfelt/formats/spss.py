"""SPSS files (.sav, .zsav, .por): values, their labels, and the labels of variables as the texts of questions.

Nominal variables are read as the labels of their values, all others as codes. User-missing values are gaps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from heartfelt.errors import InputError, as_option, suggestion
from heartfelt.extras import missing_package
from heartfelt.formats.workbooks import TextTable

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
    as_words = [n for n in frame.columns if n in meta.variable_value_labels and frame[n].dtype == pl.String]
    notes = []
    if as_words:
        notes.append(
            f"The values of {', '.join(as_words[:5])}{' …' if len(as_words) > 5 else ''} were read as their labels;"
            f" choose with {as_option('labels', 'all')} or none."
        )
    missing = [name for name in declared.missing_ranges if name in frame.columns]
    if missing:
        notes.append(f"Values that the file declares missing are gaps: in {', '.join(missing[:8])}.")
    texts = {name: text for name, text in meta.column_names_to_labels.items() if text}
    return TextTable(rows=frame, notes=tuple(notes), texts=texts)


def _column(name: str, cells: list[Any], meta: Any, labels: str) -> pl.Series:
    words = {float(k): v for k, v in meta.variable_value_labels.get(name, {}).items() if isinstance(k, int | float)}
    nominal = meta.variable_measure.get(name) == "nominal"
    if words and (labels == "all" or (labels == "nominal" and nominal)):
        codes = (f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells)
        texts = [None if cell is None else words.get(cell, code) for cell, code in zip(cells, codes, strict=True)]
        return pl.Series(name, texts, dtype=pl.String)
    return pl.Series(name, cells, strict=False)
