"""How often each answer was given, per question."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.tallies import ALL, Tally, tallies
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
        found = [one for one in tallies(analysis) if sum(one.counts.get(ALL, [])) > 0]
        if not found:
            return Absent(why(analysis, "distributions", "there are no single ratings"))
        bars = [_bars(one, COLOURS[place % len(COLOURS)]) for place, one in enumerate(found[:MOST_PANELS])]
        height = axis("share of ratings (%)", [bar["value"] for own in bars for bar in own], include=[0.0])
        panels = [
            {"title": one.question, "x": {"label": "answer"}, "y": height, "bars": own}
            for one, own in zip(found, bars, strict=False)
        ]
        table = [
            {"question": one.question, "answer": label, "ratings": count}
            for one in found
            for label, count in zip(one.labels, one.counts[ALL], strict=True)
        ]
        caption = "How often each answer was given."
        if len(found) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(found)} questions."
        return Chart("columns", "Answers", caption, panels, table)


def _bars(found: Tally, colour: str) -> list[dict[str, Any]]:
    counts = found.counts[ALL]
    total = sum(counts)
    return [
        {
            "label": label,
            "value": 100 * count / total,
            "colour": colour,
            "words": f"{found.question}: {label}\n{number(count)} ratings, {100 * count / total:.1f}%",
        }
        for label, count in zip(found.labels, counts, strict=True)
    ]


FIGURES.add(Distributions.name, Distributions())
