"""How often each answer was given, per question."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.tallies import ALL, tallies
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, why
from heartfelt.report.words import number

MOST_PANELS = 9


class Distributions(Figure):
    """Histograms of the answers."""

    name: ClassVar[str] = "answers"
    about: ClassVar[str] = "how often each answer was given, one histogram per question"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for place, found in enumerate(tallies(analysis)):
            counts = found.counts.get(ALL, [])
            total = sum(counts)
            bars = (
                [
                    {
                        "label": label,
                        "value": 100 * count / total,
                        "colour": COLOURS[place % len(COLOURS)],
                        "words": f"{found.question}: {label}\n{number(count)} ratings, {100 * count / total:.1f}%",
                    }
                    for label, count in zip(found.labels, counts, strict=True)
                ]
                if total
                else []
            )
            table += [
                {"question": found.question, "answer": label, "ratings": count}
                for label, count in zip(found.labels, counts, strict=True)
            ]
            panels.append({"title": found.question, "x": {"label": "answer"}, "bars": bars})
        panels = [panel for panel in panels if panel["bars"]]
        if not panels:
            return Absent(why(analysis, "distributions", "there are no single ratings"))
        height = axis(
            "share of ratings (%)", [bar["value"] for panel in panels for bar in panel["bars"]], include=[0.0]
        )
        caption = "How often each answer was given."
        if len(panels) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(panels)} questions."
        return Chart(
            "columns", "Answers", caption, [{**panel, "y": height} for panel in panels[:MOST_PANELS]], table
        )


FIGURES.add(Distributions.name, Distributions())
