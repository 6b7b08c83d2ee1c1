"""MusicEval's table: error and three correlations, by clip (``U_``) and by system (``S_``), for each dimension and model.

System truth is the mean of the scored clips' labels unless the scores were made with another; the table says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.scoring.layouts import OutputLayout
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.scores import Scores
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate

_METRICS = {"MSE": "mse", "LCC": "pearson", "SRCC": "spearman", "KTAU": "kendall"}
_LEVELS = {"U": "item", "S": "system"}
COLUMNS = tuple(f"{level}_{metric}" for level in _LEVELS for metric in _METRICS)


class MusicEvalLayout(OutputLayout):
    """``musiceval.csv`` and ``musiceval.json`` of a benchmark."""

    name: ClassVar[str] = "musiceval"

    def check(self, source: Snapshot | Benchmark) -> None:
        """Refuse studies without a question answered with numbers."""
        if all(source.study.scale_of(q.id).level != "interval" for q in source.study.asked):
            raise no_numbers(source.study.name)

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
    ) -> list[Path]:
        """Write the values, and the same with intervals, coverage and the system truth."""
        del source, predictions, options
        return write_musiceval(scores, folder)


def no_numbers(study: str) -> InputError:
    """The error for a study that asks for no numbers."""
    return InputError(
        f"'{study}' asks nothing that MusicEval's table can hold.",
        "It holds questions answered with numbers; leave out --as musiceval.",
    )


def eight_figures(scores: Scores) -> dict[str, dict[str, dict[str, Estimate]]]:
    """``{model: {dimension: {U_MSE: …, …, S_KTAU: …}}}`` of every question answered with numbers."""
    tasks = [task.id for task in scores.tasks if task.kind == "numbers"]
    if not tasks:
        raise no_numbers(scores.study)
    out: dict[str, dict[str, dict[str, Estimate]]] = {}
    for model in scores.models:
        able = [task for task in tasks if task in scores.coverage.get(model, {})]
        out[model] = {task: _figures(scores, model, task) for task in able}
    return out


def _figures(scores: Scores, model: str, task: str, counted: bool = False) -> dict[str, Estimate]:
    """The eight figures over answered clips, or with failures ``counted``."""
    out = {}
    for short, level in _LEVELS.items():
        for name, metric in _METRICS.items():
            score = scores.find(task, model, metric, level)
            gone = Estimate.missing("it was not scored", metric)
            known = None if score is None else score.with_failures if counted else score.estimate
            out[f"{short}_{name}"] = known or gone
    return out


def table(figures: Mapping[str, Mapping[str, Mapping[str, Estimate]]]) -> pl.DataFrame:
    """One row a model and dimension, the eight values in the columns MusicEval prints."""
    rows = [
        {"model": model, "dimension": task, **{name: own[name].value for name in COLUMNS}}
        for model, tasks in figures.items()
        for task, own in tasks.items()
    ]
    schema = {"model": pl.String, "dimension": pl.String, **dict.fromkeys(COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema)


def write_musiceval(scores: Scores, folder: Path) -> list[Path]:
    """Write ``musiceval.csv`` (the values) and ``musiceval.json`` (with intervals, coverage and the system truth)."""
    figures = eight_figures(scores)
    write_text(folder / "musiceval.csv", csv_text(table(figures)))
    out: dict[str, Any] = {
        "study": scores.study,
        "system_truth": scores.options.systems_from,
        "models": {
            model: {
                task: {
                    "coverage": {
                        name: getattr(scores.coverage[model][task], name)
                        for name in ("items", "answered", "share")
                    },
                    **own,
                    "with_failures": _figures(scores, model, task, counted=True),
                }
                for task, own in tasks.items()
            }
            for model, tasks in figures.items()
        },
    }
    write_json(folder / "musiceval.json", out)
    return [folder / "musiceval.csv", folder / "musiceval.json"]
