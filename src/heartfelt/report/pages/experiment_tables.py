"""The scores of an experiment as tables for a paper: a row for each condition, and the matrix of a transfer."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from heartfelt.report.charts import numbers
from heartfelt.report.layout.markup import Grid
from heartfelt.report.pages.experiment_charts import SCORES, TITLES
from heartfelt.stats.estimate import Estimate
from heartfelt.training.experiments.results import CEILING, MEAN, MODE, Experiment, ScoreRow
from heartfelt.wording import MISSING, interval, listed, number, plural, share

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
    """A transfer's matrix: a row for what was trained on, and one for the ceiling; six columns for each part tested on."""
    rows = []
    for question in experiment.questions:
        for trained, row_of in _matrix_rows(experiment, question):
            cells = {
                part: (row_of[part].score, row_of[part].over_seeds) for part in _parts(experiment) if part in row_of
            }
            rows.append(_matrix_line(experiment, question, trained, cells))
        tops = {part: (top, None) for part, top in _ceilings(experiment, question).items()}
        rows.append(_matrix_line(experiment, question, CEILING, tops))
    return pl.from_dicts(rows, infer_schema_length=None)


def _matrix_line(
    experiment: Experiment, question: str, trained: str, cells: Mapping[str, tuple[Estimate, Estimate | None]]
) -> dict[str, str | float | int | None]:
    line: dict[str, str | float | int | None] = {"question": question, "trained_on": trained}
    for part in _parts(experiment):
        score, over_seeds = cells.get(part, (None, None))
        name = f"{TESTED} {part}"
        line |= numbers(score, name, prefix=f"{name}, ")
        line |= {
            f"{name}, sd_over_seeds": over_seeds.value if over_seeds else None,
            f"{name}, why_no_sd": over_seeds.why_missing if over_seeds else None,
            f"{name}, why_missing": score.why_missing if score else None,
        }
    return line


def _seed_cells(over_seeds: Estimate) -> dict[str, float | str | int | None]:
    seeds = over_seeds.counts.get("seeds")
    return {"sd_over_seeds": over_seeds.value, "seeds": seeds, "why_no_sd": over_seeds.why_missing}


def experiment_grids(experiment: Experiment) -> tuple[Grid, ...]:
    """The matrix of a transfer, a table for each question; then the scores of all conditions."""
    matrices = _matrix_grids(experiment) if experiment.kind == "transfer" else ()
    return (*matrices, _score_grid(experiment))


def metric_names(experiment: Experiment, question: str | None = None) -> tuple[str, str]:
    """The names of the two scores: those of numbers, of categories, or of both; of one question if it is named."""
    metrics = {row.metric for row in experiment.rows if question in (None, row.question)}
    names = [pair for metric, pair in SCORES.items() if metric in metrics]
    return " or ".join(first for first, _ in names), " or ".join(second for _, second in names)


def condition_name(experiment: Experiment, row: ScoreRow) -> str:
    """The name of a row's condition, with the part it was tested on where other parts have a row of that name."""
    tested = {other_row.tested_on for other_row in experiment.rows if other_row.condition == row.condition}
    return f"{row.condition}: {row.tested_on}" if len(tested) > 1 else row.condition


def _score_grid(experiment: Experiment) -> Grid:
    first, second = metric_names(experiment)
    columns = ("question", "condition", TRAINED, "n", first, "SD over seeds", "difference", second, CEILING)
    rows = tuple(
        (
            row.question,
            condition_name(experiment, row),
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
    return Grid(
        name=f"experiment-{experiment.kind}", caption=caption, columns=columns, rows=rows, notes=_notes(experiment)
    )


def _matrix_grids(experiment: Experiment) -> tuple[Grid, ...]:
    parts = _parts(experiment)
    grids = []
    for index, question in enumerate(experiment.questions, 1):
        rows = [
            (trained, *(_matrix_cell(row_of.get(part)) for part in parts))
            for trained, row_of in _matrix_rows(experiment, question)
        ]
        first = metric_names(experiment, question)[0]
        tops = _ceilings(experiment, question)
        rows.append((CEILING, *(_cell(tops[part]) for part in parts)))
        columns = (TRAINED, *(f"{TESTED} {part}" for part in parts))
        caption = f"Transfer of {question}: {first}, trained on rows, tested on columns"
        grids.append(
            Grid(name=f"transfer-{index}", caption=caption, columns=columns, rows=tuple(rows), notes=_notes(experiment))
        )
    return tuple(grids)


def _parts(experiment: Experiment) -> list[str]:
    return [source.name for source in experiment.sources]


def _ceilings(experiment: Experiment, question: str) -> dict[str, Estimate]:
    return {row.tested_on: row.ceiling for row in experiment.rows if row.question == question}


def _matrix_rows(experiment: Experiment, question: str) -> list[tuple[str, dict[str, ScoreRow]]]:
    """What was trained on, and the row of each part that it was tested on."""
    matrix: dict[str, dict[str, ScoreRow]] = {}
    for row in experiment.rows:
        if row.question == question and row.condition not in (MEAN, MODE):
            matrix.setdefault(row.trained_on, {})[row.tested_on] = row
    return list(matrix.items())


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
