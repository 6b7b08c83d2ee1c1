"""Mean absolute deviation of every system in every quadrant: the interaction one rank per system hides."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, inside, questions, system_names, value_of
from heartfelt.report.words import interval, number


class DeviationByCell(Figure):
    """Which system comes closest, quadrant by quadrant."""

    name: ClassVar[str] = "absolute-deviation-by-system-and-quadrant"
    about: ClassVar[str] = "mean absolute deviation of every system in every quadrant"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question: systems in rows, quadrants in columns."""
        found = inside(analysis, "quadrants", "by_system_quadrant") or []
        look, names = quadrant_look(analysis.snapshot.study), system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            mine = {(str(r["system"]), str(r["quadrant"])): r for r in found if r.get("question") == question}
            known = {key: r for key, r in mine.items() if value_of(r.get("absolute_deviation")) is not None}
            systems = list(dict.fromkeys(system for system, _ in known))
            groups = [name for name in look.names if any(group == name for _, group in known)]
            if len(systems) < 2 or len(groups) < 2:
                continue
            cells = []
            for system in systems:
                line = []
                for group in groups:
                    row = known.get((system, group))
                    value = None if row is None else value_of(row["absolute_deviation"])
                    words = f"{names.get(system, system)}, {look.said(group)}\n"
                    if row is not None:
                        words += f"absolute deviation {interval(row['absolute_deviation'], 2)}\nsigned {interval(row.get('deviation'), 2)}\n{row.get('n_stimuli')} stimuli"
                        table.append(
                            {
                                "question": question,
                                "system": system,
                                "quadrant": group,
                                "absolute_deviation": value,
                                "low": row["absolute_deviation"].get("low"),
                                "high": row["absolute_deviation"].get("high"),
                                "deviation": value_of(row.get("deviation")),
                            }
                        )
                    line.append({"value": value, "text": number(value, 1), "words": words})
                cells.append(line)
            panels.append(
                {
                    "title": f"({'abcdefgh'[len(panels) % 8]}) {question}",
                    "rows": [names.get(s, s) for s in systems],
                    "columns": [look.abbreviated(g) for g in groups],
                    "cells": cells,
                    "row_label": "",
                    "column_label": "intended quadrant",
                    "low": 0.0,
                    "high": max(value_of(r["absolute_deviation"]) or 0.0 for r in known.values()),
                    "square": False,
                }
            )
        if not panels:
            return Absent("there are no two systems and two quadrants with references")
        caption = (
            "Mean absolute deviation from the reference in scale points, of every system in every quadrant;"
            " paler is closer to what was intended."
        )
        return Chart("heatmap", "Absolute deviation by system and quadrant", caption, panels, table)


FIGURES.add(DeviationByCell.name, DeviationByCell())
