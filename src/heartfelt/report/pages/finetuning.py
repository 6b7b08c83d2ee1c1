"""How a fine-tuned model was trained and how well it does: curves, scores next to the ceiling, what could not be used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from heartfelt.files import write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import Absent, Axis, Chart, CurvePoint, Curves, IntervalPanels, Item, Line, Series, axis
from heartfelt.report.layout.page import ReportPage, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import COLOURS, SOFT
from heartfelt.serialization import write_json
from heartfelt.training.finetuning.folder import PartScore
from heartfelt.training.finetuning.loop.engine import Epoch
from heartfelt.training.finetuning.running import FineTuned
from heartfelt.wording import number

CURVES, SCORES = "curves", "scores"
_SHOWN = ("pearson", "spearman", "accuracy", "balanced_accuracy", "macro_f1", "auroc")
_Points: TypeAlias = dict[str, list[tuple[int, float]]]
"""Epochs and values of each curve, by name."""


def write_training_report(result: FineTuned, folder: Path) -> Path:
    """Write evaluation.json, curves.csv, predictions.csv, ledger.csv, figures/ and report.html into ``folder``."""
    from heartfelt.report.drawing.processes import drawing

    charts = {
        CURVES: curves_chart(result.facts.fitted.history, result.facts.fitted.best_epoch),
        SCORES: scores_chart(result.facts.scores),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with drawing(charts, folder / "figures"):
        write_json(folder / "evaluation.json", {"facts": result.facts, "scores": result.scored})
        write_text(folder / "predictions.csv", csv_text(result.predictions))
        write_text(folder / "ledger.csv", csv_text(result.data.ledger))
        write_text(folder / "report.html", render(_page(result, charts)))
    return folder


def curves_chart(history: Sequence[Epoch], best: int) -> Chart | Absent:
    """Training and validation loss by epoch, and the agreement with the labels of the validation part."""
    if not history:
        return Absent("no epoch was finished")
    last = history[-1].epoch
    ticks = tuple(float(at) for at in range(1, last + 1, max(1, -(-last // 8))))
    x = Axis(label="epoch", low=1.0, high=max(2.0, float(last)), ticks=ticks)
    losses = {
        "training": [(epoch.epoch, epoch.training_loss) for epoch in history],
        "validation": [(epoch.epoch, epoch.validation_loss) for epoch in history],
    }
    mark = Line(float(best), "best epoch")
    panels = [_panel("Loss", x, "loss", losses, (0.0,), mark)]
    agreed = _agreement(history)
    if agreed:
        panels.append(_panel("Validation", x, "r, or share correct", agreed, (0.0, 1.0), mark))
    rows = [
        {
            "epoch": epoch.epoch,
            "step": epoch.step,
            "training loss": epoch.training_loss,
            "validation loss": epoch.validation_loss,
            "learning rate": epoch.learning_rate,
            **{f"validation {name}": value for name, value in epoch.agreement.items()},
        }
        for epoch in history
    ]
    caption = "The weights are those of the epoch with the lowest validation loss."
    caption += " The validation part is neither trained on nor scored."
    return Chart(title="How training went", caption=caption, panels=panels, rows=rows)


def _agreement(history: Sequence[Epoch]) -> _Points:
    agreed: _Points = {}
    for epoch in history:
        for question, value in epoch.agreement.items():
            if value is not None:
                agreed.setdefault(question, []).append((epoch.epoch, value))
    return agreed


def _panel(title: str, x: Axis, label: str, curves: _Points, include: tuple[float, ...], mark: Line) -> Curves:
    values = [value for points in curves.values() for _, value in points]
    y = axis(label, values, include=include)
    return Curves(title=title, x=x, y=y, series=_series(curves), banded=False, here=mark)


def _series(curves: _Points) -> tuple[Series, ...]:
    return tuple(
        Series(
            name,
            COLOURS[index % len(COLOURS)],
            tuple(
                CurvePoint(x=float(at), y=value, words=f"{name}, epoch {at}: {number(value, 3)}")
                for at, value in points
            ),
        )
        for index, (name, points) in enumerate(curves.items())
    )


def scores_chart(scores: Sequence[PartScore]) -> Chart | Absent:
    """Metrics with intervals next to their ceilings, one panel per part and question."""
    builder = IntervalPanels()
    for part, source, task in dict.fromkeys((score.part, score.source, score.task) for score in scores):
        items = []
        for score in scores:
            if (score.part, score.source, score.task) != (part, source, task) or score.metric not in _SHOWN:
                continue
            over = {"item": "", "system": " (systems)"}[score.aggregation]
            cells = {"part": part, "source": source, "task": task, "metric": f"{score.metric}{over}"}
            items.append(
                Item(label=f"{score.metric}{over}: model", estimate=score.estimate, cells={**cells, "what": "model"})
            )
            items.append(
                Item(
                    label=f"{score.metric}{over}: ceiling",
                    estimate=score.ceiling,
                    colour=SOFT,
                    cells={**cells, "what": "ceiling"},
                )
            )
        if items:
            builder.add(f"{task}, {f'{part} {source}'.strip()}", "score", items, reach=(0.0, 1.0))
    caption = (
        "Scores on stimuli that were neither trained on nor used to stop training, with the ceiling of the labels."
    )
    caption += " 95% intervals."
    return builder.chart("How well the model predicts", caption, "no score could be computed")


def _page(result: FineTuned, charts: dict[str, Chart | Absent]) -> ReportPage:
    facts = result.facts
    sizes = ", ".join(f"{count:,} {part}" for part, count in facts.stimuli.items())
    sections = [
        section(f"pages/finetuning_{name}", name, charts, facts=facts, sizes=sizes) for name in ("scores", "training")
    ]
    shown = [
        ("study", " and ".join(part.study for part in facts.core.data)),
        ("recipe", facts.core.recipe),
        ("seed", str(facts.seed)),
    ]
    title, subtitle = f"Fine-tuning: {facts.core.name}", "Predictions, not ratings."
    return ReportPage(title=title, subtitle=subtitle, sections=sections, charts=charts, facts=shown)
