"""How well a trained model does, beside the ceiling and bare means: a figure, a page and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from heartfelt.files import write_text
from heartfelt.formats.delimited import csv_text
from heartfelt.report.blocks import figure_block, joined
from heartfelt.report.chart import Chart, axis
from heartfelt.report.figures.rows import lettered, numbers, panel_of, row_of
from heartfelt.report.page import Page, Section, render
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.report.prints.save import save
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


def write_evaluation(found: Trained, folder: Path) -> Path:
    """Write evaluation.json, predictions.csv, ledger.csv, figures/ and report.html into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = found.evaluation.rows
    write_json(folder / "evaluation.json", {"facts": found.model.facts, "rows": rows})
    write_text(folder / "predictions.csv", csv_text(found.evaluation.predictions))
    write_text(folder / "ledger.csv", csv_text(found.material.ledger))
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    chart = evaluation_chart(rows)
    save(chart, figures, FIGURE)
    write_text(figures / f"{FIGURE}.csv", csv_text(_table_of(chart)))
    write_text(folder / "report.html", render(_page(found, rows, chart)))
    return folder


def evaluation_chart(rows: Sequence[Score]) -> Chart:
    """Correlations with their ceilings, one panel a question and panel of raters."""
    panels: list[dict[str, Any]] = []
    numbers_behind: list[dict[str, Any]] = []
    for question, side in dict.fromkeys((row.question, row.raters) for row in rows):
        made = []
        for row in rows:
            if (row.question, row.raters) != (question, side):
                continue
            name = _SHORT.get(row.protocol, row.protocol)
            parts = (
                ("model", "pearson", COLOURS[0]),
                ("ceiling", "ceiling", SOFT),
                ("bare means", "bare_means", COLOURS[1]),
            )
            for what, key, colour in parts:
                estimate: Estimate = getattr(row, key)
                if estimate.value is not None:
                    made.append(row_of(f"{name}: {what}", estimate.to_json(), colour))
                    numbers_behind.append(
                        {
                            "question": question, "raters": PANELS[side], "reading": row.reading, "what": what,
                            "value": estimate.value, "low": estimate.low, "high": estimate.high,
                        }
                    )  # fmt: skip
        title = lettered(len(panels), f"{question}, {PANELS[side]}")
        panels.append(panel_of(title, made, axis("Pearson r", [*numbers(made), 0.0, 1.0])))
    caption = (
        "Correlation of predictions with labels, each stimulus predicted by a head chosen and fitted without it; beside it"
        " the ceiling of the labels and what bare means give. 95% intervals."
    )
    return Chart("intervals", "How well the model predicts", caption, panels, numbers_behind)


def _table_of(chart: Chart) -> Any:
    import polars as pl

    return pl.DataFrame(list(chart.rows), infer_schema_length=None)


def _page(found: Trained, rows: Sequence[Score], chart: Chart) -> Page:
    facts = found.model.facts
    columns = [
        "question",
        "labels of",
        "reading",
        "n",
        "Pearson r",
        "ceiling",
        "bare means",
        "RMSE",
        "intervals cover",
    ]
    lines = [
        [
            row.question, PANELS[row.raters], row.reading, row.n,
            *(each.to_json() for each in (row.pearson, row.ceiling, row.bare_means, row.rmse)), row.coverage,
        ]
        for row in rows
    ]  # fmt: skip
    chosen = [
        [name, one["head"], ", ".join(f"{part:g}" for part in one["setting"])]
        for name, one in facts["chosen"].items()
    ]
    sections = [
        Section(
            "scores",
            "How well it predicts",
            "Every stimulus was predicted by a head chosen on inner folds and fitted without it. "
            + (facts.get("grouping") or {}).get("words", ""),
            html=joined(figure_block(FIGURE, {FIGURE: chart}), table("Scores", columns, lines)),
        ),
        Section(
            "head",
            "What was trained",
            found.model.look().about,
            html=joined(
                table("The head of each question", ["question", "head", "setting"], chosen),
                Markup("<p>{:,} stimuli used, {:,} with labels could not be used (ledger.csv).</p>").format(
                    facts["stimuli"], facts["left_out"]
                ),
            ),
        ),
    ]
    data = {"figures": {FIGURE: chart.to_json()}}
    shown = [
        ("study", str(facts["study"])),
        ("raters kept", f"{facts['panel']['kept']} of {facts['panel']['raters']}"),
    ]
    return Page(f"Evaluation: {found.model.name}", "Predictions, not ratings.", sections, data, shown)
