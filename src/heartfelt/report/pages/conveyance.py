"""Predicted conveyance as a folder: numbers, predictions, figures and a page, marked as predicted everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.labels import LabelOptions, labels
from heartfelt.report.charts import Absent, Chart, IntervalPanels, Item, Line
from heartfelt.report.figures.maps import intent_maps
from heartfelt.report.layout.media import media_sources
from heartfelt.report.layout.page import ReportPage, Section, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import INK, colour
from heartfelt.scoring.conveyance import Conveyed, PredictedConveyance, SystemDeviation, SystemSlope
from heartfelt.serialization import write_json
from heartfelt.stats.estimate import Estimate

PREDICTED = "Predicted, not rated: these numbers come from a model, whose own error is part of every interval."


def headline(result: PredictedConveyance) -> str:
    """What these numbers are, in one sentence."""
    if not result.rated:
        return PREDICTED
    return (
        f"Predicted, with ratings of {result.rated:,} of {result.stimuli:,} clips: prediction-powered intervals,"
        " valid whatever the model."
    )


def flagged_words(conveyed: Conveyed) -> str:
    """How many clips the model's numbers mean little for, in a sentence; empty where there are none."""
    predictions = conveyed.run.table
    flagged = predictions.filter(pl.col("flag").is_not_null())["stimulus"].n_unique()
    if not flagged:
        return ""
    return (
        f" {flagged:,} of {predictions['stimulus'].n_unique():,} clips are silent, too short or unlike the music the model was"
        " trained on; the intervals do not cover errors on those (predictions.csv, column flag)."
    )


def write_conveyance(conveyed: Conveyed, folder: Path | str, *, replace: bool = False) -> Path:
    """Write summary.json, predictions.csv, ledger.csv, figures/ and report.html; return the folder."""
    from heartfelt.report.drawing.processes import drawing

    target, result = Path(folder), conveyed.result
    words = headline(result)
    charts = {
        "predicted-deviation": _chart(result.deviation_by_system, "deviation", "Predicted deviation", 0.0, words),
        "predicted-slopes": _chart(result.slopes, "slope", "Predicted slopes", 1.0, words),
    }
    with whole_folder(target, replace=replace) as staging, drawing(charts, staging / "figures"):
        write_json(staging / "summary.json", result)
        write_text(staging / "predictions.csv", csv_text(conveyed.run.table))
        failed = conveyed.run.table.filter(~pl.col("ok")).select("stimulus", "question", "problem")
        write_text(staging / "ledger.csv", csv_text(failed))
        write_text(staging / "report.html", render(_page(conveyed, charts, target)))
    return target


def _chart(
    rows: Sequence[SystemDeviation | SystemSlope], key: str, title: str, line: float, words: str
) -> Chart | Absent:
    builder = IntervalPanels()
    for question in dict.fromkeys(row.question for row in rows):
        items = []
        for row in rows:
            if row.question == question:
                every = row.system == "all"
                name, shade = ("all systems", INK) if every else (row.system, colour(len(builder.panels)))
                items.append(
                    Item(
                        label=name,
                        estimate=_estimate(row),
                        colour=shade,
                        cells={"question": question, "system": row.system},
                    )
                )
        builder.add(question, key, items, lines=(Line(line),))
    return builder.chart(title, f"{title} by system with 95% intervals. {words}", "nothing could be computed")


def _page(conveyed: Conveyed, charts: dict[str, Chart | Absent], target: Path) -> ReportPage:
    result, words = conveyed.result, headline(conveyed.result)
    sections = [
        *_maps(conveyed, charts),
        section(
            "pages/conveyance_deviation",
            "deviation",
            charts,
            result=result,
            headline=words,
            flagged=flagged_words(conveyed),
        ),
        section("pages/conveyance_slopes", "slopes", charts, result=result),
    ]
    quadrants = result.quadrants
    if quadrants is not None:
        counts = [[name, *line] for name, line in zip(quadrants.rows, quadrants.counts, strict=True)]
        sections.append(section("pages/conveyance_quadrants", "quadrants", quadrants=quadrants, counts=counts))
    facts = [
        ("clips", f"{result.stimuli:,}"),
        ("rated by people", f"{result.rated:,}"),
        ("not predicted", f"{conveyed.run.table.filter(~pl.col('ok')).height:,}"),
    ]
    media = media_sources(conveyed.snapshot, target / "report.html")
    title = f"Predicted conveyance: {conveyed.snapshot.source.name}"
    return ReportPage(title=title, subtitle=words, sections=sections, charts=charts, media=media, facts=facts)


def _estimate(row: SystemDeviation | SystemSlope) -> Estimate:
    return row.deviation if isinstance(row, SystemDeviation) else row.slope


def _maps(conveyed: Conveyed, charts: dict[str, Chart | Absent]) -> list[Section]:
    """The predicted map, and the rated one next to it where people rated; they are added to ``charts``."""
    answered = conveyed.run.table.filter(pl.col("ok")).select(
        "stimulus", "question", "value", pl.lit(None, pl.Int64).alias("n")
    )
    predicted = intent_maps(conveyed.snapshot, answered, "predicted")
    if predicted is None:
        return []
    charts["map-predicted"] = replace(predicted, title="Predicted", caption=PREDICTED)
    if conveyed.snapshot.survey.ratings:
        rated = intent_maps(conveyed.snapshot, labels(conveyed.snapshot, LabelOptions(minimum_ratings=1)).table)
        if rated is not None:
            charts["map-rated"] = replace(rated, title="Rated", caption="People's ratings of the same clips.")
    names = [name for name in ("map-predicted", "map-rated") if name in charts]
    return [section("pages/conveyance_map", "map", charts, names=names)]
