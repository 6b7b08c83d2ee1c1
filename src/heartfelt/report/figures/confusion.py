"""Intended against perceived quadrant."""

from __future__ import annotations

from typing import ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, inside, why
from heartfelt.report.words import interval


class Confusion(Figure):
    """Where stimuli of each quadrant end up."""

    name: ClassVar[str] = "quadrant-confusion"
    about: ClassVar[str] = "share of the stimuli meant for each quadrant that were perceived in each"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """Intended in rows, perceived in columns."""
        found = inside(analysis, "quadrants", "confusion")
        if not isinstance(found, dict) or not found.get("counts"):
            return Absent(why(analysis, "quadrants", "the study has no quadrants"))
        rows_of = [str(name) for name in found.get("rows") or found["labels"]]
        columns = [str(name) for name in found.get("columns") or found["labels"]]
        look = quadrant_look(analysis.snapshot.study)
        cells, table = [], []
        for name, counts, shares in zip(rows_of, found["counts"], found["proportions"], strict=False):
            line = []
            for other, count, share in zip(columns, counts, shares, strict=False):
                line.append({
                    "value": share, "text": "–" if share is None else f"{100 * share:.0f}%",
                    "words": f"intended: {look.said(name)}\nperceived: {look.said(other)}\n{count} stimuli"
                             + ("" if share is None else f", {100 * share:.1f}% of the row"),
                })
                table.append({"intended": name, "perceived": other, "stimuli": count, "share": share})
            cells.append(line)
        panel = {
            "title": "", "rows": [look.abbreviated(name) for name in rows_of], "columns": [look.abbreviated(name) for name in columns], "cells": cells,
            "row_label": "intended", "column_label": "perceived", "low": 0.0, "high": 1.0, "square": True,
        }
        hit = inside(analysis, "quadrants", "hit_rate")
        caption = "Share of the stimuli meant for each quadrant that were perceived in each"
        caption += f"; {interval(hit, 2)} fall where they were meant to." if hit and hit.get("value") is not None else "."
        return Chart("heatmap", "Intended and perceived quadrant", caption, [panel], table)


FIGURES.add(Confusion.name, Confusion())
