"""How often each answer was given, per system."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.tallies import ALL, Tally, tallies
from heartfelt.report.reading import Analysis, system_names
from heartfelt.report.words import number

MOST_PANELS = 6


class DistributionsBySystem(Figure):
    """Answers of each system's stimuli, highest mean first."""

    name: ClassVar[str] = "answers-by-system"
    about: ClassVar[str] = "share of each answer per system, systems in order of their mean"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question: systems in rows, answers in columns."""
        names = system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for found in tallies(analysis)[:MOST_PANELS]:
            systems = _systems(found)
            if not systems:
                continue
            cells = [_cells(found, system, names.get(system, system)) for system in systems]
            panels.append(
                {
                    "title": found.question,
                    "rows": [names.get(system, system) for system in systems],
                    "columns": list(found.labels),
                    "cells": cells,
                    "row_label": "",
                    "column_label": "answer (% of a system's ratings)",
                    "low": 0.0,
                    "high": max(float(cell["value"]) for line in cells for cell in line),
                    "square": False,
                }
            )
            table += [
                {"question": found.question, "system": system, "answer": label, "ratings": count}
                for system in systems
                for label, count in zip(found.labels, found.counts[system], strict=True)
            ]
        if not panels:
            return Absent("the stimuli have no systems, or no single ratings were published")
        caption = "Share of each answer among the ratings of a system's stimuli, in percent; systems in order of their mean."
        return Chart("heatmap", "Answers by system", caption, panels, table)


def _systems(found: Tally) -> list[str]:
    """The systems with ratings, highest mean first."""
    known = [system for system, counts in found.counts.items() if system != ALL and sum(counts) > 0]
    return sorted(known, key=lambda system: (-found.means[system], system))


def _cells(found: Tally, system: str, name: str) -> list[dict[str, Any]]:
    counts = found.counts[system]
    total = sum(counts)
    return [
        {
            "value": count / total,
            "text": f"{100 * count / total:.0f}",
            "words": (
                f"{name}, {found.question}: {label}\n"
                f"{number(count)} of {number(total)} ratings, {100 * count / total:.1f}%"
            ),
        }
        for label, count in zip(found.labels, counts, strict=True)
    ]


FIGURES.add(DistributionsBySystem.name, DistributionsBySystem())
