"""Slopes of perceived on intended: 1 conveys differences in full, 0 not at all."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import lettered, numbers, panel_of, row_of
from heartfelt.report.palette import COLOURS, INK
from heartfelt.report.reading import Analysis, questions, rows, system_names, value_of
from heartfelt.report.words import interval

LINES = [{"at": 1.0, "label": "as intended"}, {"at": 0.0, "label": "no relation"}]


class Slopes(Figure):
    """How far each system pulls towards neutral."""

    name: ClassVar[str] = "slopes"
    about: ClassVar[str] = (
        "slope of perceived on intended per system: below 1 the stimuli are more neutral than was asked for"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question with references."""
        names = system_names(analysis) | {"all": "all systems"}
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            known = [
                row
                for row in rows(analysis, "slopes", question=question)
                if value_of(row.get("slope")) is not None
            ]
            if not known:
                continue
            colour = COLOURS[len(panels) % len(COLOURS)]
            made = [
                row_of(
                    names.get(str(row["system"]), str(row["system"])),
                    row["slope"],
                    INK if row["system"] == "all" else colour,
                    f"intercept {interval(row.get('intercept'), 2)}",
                )
                for row in known
            ]
            value = axis("slope", [*numbers(made), 0.0, 1.0])
            panels.append(panel_of(lettered(len(panels), question), made, value, lines=LINES))
            table += [
                {
                    "question": question,
                    "system": row["system"],
                    "slope": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                }
                for row, r in zip(known, made, strict=True)
            ]
        if not panels:
            return Absent("no slope of perceived on intended could be fitted")
        caption = (
            "Slope of perceived on intended values with 95% intervals. At 1, differences between intents come across"
            " in full; below 1, stimuli are perceived as more neutral than was asked for; at 0, intents make no"
            " difference."
        )
        return Chart("intervals", "Slopes of perceived on intended", caption, panels, table)


FIGURES.add(Slopes.name, Slopes())
