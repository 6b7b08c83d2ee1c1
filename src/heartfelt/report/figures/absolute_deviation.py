"""Mean absolute deviation per quadrant of the intents with intervals and significance marks."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.deviation_by_system import STARS
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import brackets, row_of
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, inside, questions, value_of


class AbsoluteDeviation(Figure):
    """Which intents are conveyed best."""

    name: ClassVar[str] = "absolute-deviation-by-quadrant"
    about: ClassVar[str] = (
        "mean absolute deviation per quadrant with 95% intervals and the three smallest significant differences"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question with references."""
        found = inside(analysis, "quadrants", "by_quadrant") or []
        look = quadrant_look(analysis.snapshot.study)
        order = list(look.names)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            mine = [
                row
                for row in found
                if row.get("question") == question and value_of(row.get("absolute_deviation")) is not None
            ]
            mine.sort(
                key=lambda row: order.index(row["quadrant"]) if row["quadrant"] in order else len(order)
            )
            if not mine:
                continue
            keys = [str(row["quadrant"]) for row in mine]
            labels = [look.abbreviated(key) for key in keys]
            made = [
                row_of(label, row["absolute_deviation"], look.colour(key), look.said(key))
                for label, key, row in zip(labels, keys, mine, strict=True)
            ]
            panels.append(
                {
                    "title": f"({'abcdefgh'[len(panels) % 8]}) {question}",
                    "rows": made,
                    "bars": False,
                    "lines": [],
                    "brackets": brackets(
                        analysis, keys, labels, outcome=question, deviation="absolute", factor="quadrant"
                    ),
                    "value": axis(
                        f"absolute {question} deviation",
                        [r[k] for r in made for k in ("value", "low", "high")],
                        include=[0.0],
                    ),
                }
            )
            table += [
                {
                    "question": question,
                    "quadrant": key,
                    "absolute_deviation": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                }
                for key, r in zip(keys, made, strict=True)
            ]
        if not panels:
            return Absent("the intents have no quadrants with references")
        short = "; ".join(
            f"{look.abbreviated(name)} {look.said(name)}"
            for name in order
            if look.abbreviated(name) != look.said(name)
        )
        key = f" ({short})" if short else ""
        caption = (
            f"Mean absolute deviation from the reference per quadrant of the intents{key}, with 95% intervals. {STARS}"
        )
        return Chart("intervals", "Absolute deviation by quadrant", caption, panels, table)


FIGURES.add(AbsoluteDeviation.name, AbsoluteDeviation())
