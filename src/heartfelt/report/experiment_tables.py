"""The scores of an experiment as tables for a paper: a row for each condition, and the matrix of a transfer."""

from __future__ import annotations

import polars as pl

from heartfelt.experiments.results import MEAN, MODE, Experiment, ScoreRow
from heartfelt.report.charts import numbers
from heartfelt.report.experiment_charts import SCORES, TITLES
from heartfelt.report.markup import Grid
from heartfelt.stats.estimate import Estimate
from heartfelt.wording import MISSING, interval, listed, number, plural, share

CEILING = "ceiling"
TRAINED, TESTED = "trained on", "tested on"


def score_table(experiment: Experiment) -> pl.DataFrame:
    """The scores, a row for each condition and question."""
    rows = [
        {
            "question": row.question,
            "condition": row.condition,
            "trained_on": row.trained_on,
            "tested_on": row.tested_on,
            "level": row.level,
            "training_stimuli": row.training_stimuli,
            "n": row.n,
            **numbers(row.pearson, "pearson", prefix="pearson_"),
            **_seed_cells(row.over_seeds),
            **numbers(row.rmse, "rmse", prefix="rmse_"),
            **(numbers(row.accuracy, "accuracy", prefix="accuracy_") if row.accuracy else {}),
            **(numbers(row.macro_f1, "macro_f1", prefix="macro_f1_") if row.macro_f1 else {}),
            "compared_with": row.reference,
            **numbers(row.difference, "difference", prefix="difference_"),
            **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
            "baseline": row.baseline,
            "why_missing": row.score.why_missing,
        }
        for row in experiment.rows
    ]
    return pl.from_dicts(rows, infer_schema_length=None)


def matrix_table(experiment: Experiment) -> pl.DataFrame:
    """A transfer's matrix: a row for what was trained on and each question, four columns for each part tested on."""
    rows = []
    for question, trained, row_of in _matrix_rows(experiment):
        cells = {
            f"{TESTED} {part}{end}": value
            for part in _parts(experiment)
            for end, value in _cells_of(row_of.get(part)).items()
        }
        rows.append({"question": question, "trained_on": trained, **cells})
    return pl.from_dicts(rows, infer_schema_length=None)


def _cells_of(row: ScoreRow | None) -> dict[str, float | str | None]:
    score = None if row is None else row.score
    seeds = _seed_cells(None if row is None else row.over_seeds)
    cells = {**numbers(score, "value"), "sd_over_seeds": seeds["sd_over_seeds"]}
    return {"" if name == "value" else f", {name}": value for name, value in cells.items()}


def _seed_cells(over_seeds: Estimate | None) -> dict[str, float | str | int | None]:
    if over_seeds is None:
        return {"sd_over_seeds": None, "seeds": None, "why_no_sd": "not part of the experiment"}
    seeds = over_seeds.counts.get("seeds")
    return {"sd_over_seeds": over_seeds.value, "seeds": seeds, "why_no_sd": over_seeds.why_missing}


def experiment_grids(experiment: Experiment) -> tuple[Grid, ...]:
    """The matrix of a transfer, a table for each question; then the scores of all conditions."""
    matrices = _matrix_grids(experiment) if experiment.kind == "transfer" else ()
    return (*matrices, _score_grid(experiment))


def metric_names(experiment: Experiment) -> tuple[str, str]:
    """The names of the two scores: those of numbers, of categories, or of both."""
    metrics = {row.metric for row in experiment.rows}
    names = [pair for metric, pair in SCORES.items() if metric in metrics]
    return " or ".join(first for first, _ in names), " or ".join(second for _, second in names)


def _score_grid(experiment: Experiment) -> Grid:
    first, second = metric_names(experiment)
    columns = ("question", "condition", TRAINED, "n", first, "SD over seeds", "difference", second, CEILING)
    rows = tuple(
        (
            row.question,
            row.condition,
            number(row.training_stimuli, 0),
            number(row.n),
            _cell(row.score),
            _spread(row),
            _cell(row.difference) if row.reference else "",
            interval(row.second, 2),
            _cell(row.ceiling),
        )
        for row in experiment.rows
    )
    caption = f"{TITLES[experiment.kind]}: {listed([source.name for source in experiment.sources])}"
    return Grid(f"experiment-{experiment.kind}", caption, columns, rows, _notes(experiment))


def _matrix_grids(experiment: Experiment) -> tuple[Grid, ...]:
    parts, first = _parts(experiment), metric_names(experiment)[0]
    grids = []
    for place, question in enumerate(experiment.questions, 1):
        rows = [
            (trained, *(_matrix_cell(row_of.get(part)) for part in parts))
            for name, trained, row_of in _matrix_rows(experiment)
            if name == question
        ]
        tops = {row.tested_on: row.ceiling for row in experiment.rows if row.question == question}
        rows.append((CEILING, *(_cell(tops[part]) for part in parts)))
        columns = (TRAINED, *(f"{TESTED} {part}" for part in parts))
        caption = f"Transfer of {question}: {first}, trained on rows, tested on columns"
        grids.append(Grid(f"transfer-{place}", caption, columns, tuple(rows), _notes(experiment)))
    return tuple(grids)


def _parts(experiment: Experiment) -> list[str]:
    return [source.name for source in experiment.sources]


def _matrix_rows(experiment: Experiment) -> list[tuple[str, str, dict[str, ScoreRow]]]:
    """Question, what was trained on, and the row of each part that it was tested on."""
    matrix: dict[tuple[str, str], dict[str, ScoreRow]] = {}
    for row in experiment.rows:
        if row.condition not in (MEAN, MODE):
            matrix.setdefault((row.question, row.trained_on), {})[row.tested_on] = row
    return [(question, trained, row_of) for (question, trained), row_of in matrix.items()]


def _matrix_cell(row: ScoreRow | None) -> str:
    if row is None:
        return MISSING
    spread = row.over_seeds.value
    if row.score.value is None or spread is None:
        return _cell(row.score)
    value, _, limits = interval(row.score, bare=True).partition(" ")
    return " ".join(part for part in (value, _deviation(spread), limits) if part)


def _spread(row: ScoreRow) -> str:
    """The standard deviation over seeds, or why there is none."""
    spread = row.over_seeds.value
    return f"{MISSING} ({row.over_seeds.why_missing})" if spread is None else _deviation(spread)


def _deviation(spread: float) -> str:
    return f"± {share(spread, 3)}"


def _notes(experiment: Experiment) -> tuple[str, ...]:
    seeds = len(experiment.seeds)
    spread = (
        f"± is the standard deviation of the score over {plural(seeds, 'seed')}."
        if seeds > 1
        else "One seed, so there is no standard deviation over seeds."
    )
    if any(row.over_seeds.value == 0 for row in experiment.rows):
        spread += " It is 0 where no seed changes the fit."
    return (f"Scores are means over seeds. {spread} Brackets are 95% bootstrap intervals over stimuli.",)


def _cell(estimate: Estimate) -> str:
    return f"({estimate.why_missing})" if estimate.value is None else interval(estimate, bare=True)
