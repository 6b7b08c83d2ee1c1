"""Benches read from their folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.report.bench.write import ITEMS
from heartfelt.scoring import Scores
from heartfelt.scoring.bench.earlier import SCORES as FILE
from heartfelt.scoring.comparison.leaderboard import ScoredRun
from heartfelt.scoring.results.scores import LAYOUT
from heartfelt.serialization import read_json

_COLUMNS = {
    "task": pl.String,
    "model": pl.String,
    "stimulus": pl.String,
    "question": pl.String,
    "truth": pl.Float64,
    "said": pl.Float64,
}
_FURTHER = {
    "counted": pl.Float64,
    "system": pl.String,
    "intent": pl.String,
    "code": pl.Float64,
    "score": pl.Float64,
    "answer": pl.String,
    "answered": pl.Boolean,
    "problem": pl.String,
}


def find_runs(folder: Path, without: Path | None = None) -> list[ScoredRun]:
    """Every bench below a folder, by path; hidden folders and ``without`` (the site itself) are left out."""
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Point to a folder that contains benches.")
    paths = [
        path
        for path in sorted(folder.rglob(FILE))
        if (without is None or not path.resolve().is_relative_to(without.resolve()))
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise InputError(f"There is no bench below {folder}.", "Make one with heartfelt bench … --out DIR.")
    return [_read(path, folder) for path in paths]


def folder_of(run: ScoredRun, home: Path) -> Path:
    """The folder of a bench found below ``home``."""
    return home / run.name if (home / run.name / FILE).is_file() else home


def _read(path: Path, folder: Path) -> ScoredRun:
    home = path.parent
    name = home.relative_to(folder).as_posix() if home != folder else folder.resolve().name
    return read_run(home, name)


def read_run(home: Path, name: str) -> ScoredRun:
    """The bench in a folder, under a name."""
    scores = read_scores(home / FILE)
    try:
        items = pl.read_parquet(home / ITEMS)
        schema = {**_COLUMNS, **{key: kind for key, kind in _FURTHER.items() if key in items.columns}}
        items = items.select(list(schema)).cast(schema)  # type: ignore[arg-type]  # polars' own alias is narrower
    except (OSError, pl.exceptions.PolarsError):
        return ScoredRun(
            name=name,
            scores=scores,
            items=pl.DataFrame(schema=_COLUMNS),
            why_no_items=f"{name} has no readable {ITEMS}",
        )
    if "counted" not in items.columns:
        reason = f"{name} was scored by an earlier version: its pairs are compared on answered items; score it again"
        return ScoredRun(name=name, scores=scores, items=items, why_answered_only=reason)
    return ScoredRun(name=name, scores=scores, items=items)


def read_scores(path: Path) -> Scores:
    """Read a ``scores.json``."""
    scores = read_json(path, Scores)
    if scores.heartfelt_scores not in (1, LAYOUT):
        raise InputError(
            f"{path} was written in layout {scores.heartfelt_scores}; this heartfelt reads layouts 1 and {LAYOUT}.",
            "Score again, or use the version that wrote it.",
        )
    return replace(scores, heartfelt_scores=LAYOUT)
