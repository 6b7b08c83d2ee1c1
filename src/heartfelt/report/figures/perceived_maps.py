"""One map per system: every stimulus, the mean of each quadrant, the references, and 95% ellipses."""

from __future__ import annotations

from typing import Any, ClassVar

import polars as pl

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import SOFT
from heartfelt.report.quadrants import QuadrantLook, quadrant_look
from heartfelt.report.reading import Analysis, rows, system_names
from heartfelt.report.va_map import map_axis, mapped_questions, references
from heartfelt.report.words import number, plain
from heartfelt.study.question import Question

MOST_POINTS = 4000


class PerceivedMaps(Figure):
    """Where each system's stimuli were perceived, and where they were meant to be."""

    name: ClassVar[str] = "perceived-maps"
    about: ClassVar[str] = "one map per system: stimuli, quadrant means, references and 95% ellipses"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per system."""
        pair = mapped_questions(analysis.snapshot)
        if pair is None:
            return Absent("the study has no two questions with reference coordinates")
        if not {"system", "intent"} <= set(analysis.labels.columns):
            return Absent("the stimuli have no systems and intents")
        points = _points(analysis, pair)
        if not points.height:
            return Absent("no stimulus has labels on both axes")
        look = quadrant_look(analysis.snapshot.study)
        step = -(-points.height // MOST_POINTS)
        panels = [
            _panel(analysis, str(system), mine, pair, look, step)
            for (system,), mine in points.sort("system", "stimulus").group_by("system", maintain_order=True)
        ]
        caption = (
            f"Perceived {plain(pair[0].id)} and {plain(pair[1].id)} of the stimuli of each system. Dots are stimuli,"
            " stars the means of a quadrant, crosses the references of its intents; an ellipse holds 95% of a quadrant's"
            " stimuli if they are normal."
        )
        table = points.sort("system", "stimulus").to_dicts()
        if step > 1:
            caption += f" One in {step} stimuli is drawn; means and ellipses are over all."
        return Chart("map", "Intended and perceived", caption, panels, table, look.legend())


def _points(analysis: Analysis, pair: tuple[Question, Question]) -> pl.DataFrame:
    group = dict(quadrant_look(analysis.snapshot.study).of_intent)
    sides = []
    for question in pair:
        mine = analysis.labels.filter(pl.col("question") == question.id)
        spread = pl.col("sd") if "sd" in mine.columns else pl.lit(None, dtype=pl.Float64).alias("sd")
        sides.append(
            mine.select(
                "stimulus",
                pl.col("value").alias(question.id),
                spread.alias(f"sd_{question.id}"),
                pl.col("n").alias(f"n_{question.id}"),
            )
        )
    facts = analysis.labels.select("stimulus", "system", "intent").unique("stimulus")
    joined = (
        facts.join(sides[0], on="stimulus").join(sides[1], on="stimulus").drop_nulls([pair[0].id, pair[1].id])
    )
    joined = joined.with_columns(pl.col("system").fill_null("all"))
    return joined.with_columns(
        pl.col("intent").replace_strict(group, default=None, return_dtype=pl.String).alias("group")
    )


def _panel(
    analysis: Analysis,
    system: str,
    mine: pl.DataFrame,
    pair: tuple[Question, Question],
    look: QuadrantLook,
    step: int,
) -> dict[str, Any]:
    label = system_names(analysis).get(system, system)
    across, up = (map_axis(analysis.snapshot, question) for question in pair)
    seen = set(mine["intent"].drop_nulls().to_list())
    return {
        "title": label,
        "note": f"{mine.height} stimuli",
        "x": across,
        "y": up,
        "points": _dots(mine.gather_every(step), pair),
        "crosses": references(analysis.snapshot, seen, pair, look),
        "stars": _stars(mine, pair, look, label),
        "ellipses": _ellipses(analysis, system),
        "colours": {**look.colours, "": SOFT},
    }


def _dots(mine: pl.DataFrame, pair: tuple[Question, Question]) -> list[dict[str, Any]]:
    columns = [pl.col("stimulus"), pl.col("intent"), pl.col("group")]
    for question, axis in zip(pair, "xy", strict=True):
        columns += [
            pl.col(question.id).round(3).alias(axis),
            pl.col(f"sd_{question.id}").round(3).alias(f"s{axis}"),
            pl.col(f"n_{question.id}").alias(f"n{axis}"),
        ]
    return mine.select(columns).to_dicts()


def _stars(
    mine: pl.DataFrame, pair: tuple[Question, Question], look: QuadrantLook, label: str
) -> list[dict[str, Any]]:
    across, up = pair[0].id, pair[1].id
    means = mine.drop_nulls("group").group_by("group").agg(pl.mean(across), pl.mean(up), pl.len().alias("n"))
    return [
        {
            "x": x,
            "y": y,
            "group": group,
            "words": (
                f"{label}, {look.said(group)}\nmean of {n} stimuli\n{across} {number(x, 2)}, {up} {number(y, 2)}"
            ),
        }
        for group, x, y, n in means.select("group", across, up, "n").sort("group").iter_rows()
    ]


def _ellipses(analysis: Analysis, system: str) -> list[dict[str, Any]]:
    return [
        {
            "x": e["centre"][0],
            "y": e["centre"][1],
            "long": e["semi_axes"][0],
            "short": e["semi_axes"][1],
            "angle": e["angle"],
            "group": e["quadrant"],
        }
        for e in rows(analysis, "ellipses", system=system)
        if e.get("semi_axes")
    ]


FIGURES.add(PerceivedMaps.name, PerceivedMaps())
