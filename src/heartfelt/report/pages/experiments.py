"""An experiment as a folder: tables (CSV, Markdown, LaTeX), the typed results as JSON, figures and a page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.layout.markup import grid_latex, grid_markdown
from heartfelt.report.layout.page import ReportPage, render
from heartfelt.report.layout.templates import section
from heartfelt.report.pages.experiment_charts import TITLES, experiment_charts
from heartfelt.report.pages.experiment_tables import (
    condition_name,
    experiment_grids,
    matrix_table,
    metric_names,
    score_table,
)
from heartfelt.serialization import write_json
from heartfelt.training.experiments.learning import curve_words
from heartfelt.training.experiments.results import Experiment, SweepSelection
from heartfelt.training.heads.evaluating import PANELS
from heartfelt.wording import interval, listed, number, share

PAGE, TABLE, RESULTS = "report.html", "table.csv", "results.json"


def write_experiment(experiment: Experiment, folder: Path) -> Path:
    """Write the results next to the cells; files of an earlier run of the same experiment are replaced."""
    from heartfelt.report.drawing.processes import drawing

    charts = experiment_charts(experiment)
    with whole_folder(folder / "figures", replace=True) as figures, drawing(charts, figures):
        write_json(folder / RESULTS, experiment)
        write_text(folder / TABLE, csv_text(score_table(experiment)))
        if experiment.kind == "transfer":
            write_text(folder / "matrix.csv", csv_text(matrix_table(experiment)))
        write_text(folder / "table.md", "\n".join(markdown_table(experiment)) + "\n")
        write_text(folder / "table.tex", "\n".join(grid_latex(grid) for grid in experiment_grids(experiment)))
        write_text(folder / "ledger.csv", csv_text(experiment.ledger))
        write_text(folder / PAGE, render(_page(experiment, charts)))
    return folder


def markdown_table(experiment: Experiment) -> list[str]:
    """The matrix of a transfer and the scores as lines of Markdown, then the lines about curves and choices."""
    lines = "\n".join(grid_markdown(grid) for grid in experiment_grids(experiment)).splitlines()
    return [*lines, *_curve_lines(experiment), *_selection_lines(experiment.selections)]


def _curve_lines(experiment: Experiment) -> list[str]:
    symbols = {row.question: "accuracy" if row.accuracy else "r" for row in experiment.rows}
    return [
        line for curve in experiment.curves for line in curve_words(curve, experiment.axis, symbols[curve.question])
    ]


def _selection_lines(selections: Sequence[SweepSelection]) -> list[str]:
    return [
        f"{selection.question}: the best of {selection.variants} variants reaches {share(selection.inner_best.value)} on the"
        f" folds it was chosen on, and {interval(selection.outer, bare=True)} on stimuli that had no part in the choice."
        for selection in selections
    ]


def _page(experiment: Experiment, charts: dict[str, Chart | Absent]) -> ReportPage:
    first, second = metric_names(experiment)
    lines = [*_curve_lines(experiment), *_selection_lines(experiment.selections)]
    further = ["choice"] if experiment.tried else ["ahead"] if lines else []
    values: dict[str, object] = {"experiment": experiment, "first": first, "second": second, "lines": lines}
    sections = [
        section(f"pages/experiment_{name}", name, charts, condition_name=condition_name, **values)
        for name in ("scores", *further, "data")
    ]
    facts = [
        ("recipe", experiment.recipe),
        ("seeds", listed([str(seed) for seed in experiment.seeds])),
        ("folds", number(experiment.folds)),
        ("fits", number(experiment.cells)),
        ("variants", number(experiment.variants)),
        ("labels of", PANELS[experiment.raters]),
        ("heartfelt", experiment.heartfelt),
    ]
    title = f"{TITLES[experiment.kind]}: {listed([source.name for source in experiment.sources])}"
    return ReportPage(title=title, subtitle="Predictions, not ratings.", sections=sections, charts=charts, facts=facts)
