"""Distances of systems from a reference set as a folder: numbers, figures and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from heartfelt.files import whole_folder, write_text
from heartfelt.formats.tables.delimited import csv_text
from heartfelt.report.charts import (
    Absent,
    Chart,
    IntervalPanels,
    Item,
    Panels,
    PlaneChart,
    Point,
    axis,
    estimated_point,
    numbers,
)
from heartfelt.report.layout.page import ReportPage, render
from heartfelt.report.layout.templates import section
from heartfelt.report.palette import COLOURS, SHAPES, colour
from heartfelt.scoring.options import SET_METRICS
from heartfelt.scoring.set_distances.systems import SystemDistances
from heartfelt.serialization import write_json
from heartfelt.wording import interval, number

ABOUT = "Distance from the reference set; lower is closer. Intervals (95%) are over stimuli."


def write_distances(result: SystemDistances, folder: Path | str, *, replace: bool = False) -> Path:
    """Write distances.json, distances.csv, correlations.csv, ledger.csv, figures/ and report.html; return the folder."""
    from heartfelt.report.drawing.processes import drawing

    target = Path(folder)
    charts = {"distances": _distances_chart(result), "distances-and-means": _plane(result)}
    with whole_folder(target, replace=replace) as scratch, drawing(charts, scratch / "figures"):
        write_json(scratch / "distances.json", result)
        write_text(scratch / "distances.csv", csv_text(result.table()))
        write_text(scratch / "correlations.csv", csv_text(correlations(result)))
        write_text(scratch / "ledger.csv", csv_text(result.ledger))
        write_text(scratch / "report.html", render(_page(result, charts)))
    return target


def correlations(result: SystemDistances) -> pl.DataFrame:
    """A row per metric, question and coefficient."""
    rows = [
        {
            "metric": row.metric,
            "question": row.question,
            "coefficient": row.coefficient,
            "systems": row.systems,
            **numbers(row.correlation, "correlation"),
            "p": row.p.value,
            **numbers(row.ceiling, "ceiling", prefix="ceiling_"),
            "why": row.correlation.why_missing or row.correlation.why_no_interval,
        }
        for row in result.closeness
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _distances_chart(result: SystemDistances) -> Chart | Absent:
    builder = IntervalPanels("distance")
    for metric in dict.fromkeys(row.metric for row in result.systems):
        items = [
            Item(
                label=row.system,
                estimate=row.distance,
                colour=colour(len(builder.panels)),
                cells={"metric": metric, "system": row.system},
            )
            for row in result.systems
            if row.metric == metric
        ]
        builder.add(metric, "distance", items)
    return builder.chart("Distance by system", ABOUT, "no distance could be computed")


def _plane(result: SystemDistances) -> Chart | Absent:
    """People's mean against distance, a panel per metric and question."""
    builder = Panels()
    means = {(row.question, row.system): row.mean for row in result.means}
    for metric, question in dict.fromkeys((row.metric, row.question) for row in result.closeness):
        points: list[Point] = []
        for row in result.systems:
            mean = means.get((question, row.system))
            if row.metric != metric or mean is None or mean.value is None or row.distance.value is None:
                continue
            words = f"{row.system}\n{metric}: {interval(row.distance)}\n{question}: {interval(mean)}"
            at = len(points)
            look = {"colour": COLOURS[at % len(COLOURS)], "shape": SHAPES[at % len(SHAPES)]}
            points.append(estimated_point(row.distance, mean, label=row.system, words=words, **look))
            cells = {"metric": metric, "question": question, "system": row.system}
            builder.table.append(
                {**cells, **numbers(row.distance, metric, prefix=f"{metric}_"), **numbers(mean, "mean", prefix="mean_")}
            )
        if points:
            builder.panels.append(_plane_panel(metric, question, points))
    caption = "Each point is a system: its distance across, people's mean up. Bars are 95% intervals."
    return builder.chart("Distance and people's means", caption, "People's means of the systems are not known.")


def _plane_panel(metric: str, question: str, points: Sequence[Point]) -> PlaneChart:
    across = axis(metric, [end for point in points for end in (point.x, point.xl, point.xh)])
    up = axis(f"mean {question}", [end for point in points for end in (point.y, point.yl, point.yh)])
    return PlaneChart(title=f"{metric}, {question}", x=across, y=up, points=tuple(points), named=True)


def _page(result: SystemDistances, charts: dict[str, Chart | Absent]) -> ReportPage:
    metrics = dict.fromkeys(row.metric for row in result.systems)
    named = "; ".join(f"{name}: {SET_METRICS[name]}" for name in metrics)
    sections = [
        section("pages/distances", "distances", charts, result=result, about=ABOUT, metrics=named),
        *([section("pages/distances_people", "people", charts, result=result)] if result.closeness else []),
    ]
    facts = [
        ("embedding", result.embedding),
        ("dimensions", number(result.dimensions)),
        ("reference", result.reference),
        ("files left out", number(result.ledger.height)),
    ]
    return ReportPage(
        title=f"Distances: {result.source}", subtitle=ABOUT, sections=sections, charts=charts, facts=facts
    )
