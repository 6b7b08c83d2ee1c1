"""How often each answer was given, per question."""

from __future__ import annotations

from typing import ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.tallies import tally
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, questions
from heartfelt.report.words import number

MOST_PANELS = 9


class Distributions(Figure):
    """Histograms of the answers."""

    name: ClassVar[str] = "answers"
    about: ClassVar[str] = "how often each answer was given, one histogram per question"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        panels, table = [], []
        asked = questions(analysis)
        for place, question in enumerate(asked):
            found = tally(analysis, question)
            if found is None:
                continue
            counts, total = found.counts[None], sum(found.counts[None])
            bars = [
                {"label": label, "value": 100 * count / total, "colour": COLOURS[place % len(COLOURS)],
                 "words": f"{question}: {label}\n{number(count)} ratings, {100 * count / total:.1f}%"}
                for label, count in zip(found.labels, counts, strict=True)
            ] if total else []
            table += [{"question": question, "answer": label, "ratings": count} for label, count in zip(found.labels, counts, strict=True)]
            panels.append({"title": question, "x": {"label": "answer"}, "bars": bars})
        panels = [panel for panel in panels if panel["bars"]]
        if not panels:
            return Absent("no question has single ratings with a number")
        height = axis("share of ratings (%)", [bar["value"] for panel in panels for bar in panel["bars"]], include=[0.0])
        caption = "How often each answer was given."
        if len(panels) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(panels)} questions."
        return Chart("columns", "Answers", caption, [{**panel, "y": height} for panel in panels[:MOST_PANELS]], table)


FIGURES.add(Distributions.name, Distributions())
