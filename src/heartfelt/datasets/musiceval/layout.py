"""MusicEval's table: error and three correlations, by clip (``U_``) and by system (``S_``), for each dimension and model.

System truth is the mean of the scored clips' labels unless the scores were made with another; the table says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from heartfelt.errors import InputError
from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import Benchmark
from heartfelt.scoring.layouts import LAYOUTS, OutputLayout
from heartfelt.scoring.options import ScoreOptions
from heartfelt.scoring.results.scores import Scores
from heartfelt.serialization import write_json
from heartfelt.snapshot import Snapshot
from heartfelt.stats.estimate import Estimate

_FIGURES = {
    f"{short}_{name}": (metric, level)
    for short, level in (("U", "item"), ("S", "system"))
    for name, metric in (("MSE", "mse"), ("LCC", "pearson"), ("SRCC", "spearman"), ("KTAU", "kendall"))
}
COLUMNS = tuple(_FIGURES)


class MusicEvalLayout(OutputLayout):
    """``musiceval.csv`` and ``musiceval.json`` of a benchmark."""

    name = "musiceval"

    def check(self, source: Snapshot | Benchmark) -> None:
        if all(source.study.scale_of(q.id).level != "interval" for q in source.study.asked):
            raise _no_numbers(source.study.name)

    def write_scores(
        self,
        source: Snapshot | Benchmark,
        predictions: pl.DataFrame,
        scores: Scores,
        folder: Path,
        options: ScoreOptions,
        calls: pl.DataFrame | None = None,
    ) -> list[Path]:
        del source, predictions, options, calls
        return write_musiceval(scores, folder)


def _no_numbers(study: str) -> InputError:
    return InputError(
        f"'{study}' asks nothing that MusicEval's table can hold.",
        "It holds questions answered with numbers; leave out --as musiceval.",
    )


def eight_figures(scores: Scores) -> dict[str, dict[str, dict[str, Estimate]]]:
    """``{model: {dimension: {U_MSE: …, …, S_KTAU: …}}}`` of every question answered with numbers."""
    tasks = [task.id for task in scores.tasks if task.kind == "numbers"]
    if not tasks:
        raise _no_numbers(scores.study)
    return {
        model: {task: _figures(scores, model, task) for task in tasks if task in scores.coverage.get(model, {})}
        for model in scores.models
    }


def _figures(scores: Scores, model: str, task: str, counted: bool = False) -> dict[str, Estimate]:
    """The eight figures over answered clips, or with failures ``counted``."""
    out = {}
    for name, (metric, level) in _FIGURES.items():
        score = scores.find(task, model, metric, level)
        estimate = None if score is None else score.with_failures if counted else score.estimate
        out[name] = estimate or Estimate.missing("it was not scored", metric)
    return out


def table(figures: Mapping[str, Mapping[str, Mapping[str, Estimate]]]) -> pl.DataFrame:
    """One row a model and dimension, the eight values in the columns MusicEval prints."""
    rows = [
        (model, task, *(estimates[name].value for name in COLUMNS))
        for model, tasks in figures.items()
        for task, estimates in tasks.items()
    ]
    schema = {"model": pl.String, "dimension": pl.String, **dict.fromkeys(COLUMNS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def write_musiceval(scores: Scores, folder: Path) -> list[Path]:
    """Write ``musiceval.csv`` (the values) and ``musiceval.json`` (with intervals, coverage and the system truth)."""
    figures = eight_figures(scores)
    models: dict[str, dict[str, object]] = {model: {} for model in figures}
    for model, tasks in figures.items():
        for task, estimates in tasks.items():
            coverage = scores.coverage[model][task]
            models[model][task] = {
                "coverage": {name: getattr(coverage, name) for name in ("items", "answered", "share")},
                **estimates,
                "with_failures": _figures(scores, model, task, counted=True),
            }
    write_text(folder / "musiceval.csv", csv_text(table(figures)))
    out = {"study": scores.study, "system_truth": scores.options.systems_from, "models": models}
    write_json(folder / "musiceval.json", out)
    return [folder / "musiceval.csv", folder / "musiceval.json"]


LAYOUTS.add(MusicEvalLayout.name, MusicEvalLayout())
