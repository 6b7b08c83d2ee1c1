"""What ``heartfelt predict`` owes for every kind of model: the same rows in Python and on the command line, none dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from typer.testing import CliRunner

import heartfelt
from heartfelt.cli.app import app
from heartfelt.predictors import FILE_PREDICTIONS


def answered_everywhere(
    files: Path | list[Path],
    model: str | Path,
    questions: tuple[str, ...],
    words: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Predict in Python and by the command; the table, one row for every file and question, each with an answer or a reason."""
    table = heartfelt.predict(files, model, **(options or {}))
    assert table.columns == list(FILE_PREDICTIONS.names)
    asked = [str(path) for path in (files if isinstance(files, list) else [files])]
    printed = CliRunner().invoke(app, ["predict", *asked, "--model", str(model), "--json", *words])
    assert printed.exit_code in (0, 1, 2), printed.exception
    rows = json.loads(printed.stdout)
    assert [(row["file"], row["question"]) for row in rows] == list(table.select("file", "question").iter_rows())
    for row, mine in zip(rows, table.iter_rows(named=True), strict=True):
        for name in ("value", "low", "high", "confidence", "score", "answer", "flag", "warning", "ok", "problem"):
            assert row.get(name) == mine[name], (name, row, mine)
    counts = table.group_by("file", maintain_order=True).agg(pl.col("question"))
    assert all(tuple(names) == questions for names in counts["question"].to_list())
    for row in table.iter_rows(named=True):
        says = [row[name] for name in ("value", "score", "answer", "shares")]
        assert row["ok"] == any(part is not None for part in says)
        assert (row["problem"] is None) == row["ok"]
    answered_files = table.group_by("file").agg(pl.col("ok").any())["ok"]
    assert printed.exit_code == (0 if answered_files.all() else 1 if answered_files.any() else 2)
    return table


def by_stem(table: pl.DataFrame) -> dict[str, dict[str, dict[str, Any]]]:
    """The rows of a table by the file's stem and the question."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(Path(row["file"]).stem, {})[row["question"]] = row
    return rows
