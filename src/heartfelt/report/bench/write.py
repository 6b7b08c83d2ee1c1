"""A bench as a folder: predictions, scores, a page and the media it plays.

Answers are stored below ``runs/``, so the same bench into the same folder asks only for what is missing, and another one adds
its models to those that are there. The outputs are written when the bench is done; each file is either complete or absent.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from dataclasses import replace as changed
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import whole_folder, write_bytes, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.progress import Progress
from heartfelt.report.bench.page import bench_page, stimuli_of
from heartfelt.report.layout.media import media_beside
from heartfelt.report.layout.page import render
from heartfelt.scoring import Scores
from heartfelt.scoring.bench import Bench, BenchOptions, bench
from heartfelt.scoring.bench.earlier import PREDICTED, RUNS
from heartfelt.scoring.bench.earlier import SCORES as FILE
from heartfelt.scoring.bench.run import Models
from heartfelt.scoring.layouts import LAYOUTS
from heartfelt.serialization import to_json
from heartfelt.snapshot import Snapshot

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
    with whole_folder(target, replace=replace) as staging:
        fill_bench(scores, predictions, staging, target / PAGE, snapshot)
    return target


def fill_bench(scores: Scores, predictions: pl.DataFrame, folder: Path, page: Path, snapshot: Snapshot | None) -> None:
    """Put the files of a bench into an existing folder; ``page`` is where the page will be in the end."""
    for name, frame in ((PREDICTED, predictions), (ITEMS, scores.rows)):
        content = io.BytesIO()
        frame.write_parquet(content, compression="zstd")
        write_bytes(folder / name, content.getvalue())
    write_text(folder / "predictions.csv", csv_text(predictions))
    text = json.dumps(to_json(scores), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_text(folder / FILE, text + "\n")
    write_text(folder / "scores.csv", csv_text(scores.table()))
    write_text(folder / "ledger.csv", csv_text(scores.ledger))
    media = {} if snapshot is None else media_beside(snapshot, stimuli_of(scores), folder, page)
    write_text(folder / PAGE, render(bench_page(scores, media)))


def run_bench(
    source: Snapshot | Benchmark,
    models: Models,
    folder: Path | str,
    options: BenchOptions | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Run a bench (``heartfelt.scoring.bench.run``) and write its outputs to ``folder``; models it holds already are kept."""
    target = Path(folder)
    ours = (target / RUNS).is_dir() or (target / FILE).is_file()
    if target.exists() and not ours and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            f"{target} already exists and is not a bench.", "Choose another folder, or remove this one first."
        )
    options = changed(options or BenchOptions(), folder=target)
    result = bench(source, models, options, progress)
    _write(source, result, target, options)
    return result


def _write(source: Snapshot | Benchmark, result: Bench, target: Path, options: BenchOptions) -> None:
    """Fill a temporary folder next to the runs, then move its files into place, the page last."""
    snapshot = source if isinstance(source, Snapshot) else None
    scratch = Path(tempfile.mkdtemp(prefix=".new.", dir=target))
    try:
        if options.layout is not None:
            layout_folder = scratch / "own"
            layout_folder.mkdir()
            layout = LAYOUTS[options.layout]
            listed = [run.calls for run in result.runs if run.calls is not None]
            calls = pl.concat(listed, how="diagonal") if listed else None
            for created in layout.write_scores(
                source, result.predictions, result.scores, layout_folder, options.score, calls
            ):
                _move(created, (options.layout_folder or target) / created.relative_to(layout_folder))
            shutil.rmtree(layout_folder)
        fill_bench(result.scores, result.predictions, scratch, target / PAGE, snapshot)
        for created in sorted(scratch.iterdir(), key=lambda path: path.name == PAGE):
            _move(created, target / created.name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _move(source: Path, destination: Path) -> None:
    """Move a file or folder into place, replacing what is there."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    if destination.is_dir():
        shutil.rmtree(destination)
    source.replace(destination)
