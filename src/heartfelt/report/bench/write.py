"""A bench as a folder: predictions, scores and a page."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.bench.page import bench_page
from heartfelt.report.page import render
from heartfelt.scoring import Scores
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot

FILE = "scores.json"
PAGE = "report.html"
ITEMS = "items.parquet"


def write_bench(
    scores: Scores,
    predictions: pl.DataFrame,
    folder: Path | str,
    *,
    snapshot: Snapshot | None = None,
    replace: bool = False,
) -> Path:
    """Write predictions, scores, items with their labels, the ledger and report.html; return the folder.

    The folder is either complete or absent. Media play where a ``snapshot`` says where they are.
    """
    target = Path(folder)
    with whole_folder(target, replace=replace) as made:
        fill_bench(scores, predictions, made, target / PAGE, snapshot)
    return target


def fill_bench(
    scores: Scores, predictions: pl.DataFrame, folder: Path, page: Path, snapshot: Snapshot | None
) -> None:
    """Put the files of a bench into an existing folder; ``page`` is where the page will be in the end."""
    for name, frame in (("predictions.parquet", predictions), (ITEMS, scores.rows)):
        content = io.BytesIO()
        frame.write_parquet(content, compression="zstd")
        write_bytes(folder / name, content.getvalue())
    write_text(folder / "predictions.csv", csv_text(predictions))
    write_json(folder / FILE, scores)
    write_text(folder / "scores.csv", csv_text(scores.table()))
    write_text(folder / "ledger.csv", csv_text(scores.ledger))
    write_text(folder / PAGE, render(bench_page(scores, snapshot, page)))
