"""An experiment as a folder: tables (CSV, Markdown, LaTeX), the typed results as JSON, figures and a page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.charts import Absent, Chart
from heartfelt.report.markup import grid_latex, grid_markdown
from heartfelt.report.page import ReportPage, Section, bullets, figure_block, joined, paragraph, render
from heartfelt.report.pages.experiment_charts import TITLES, experiment_charts
from heartfelt.report.pages.experiment_tables import (
    condition_name,
    experiment_grids,
    matrix_table,
    metric_names,
    score_table,
)
from heartfelt.report.tables import Columns, table_of
from heartfelt.serialization import write_json
from heartfelt.training.experiments.learning import curve_words
from heartfelt.training.experiments.results import Experiment, ScoreRow, SourceFacts, SweepSelection, Variant
from heartfelt.training.heads.evaluating import PANELS
from heartfelt.wording import interval, listed, number, share

PAGE, TABLE, RESULTS = "report.html", "table.csv", "results.json"
HOW = (
    "Correlations are means over seeds of out-of-fold predictions (less the mean of their training labels) with the labels; 95%"
    " intervals resample clusters of stimuli, and differences are paired: the same stimuli in both conditions. Shuffled labels show"
    " what chance reaches, with one random order per fold and seed: values around 0, whose spread over seeds is given. Of"
    " questions with categories, the share that is right and the macro F1 take the place of correlation and error, and chance is"
    " about what the most frequent label reaches."
)


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
        line
        for curve in experiment.curves
        for line in curve_words(curve, experiment.axis, symbols[curve.question])
    ]


def _selection_lines(selections: Sequence[SweepSelection]) -> list[str]:
    return [
        f"{selection.question}: the best of {selection.variants} variants reaches {share(selection.inner_best.value)} on the"
        f" folds it was chosen on, and {interval(selection.outer, bare=True)} on stimuli that had no part in the choice."
        for selection in selections
    ]


def _page(experiment: Experiment, charts: dict[str, Chart | Absent]) -> ReportPage:
    first, second = metric_names(experiment)
    scores: Columns[ScoreRow] = {
        "question": lambda row: row.question,
        "condition": lambda row: condition_name(experiment, row),
        "training stimuli": lambda row: number(row.training_stimuli, 0),
        "n": lambda row: row.n,
        first: lambda row: row.score,
        "SD over seeds": lambda row: row.over_seeds,
        "difference": lambda row: row.difference if row.reference else "",
        "from": lambda row: row.reference,
        second: lambda row: row.second,
        "ceiling": lambda row: row.ceiling,
    }
    figures = joined(*(figure_block(name, charts) for name in charts))
    sections = [
        Section(
            id="scores",
            title="Scores",
            lead=experiment.about,
            html=joined(figures, table_of("Scores", experiment.rows, scores), paragraph(HOW)),
        )
    ]
    lines = [*_curve_lines(experiment), *_selection_lines(experiment.selections)]
    if experiment.tried:
        columns: Columns[Variant] = {
            "question": lambda row: row.question,
            "variant": lambda row: row.name,
            f"inner {'r' if first == 'Pearson r' else first}": lambda row: row.inner,
            "chosen": lambda row: f"{row.chosen} of {row.choices}",
        }
        tried = table_of("Variants on the validation folds", experiment.tried, columns)
        lead = f"{experiment.variants} variants were compared on validation folds only; no variant has a score on test parts."
        sections.append(
            Section(
                id="choice",
                title="What was chosen",
                lead=lead,
                html=joined(bullets(lines), tried),
                short="Choice",
            )
        )
    elif lines:
        lead = "What a power law through the scores gives for more data than there are."
        sections.append(
            Section(
                id="ahead",
                title="What more data would buy",
                lead=lead,
                html=bullets(lines),
                short="More data",
            )
        )
    sources: Columns[SourceFacts] = {
        "source": lambda row: row.name,
        "stimuli": lambda row: row.stimuli,
        "groups": lambda row: row.groups,
        "raters used": lambda row: f"{row.raters_used:,} of {row.raters:,}" if row.raters else "not stated",
        "ratings used": lambda row: row.ratings,
        "snapshot": lambda row: row.snapshot[:12],
    }
    words = [*dict.fromkeys(source.folds for source in experiment.sources), *experiment.notes]
    table = table_of("Sources", experiment.sources, sources)
    content: Markup = joined(table, bullets(words))
    sections.append(Section(id="data", title="Data", lead="", html=content))
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
    return ReportPage(
        title=title, subtitle="Predictions, not ratings.", sections=sections, charts=charts, facts=facts
    )
