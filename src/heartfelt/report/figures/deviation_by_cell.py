"""Mean absolute deviation of every system in every quadrant: the interaction one rank per system hides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import lettered
from heartfelt.report.quadrants import QuadrantLook, quadrant_look
from heartfelt.report.reading import Analysis, bounds_of, inside, questions, system_names, value_of
from heartfelt.report.words import interval, number

Cells = dict[tuple[str, str], Mapping[str, Any]]


class DeviationByCell(Figure):
    """Which system comes closest, quadrant by quadrant."""

    name: ClassVar[str] = "absolute-deviation-by-system-and-quadrant"
    about: ClassVar[str] = "mean absolute deviation of every system in every quadrant"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question: systems in rows, quadrants in columns."""
        look, names = quadrant_look(analysis.snapshot.study), system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            known = _known(analysis, question)
            systems = list(dict.fromkeys(system for system, _ in known))
            groups = [name for name in look.names if any(group == name for _, group in known)]
            if len(systems) < 2 or len(groups) < 2:
                continue
            panels.append(
                {
                    "title": lettered(len(panels), question),
                    "rows": [names.get(system, system) for system in systems],
                    "columns": [look.abbreviated(group) for group in groups],
                    "cells": [[_cell(known, s, g, names, look) for g in groups] for s in systems],
                    "row_label": "",
                    "column_label": "intended quadrant",
                    "low": 0.0,
                    "high": max(value_of(row["absolute_deviation"]) or 0.0 for row in known.values()),
                    "square": False,
                }
            )
            table += [_row(question, key, row) for key, row in known.items()]
        if not panels:
            return Absent("there are no two systems and two quadrants with references")
        caption = (
            "Mean absolute deviation from the reference in scale points, of every system in every quadrant; paler is"
            " closer to what was intended."
        )
        return Chart("heatmap", "Absolute deviation by system and quadrant", caption, panels, table)


def _known(analysis: Analysis, question: str) -> Cells:
    found = inside(analysis, "quadrants", "by_system_quadrant") or []
    return {
        (str(row["system"]), str(row["quadrant"])): row
        for row in found
        if row.get("question") == question and value_of(row.get("absolute_deviation")) is not None
    }


def _cell(
    known: Cells, system: str, group: str, names: Mapping[str, str], look: QuadrantLook
) -> dict[str, Any]:
    row = known.get((system, group))
    words = f"{names.get(system, system)}, {look.said(group)}\n"
    if row is None:
        return {"value": None, "text": "–", "words": f"{words}no stimuli"}
    value = value_of(row["absolute_deviation"])
    words += f"absolute deviation {interval(row['absolute_deviation'], 2)}\n"
    words += f"signed {interval(row.get('deviation'), 2)}\n{row.get('n_stimuli')} stimuli"
    return {"value": value, "text": number(value, 1), "words": words}


def _row(question: str, key: tuple[str, str], row: Mapping[str, Any]) -> dict[str, Any]:
    low, high = bounds_of(row["absolute_deviation"])
    return {
        "question": question,
        "system": key[0],
        "quadrant": key[1],
        "absolute_deviation": value_of(row["absolute_deviation"]),
        "low": low,
        "high": high,
        "deviation": value_of(row.get("deviation")),
    }


FIGURES.add(DeviationByCell.name, DeviationByCell())
