"""Mean signed deviation per system with intervals and significance marks."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import brackets, lettered, numbers, panel_of, row_of
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, questions, rows, system_names, value_of
from heartfelt.report.words import plural

STARS = (
    "Of the pairs that differ significantly, the three with the smallest differences are marked"
    " (* p < .05, ** p < .01, *** p < .001; Tukey's test in the model of the analysis of variance)."
)


class DeviationBySystem(Figure):
    """How far off each system is, and in which direction."""

    name: ClassVar[str] = "deviation-by-system"
    about: ClassVar[str] = (
        "mean signed deviation per system with 95% intervals and the three smallest significant differences"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question with references."""
        names = system_names(analysis)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            known = [
                row
                for row in rows(analysis, "systems", question=question)
                if value_of(row.get("deviation")) is not None
            ]
            if not known:
                continue
            keys = [str(row["system"]) for row in known]
            labels = [names.get(key, key) for key in keys]
            colour = COLOURS[len(panels) % len(COLOURS)]
            made = [
                row_of(label, row["deviation"], colour, _note(row))
                for label, row in zip(labels, known, strict=True)
            ]
            marks = brackets(analysis, keys, labels, outcome=question, deviation="signed", factor="system")
            value = axis(f"{question} deviation", [*numbers(made), 0.0])
            lines = [{"at": 0.0, "label": ""}]
            panels.append(panel_of(lettered(len(panels), question), made, value, lines=lines, brackets=marks))
            table += [
                {
                    "question": question,
                    "system": key,
                    "deviation": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                }
                for key, r in zip(keys, made, strict=True)
            ]
        if not panels:
            return Absent("no system has a deviation from a reference")
        caption = f"Mean deviation of each system's stimuli from their intents' references, with 95% intervals. {STARS}"
        return Chart("intervals", "Deviation by system", caption, panels, table)


def _note(row: dict[str, Any]) -> str:
    return f"{plural(int(row.get('n_stimuli') or 0), 'stimulus', 'stimuli')}, {plural(int(row.get('n_ratings') or 0), 'rating')}"


FIGURES.add(DeviationBySystem.name, DeviationBySystem())
