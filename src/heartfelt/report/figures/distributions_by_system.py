"""How often each answer was given, per system."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.tallies import ALL, tallies
from heartfelt.report.reading import Analysis, system_names
from heartfelt.report.words import number

MOST_PANELS = 6


class DistributionsBySystem(Figure):
    """Answers of each system's stimuli, best mean first."""

    name: ClassVar[str] = "answers-by-system"
    about: ClassVar[str] = "share of each answer per system, systems in order of their mean"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question: systems in rows, answers in columns."""
        names = system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for found in tallies(analysis)[:MOST_PANELS]:
            question = found.question
            systems = [key for key in found.counts if key != ALL and sum(found.counts[key])]
            if not systems:
                continue
            systems.sort(key=lambda key, means=found.means: (-means[key], key))  # type: ignore[misc]
            cells = []
            for system in systems:
                counts = found.counts[system]
                total = sum(counts)
                cells.append(
                    [
                        {
                            "value": count / total,
                            "text": f"{100 * count / total:.0f}",
                            "words": f"{names.get(system, system)}, {question}: {label}\n{number(count)} of {number(total)} ratings, {100 * count / total:.1f}%",
                        }
                        for label, count in zip(found.labels, counts, strict=True)
                    ]
                )
                table += [
                    {
                        "question": question,
                        "system": system,
                        "answer": label,
                        "ratings": count,
                        "share": count / total,
                    }
                    for label, count in zip(found.labels, counts, strict=True)
                ]
            panels.append(
                {
                    "title": question,
                    "rows": [names.get(key, key) for key in systems],
                    "columns": list(found.labels),
                    "cells": cells,
                    "row_label": "",
                    "column_label": "answer (% of a system's ratings)",
                    "low": 0.0,
                    "high": max(cell["value"] for line in cells for cell in line),
                    "square": False,
                }
            )
        if not panels:
            return Absent("the stimuli have no systems, or no single ratings were published")
        caption = "Share of each answer among the ratings of a system's stimuli, in percent; systems in order of their mean."
        return Chart("heatmap", "Answers by system", caption, panels, table)


FIGURES.add(DistributionsBySystem.name, DistributionsBySystem())
