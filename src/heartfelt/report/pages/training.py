"""How well a trained model does, next to the ceiling and cell means: a figure, a page and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import Absent, Chart, Charts, IntervalPanels, Item
from heartfelt.report.layout.page import ReportPage, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.serialization import write_json
from heartfelt.training.heads.evaluating import PANELS, ProtocolScore
from heartfelt.training.heads.training import Trained

FIGURE = "evaluation"
_SHORT = {"five-fold": "five folds", "leave-one-system-out": "system left out", "within-cells": "within cells"}


def write_evaluation(trained: Trained, folder: Path) -> Path:
    """Write evaluation.json, predictions.csv, ledger.csv, figures/ and report.html into ``folder``."""
    from heartfelt.report.drawing.processes import drawing

    charts = {FIGURE: evaluation_chart(trained.evaluation.rows)}
    with drawing(charts, folder / "figures"):
        write_json(folder / "evaluation.json", {"facts": trained.model.facts, "rows": trained.evaluation.rows})
        write_text(folder / "predictions.csv", csv_text(trained.evaluation.predictions))
        write_text(folder / "ledger.csv", csv_text(trained.material.ledger))
        write_text(folder / "report.html", render(_page(trained, charts)))
    return folder


def evaluation_chart(scores: Sequence[ProtocolScore]) -> Chart | Absent:
    """Correlations with their ceilings, one panel per question and panel of raters."""
    builder = IntervalPanels()
    for question, side in dict.fromkeys((score.question, score.raters) for score in scores):
        items = []
        for score in (score for score in scores if (score.question, score.raters) == (question, side)):
            name = _SHORT.get(score.protocol, score.protocol)
            cells = {"question": question, "raters": PANELS[side], "reading": score.reading}
            for quantity, estimate, shade in (
                ("model", score.pearson, COLOURS[0]),
                ("ceiling", score.ceiling, SOFT),
                ("cell means", score.bare_means, COLOURS[1]),
            ):
                label = f"{name}: {quantity}"
                items.append(Item(label=label, estimate=estimate, colour=shade, cells={**cells, "what": quantity}))
        builder.add(f"{question}, {PANELS[side]}", "Pearson r", items, reach=(0.0, 1.0))
    caption = (
        "Correlation of predictions with labels, each stimulus predicted by a head chosen and fitted without it; next to it"
        " the ceiling of the labels and what cell means reach. 95% intervals."
    )
    return builder.chart("How well the model predicts", caption, "no correlation could be computed")


def _page(trained: Trained, charts: Charts) -> ReportPage:
    facts = trained.model.facts
    values: dict[str, object] = {
        "facts": facts,
        "rows": trained.evaluation.rows,
        "panels": PANELS,
        "about": trained.model.look().about,
        "setting_of": lambda head: ", ".join(f"{part:g}" for part in head.setting),
    }
    sections = [section(f"pages/training_{name}", name, charts, **values) for name in ("scores", "labels", "head")]
    panel = facts.panel
    raters = f"{panel['retained']} of {panel['raters']}" if panel["raters"] else "not stated"
    shown = [("study", facts.study), ("raters kept", raters)]
    title, subtitle = f"Evaluation: {trained.model.name}", "Predictions, not ratings."
    return ReportPage(title=title, subtitle=subtitle, sections=sections, charts=charts, facts=shown)
