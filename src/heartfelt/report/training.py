"""How well a trained model does, next to the ceiling and cell means: a figure, a page and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.analysis import write_chart_tables
from heartfelt.report.charts import Cell, Chart, Intervals, axis, extent, interval_row, lettered, numbers
from heartfelt.report.page import Page, Section, figure_block, joined, paragraph, render
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.report.tables import table
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate
from heartfelt.training.evaluating import PANELS, Score
from heartfelt.training.training import Trained

FIGURE = "evaluation"
_SHORT = {
    "five-fold": "five folds",
    "leave-one-system-out": "system left out",
    "within-cells": "within cells",
}


def write_evaluation(trained: Trained, folder: Path) -> Path:
    """Write evaluation.json, predictions.csv, ledger.csv, figures/ and report.html into ``folder``."""
    from heartfelt.report.drawing.files import save

    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    write_json(folder / "evaluation.json", {"facts": trained.model.facts, "rows": trained.evaluation.rows})
    write_text(folder / "predictions.csv", csv_text(trained.evaluation.predictions))
    write_text(folder / "ledger.csv", csv_text(trained.material.ledger))
    chart = evaluation_chart(trained.evaluation.rows)
    save(chart, figures, FIGURE)
    write_chart_tables({FIGURE: chart}, figures)
    write_text(folder / "report.html", render(_page(trained, chart)))
    return folder


def evaluation_chart(scores: Sequence[Score]) -> Chart:
    """Correlations with their ceilings, one panel per question and panel of raters."""
    panels: list[Intervals] = []
    behind: list[dict[str, Cell]] = []
    for question, side in dict.fromkeys((score.question, score.raters) for score in scores):
        made = []
        for score in scores:
            if (score.question, score.raters) != (question, side):
                continue
            name = _SHORT.get(score.protocol, score.protocol)
            estimates: tuple[tuple[str, Estimate, str], ...] = (
                ("model", score.pearson, COLOURS[0]),
                ("ceiling", score.ceiling, SOFT),
                ("cell means", score.bare_means, COLOURS[1]),
            )
            for what, estimate, shade in estimates:
                if estimate.value is not None:
                    made.append(interval_row(f"{name}: {what}", estimate, shade))
                    where = {
                        "question": question,
                        "raters": PANELS[side],
                        "reading": score.reading,
                        "what": what,
                    }
                    behind.append({**where, **numbers(estimate)})
        title = lettered(len(panels), f"{question}, {PANELS[side]}")
        panels.append(Intervals(title, tuple(made), axis("Pearson r", [*extent(made), 0.0, 1.0])))
    caption = (
        "Correlation of predictions with labels, each stimulus predicted by a head chosen and fitted without it; next to it"
        " the ceiling of the labels and what cell means reach. 95% intervals."
    )
    return Chart("How well the model predicts", caption, panels, behind)


def _page(trained: Trained, chart: Chart) -> Page:
    facts = trained.model.facts
    columns = [
        "question", "labels of", "reading", "n", "Pearson r", "ceiling", "cell means", "RMSE", "intervals cover",
    ]  # fmt: skip
    lines = [
        [
            score.question,
            PANELS[score.raters],
            score.reading,
            *(score.n, score.pearson, score.ceiling, score.bare_means, score.rmse, score.coverage),
        ]
        for score in trained.evaluation.rows
    ]
    heads = [
        [name, head.head, ", ".join(f"{part:g}" for part in head.setting)]
        for name, head in facts.chosen.items()
    ]
    charts = {FIGURE: chart}
    used = f"{facts.stimuli:,} stimuli used, {facts.left_out:,} with labels could not be used (ledger.csv)."
    sections = [
        Section(
            "scores",
            "How well it predicts",
            "Every stimulus was predicted by a head chosen on inner folds and fitted without it. "
            + (facts.grouping.words if facts.grouping else ""),
            joined(figure_block(FIGURE, charts), table("Scores", columns, lines)),
        ),
        Section(
            "head",
            "What was trained",
            trained.model.look().about,
            joined(
                table("The head of each question", ["question", "head", "setting"], heads), paragraph(used)
            ),
        ),
    ]
    shown = [
        ("study", facts.study),
        ("raters kept", f"{facts.panel['kept']} of {facts.panel['raters']}"),
    ]
    return Page(
        f"Evaluation: {trained.model.name}", "Predictions, not ratings.", sections, charts, facts=shown
    )
