"""An experiment as a folder: a table (CSV and Markdown), the typed results as JSON, figures and a page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from markupsafe import Markup

from heartfelt.experiments.learning import curve_words
from heartfelt.experiments.results import Ahead, Curve, Experiment, ScoreRow, Selection, SourceFacts, Variant
from heartfelt.files import whole_folder, write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.charts import (
    Absent,
    Chart,
    CurvePoint,
    Curves,
    HeatCell,
    Heatmap,
    IntervalPanels,
    Item,
    Line,
    Panel,
    Series,
    TableRow,
    axis,
    bounds,
    numbers,
)
from heartfelt.report.page import Page, Section, bullets, figure_block, joined, paragraph, render
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.report.tables import Columns, table_of
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.training.evaluating import PANELS
from heartfelt.wording import interval, listed, number, plural, share

FIGURE, MATRIX, LAW = "experiment", "matrix", "learning-curve"
PAGE, TABLE, RESULTS = "report.html", "table.csv", "results.json"
_TITLES = {
    "ablate": "Ablation",
    "mix": "Mixing data",
    "transfer": "Transfer",
    "learning-curve": "Learning curve",
    "sweep": "Sweep",
}
HOW = (
    "Correlations are means over seeds of out-of-fold predictions (less the mean of their training labels) with the labels; 95%"
    " intervals resample clusters of stimuli, and differences are paired: the same stimuli in both conditions. Shuffled labels show"
    " what chance reaches, with one random order per fold and seed: values around 0, whose spread over seeds is given."
)


def write_experiment(experiment: Experiment, folder: Path) -> Path:
    """Write the results next to the cells; files of an earlier run of the same experiment are replaced."""
    from heartfelt.report.drawing.files import drawing

    charts = experiment_charts(experiment)
    with whole_folder(folder / "figures", replace=True) as figures, drawing(charts, figures):
        write_json(folder / RESULTS, experiment)
        write_text(folder / TABLE, csv_text(score_table(experiment)))
        write_text(folder / "table.md", "\n".join(markdown_table(experiment)) + "\n")
        write_text(folder / "ledger.csv", csv_text(experiment.ledger))
        write_text(folder / PAGE, render(_page(experiment, charts)))
    return folder


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
            "sd_over_seeds": row.over_seeds,
            **numbers(row.rmse, "rmse", prefix="rmse_"),
            "compared_with": row.reference,
            **numbers(row.difference, "difference", prefix="difference_"),
            **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
            "baseline": row.baseline,
            "why_missing": row.pearson.why_missing,
        }
        for row in experiment.rows
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def markdown_table(experiment: Experiment) -> list[str]:
    """The scores as lines of a Markdown table, then the lines about curves and choices."""
    out = [
        "| question | condition | trained on | n | Pearson r | difference | RMSE | ceiling |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in experiment.rows:
        cells = [
            row.question,
            row.condition,
            number(row.training_stimuli, 0),
            number(row.n),
            _cell(row.pearson),
            _cell(row.difference) if row.reference else "",
            interval(row.rmse, 2),
            _cell(row.ceiling),
        ]
        out.append(f"| {' | '.join(cells)} |")
    more = [*_curve_lines(experiment), *_selection_lines(experiment.selections)]
    return [*out, *([""] if more else []), *more]


def _cell(estimate: Estimate) -> str:
    return f"({estimate.why_missing})" if estimate.value is None else interval(estimate, bare=True)


def _curve_lines(experiment: Experiment) -> list[str]:
    return [line for curve in experiment.curves for line in curve_words(curve, experiment.axis)]


def _selection_lines(selections: Sequence[Selection]) -> list[str]:
    return [
        f"{each.question}: the best of {each.variants} variants reaches {share(each.inner_best.value)} on the folds it was chosen"
        f" on, and {interval(each.outer, bare=True)} on stimuli that had no part in the choice."
        for each in selections
    ]


def experiment_charts(experiment: Experiment) -> dict[str, Chart | Absent]:
    """The figures of an experiment."""
    if experiment.kind == "learning-curve":
        return {LAW: _law(experiment)}
    if experiment.kind == "mix":
        return {FIGURE: _shares(experiment)}
    charts = {FIGURE: _intervals(experiment)}
    return {MATRIX: _matrix(experiment), **charts} if experiment.kind == "transfer" else charts


def _intervals(experiment: Experiment) -> Chart | Absent:
    """Every condition's correlation, and the ceiling of each part that was tested on."""
    made = IntervalPanels("pearson")
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question]
        items = [
            Item(
                row.condition,
                row.pearson,
                COLOURS[1] if row.baseline else COLOURS[0],
                {"question": question, "condition": row.condition},
                f"{plural(round(row.training_stimuli), 'training stimulus', 'training stimuli')}, tested on {row.n:,}",
            )
            for row in rows
        ]
        items += [
            Item(
                f"best of {each.variants} on its own folds",
                each.inner_best,
                COLOURS[2],
                {"question": question, "condition": "inner best"},
            )
            for each in experiment.selections
            if each.question == question
        ]
        for part, row in {row.tested_on: row for row in rows}.items():
            name = "ceiling" if len({row.tested_on for row in rows}) == 1 else f"ceiling: {part}"
            items.append(Item(name, row.ceiling, SOFT, {"question": question, "condition": name}))
        made.add(question, "Pearson r", items, reach=(0.0, 1.0))
    return made.chart(
        _TITLES[experiment.kind],
        f"{experiment.about} 95% intervals; the ceiling is that of the labels.",
        "no correlation is defined",
    )


def _matrix(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    parts = [source.name for source in experiment.sources]
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and not row.baseline]
        trained = list(dict.fromkeys(row.trained_on for row in rows))
        known = {(row.trained_on, row.tested_on): row for row in rows}
        cells = [tuple(_heat(known.get((a, b)), a, b) for b in parts) for a in trained]
        tops = {row.tested_on: row.ceiling for row in rows}
        cells.append(
            tuple(
                HeatCell(
                    tops[b].value, share(tops[b].value), f"ceiling of {b}: {interval(tops[b], bare=True)}"
                )
                for b in parts
            )
        )
        panels.append(
            Heatmap(
                question,
                (*trained, "ceiling"),
                tuple(parts),
                tuple(cells),
                "trained on",
                "tested on",
                square=len(parts) <= 8,
            )
        )
        table += [
            {
                "question": question,
                "trained_on": row.trained_on,
                "tested_on": row.tested_on,
                **numbers(row.pearson, "pearson"),
                **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
            }
            for row in rows
        ]
    if not panels:
        return Absent("no correlation is defined")
    return Chart("Trained on rows, tested on columns", experiment.about, panels, table)


def _heat(row: ScoreRow | None, trained: str, tested: str) -> HeatCell:
    if row is None:
        return HeatCell(None, "–", f"trained on {trained}, tested on {tested}: not part of the experiment")
    words = (
        f"trained on: {trained}\ntested on: {tested}\nr = {interval(row.pearson, bare=True)}"
        f"\nceiling {interval(row.ceiling, bare=True)}"
    )
    return HeatCell(row.pearson.value, share(row.pearson.value), words)


def _shares(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and row.level is not None]
        series = Series("Pearson r", COLOURS[0], _points(rows, experiment.axis))
        panels.append(_curves(question, experiment, rows, (series,)))
        table += _numbers(question, experiment.axis, rows)
    return Chart(_TITLES["mix"], f"{experiment.about} Bands: 95% intervals; dashed: ceiling.", panels, table)


def _law(experiment: Experiment) -> Chart | Absent:
    panels: list[Panel] = []
    table: list[TableRow] = []
    laws = {curve.question: curve for curve in experiment.curves}
    for question in experiment.questions:
        rows = [row for row in experiment.rows if row.question == question and row.level is not None]
        series = [Series("measured", COLOURS[0], _points(rows, experiment.axis))]
        table += _numbers(question, experiment.axis, rows)
        curve = laws.get(question)
        if curve is not None and not curve.why_missing:
            series.append(Series("power law (extrapolated)", COLOURS[1], _fitted(curve, rows)))
            table += [
                {
                    "question": question,
                    "what": "extrapolated",
                    experiment.axis: each.amount,
                    **numbers(each.score, "pearson"),
                }
                for each in curve.ahead
            ]
        panels.append(_curves(question, experiment, rows, tuple(series), laws.get(question)))
    caption = f"{experiment.about} Bands: 95% intervals; dashed: ceiling. Beyond the last measured point: extrapolation."
    return Chart(_TITLES["learning-curve"], caption, panels, table)


def _points(rows: Sequence[ScoreRow], label: str) -> tuple[CurvePoint, ...]:
    return tuple(
        CurvePoint(
            row.level or 0.0,
            row.pearson.value,
            f"{row.condition}\n{number(row.level or 0.0, 0)} {label}\nr = {interval(row.pearson, bare=True)}",
            *bounds(row.pearson),
        )
        for row in rows
        if row.pearson.value is not None
    )


def _fitted(curve: Curve, rows: Sequence[ScoreRow]) -> tuple[CurvePoint, ...]:
    """The curve at the measured amounts, and beyond them with its interval."""
    limit, scale, power = float(curve.limit), curve.scale or 0.0, curve.power or 1.0
    levels = [row.level for row in rows if row.level]
    within = [
        CurvePoint(level, limit - scale * level**-power, f"power law at {number(level, 0)}")
        for level in levels
    ]
    return (*within, *(_extrapolated(each) for each in curve.ahead))


def _extrapolated(each: Ahead) -> CurvePoint:
    words = f"extrapolated to {number(each.amount, 0)}\nr = {interval(each.score, bare=True)}"
    return CurvePoint(each.amount, float(each.score), words, *bounds(each.score))


def _curves(
    question: str,
    experiment: Experiment,
    rows: Sequence[ScoreRow],
    series: tuple[Series, ...],
    curve: Curve | None = None,
) -> Curves:
    every = [point for own in series for point in own.points]
    top = rows[0].ceiling.value
    tops = [limit for point in every for limit in (point.y, point.low, point.high)]
    lines = () if top is None else (Line(top, share(top)),)
    here = (
        None
        if curve is None or curve.why_missing
        else Line(max(row.level or 0.0 for row in rows), "all data")
    )
    return Curves(
        question,
        axis(experiment.axis, [point.x for point in every], include=(0.0,)),
        axis("Pearson r", [*tops, top]),
        series,
        lines=lines,
        here=here,
    )


def _numbers(question: str, label: str, rows: Sequence[ScoreRow]) -> list[TableRow]:
    return [
        {
            "question": question,
            "what": "measured",
            label: row.level,
            **numbers(row.pearson, "pearson"),
            **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
        }
        for row in rows
    ]


def _page(experiment: Experiment, charts: dict[str, Chart | Absent]) -> Page:
    scores: Columns[ScoreRow] = {
        "question": lambda row: row.question,
        "condition": lambda row: row.condition,
        "training stimuli": lambda row: number(row.training_stimuli, 0),
        "n": lambda row: row.n,
        "Pearson r": lambda row: row.pearson,
        "SD over seeds": lambda row: row.over_seeds,
        "difference": lambda row: row.difference if row.reference else "",
        "from": lambda row: row.reference,
        "RMSE": lambda row: row.rmse,
        "ceiling": lambda row: row.ceiling,
    }
    figures = joined(*(figure_block(name, charts) for name in charts))
    sections = [
        Section(
            "scores",
            "Scores",
            experiment.about,
            joined(figures, table_of("Scores", experiment.rows, scores), paragraph(HOW)),
        )
    ]
    lines = [*_curve_lines(experiment), *_selection_lines(experiment.selections)]
    if experiment.tried:
        columns: Columns[Variant] = {
            "question": lambda row: row.question,
            "variant": lambda row: row.name,
            "inner r": lambda row: row.inner,
            "chosen": lambda row: f"{row.chosen} of {row.choices}",
        }
        tried = table_of("Variants on the validation folds", experiment.tried, columns)
        lead = f"{experiment.variants} variants were compared on validation folds only; no variant has a score on test parts."
        sections.append(Section("choice", "What was chosen", lead, joined(bullets(lines), tried), "Choice"))
    elif lines:
        lead = "What a power law through the scores gives for more data than there are."
        sections.append(Section("ahead", "What more data would buy", lead, bullets(lines), "More data"))
    sources: Columns[SourceFacts] = {
        "source": lambda row: row.name,
        "stimuli": lambda row: row.stimuli,
        "groups": lambda row: row.groups,
        "raters used": lambda row: f"{row.raters_used:,} of {row.raters:,}",
        "ratings used": lambda row: row.ratings,
        "snapshot": lambda row: row.snapshot[:12],
    }
    words = [*dict.fromkeys(source.folds for source in experiment.sources), *experiment.notes]
    table = table_of("Sources", experiment.sources, sources)
    content: Markup = joined(table, bullets(words))
    sections.append(Section("data", "Data", "", content))
    facts = [
        ("recipe", experiment.recipe),
        ("seeds", listed([str(seed) for seed in experiment.seeds])),
        ("folds", number(experiment.folds)),
        ("fits", number(experiment.cells)),
        ("variants", number(experiment.variants)),
        ("labels of", PANELS[experiment.raters]),
        ("heartfelt", experiment.heartfelt),
    ]
    title = f"{_TITLES[experiment.kind]}: {listed([source.name for source in experiment.sources])}"
    return Page(title, "Predictions, not ratings.", sections, charts, facts=facts)
