"""Intended against perceived: quadrants, or categories where the intents are among the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, inside, rows, why
from heartfelt.report.words import interval, plain


class Confusion(Figure):
    """Where stimuli of each intent end up."""

    name: ClassVar[str] = "confusion"
    about: ClassVar[str] = (
        "share of the stimuli meant for each quadrant or category that were perceived in each"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """Intended in rows, perceived in columns."""
        look = quadrant_look(analysis.snapshot.study)
        found = inside(analysis, "quadrants", "confusion")
        hit = inside(analysis, "quadrants", "hit_rate")
        if isinstance(found, Mapping) and any(map(sum, found.get("counts") or [])):
            panel, cells = _panel(found, "", look.abbreviated, look.said)
            caption = "Share of the stimuli meant for each quadrant that were perceived in each; one on a midline is in none."
            return Chart("heatmap", "Intended and perceived quadrant", caption + _hits(hit), [panel], cells)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for one in rows(analysis, "intent_confusion"):
            panel, own = _panel(one, str(one["question"]), plain, plain)
            panels.append(panel)
            table += [{"question": one["question"], **row} for row in own]
        if not panels:
            return Absent(
                why(analysis, "quadrants", "the study has no quadrants")
                + "; "
                + why(analysis, "intent_confusion", "no intents to confuse")
            )
        caption = "Share of the stimuli of each intent by the answer given most often." + _hits(
            rows(analysis, "intent_confusion")[0].get("hit_rate")
        )
        return Chart("heatmap", "Intended and perceived category", caption, panels, table)


def _hits(hit: Any) -> str:
    return (
        f" {interval(hit, 2)} of all fall where they were meant to."
        if isinstance(hit, Mapping) and hit.get("value") is not None
        else ""
    )


def _panel(
    found: Mapping[str, Any], title: str, short: Callable[[str], str], said: Callable[[str], str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    names = [str(name) for name in found.get("rows") or found["labels"]]
    others = [str(name) for name in found.get("columns") or found["labels"]]
    kept = [j for j, _ in enumerate(others) if j < len(names) or any(line[j] for line in found["counts"])]
    cells, table = [], []
    for name, counts, shares in zip(names, found["counts"], found["proportions"], strict=True):
        line = []
        for j in kept:
            share = shares[j]
            line.append(
                {
                    "value": share,
                    "text": "–" if share is None else f"{100 * share:.0f}%",
                    "words": f"intended: {said(name)}\nperceived: {said(others[j])}\n{counts[j]} stimuli"
                    + ("" if share is None else f", {100 * share:.1f}% of the row"),
                }
            )
            table.append({"intended": name, "perceived": others[j], "stimuli": counts[j], "share": share})
        cells.append(line)
    panel = {
        "title": title,
        "rows": [short(name) for name in names],
        "columns": [short(others[j]) for j in kept],
        "cells": cells,
        "row_label": "intended",
        "column_label": "perceived",
        "low": 0.0,
        "high": 1.0,
        "square": len(names) <= 8,
    }
    return panel, table


FIGURES.add(Confusion.name, Confusion())
