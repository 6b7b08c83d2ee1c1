"""Mean absolute deviation per quadrant of the intents with intervals and significance marks."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.deviation_by_system import STARS
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import brackets, lettered, numbers, panel_of, row_of
from heartfelt.report.quadrants import QuadrantLook, quadrant_look
from heartfelt.report.reading import Analysis, inside, questions, value_of


class AbsoluteDeviation(Figure):
    """Which intents are conveyed best."""

    name: ClassVar[str] = "absolute-deviation-by-quadrant"
    about: ClassVar[str] = (
        "mean absolute deviation per quadrant with 95% intervals and the three smallest significant differences"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question with references."""
        look = quadrant_look(analysis.snapshot.study)
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for question in questions(analysis):
            known = _known(analysis, question, look)
            if not known:
                continue
            labels = [look.abbreviated(key) for key in known]
            made = [
                row_of(label, found, look.colour(key), look.said(key))
                for label, (key, found) in zip(labels, known.items(), strict=True)
            ]
            marks = brackets(
                analysis, list(known), labels, outcome=question, deviation="absolute", factor="quadrant"
            )
            value = axis(f"absolute {question} deviation", numbers(made), include=[0.0])
            panels.append(panel_of(lettered(len(panels), question), made, value, brackets=marks))
            table += [
                {
                    "question": question,
                    "quadrant": key,
                    "absolute_deviation": row["value"],
                    "low": row["low"],
                    "high": row["high"],
                }
                for key, row in zip(known, made, strict=True)
            ]
        if not panels:
            return Absent("the intents have no quadrants with references")
        caption = (
            f"Mean absolute deviation from the reference per quadrant of the intents{_key(look)}, with 95%"
            f" intervals. {STARS}"
        )
        return Chart("intervals", "Absolute deviation by quadrant", caption, panels, table)


def _known(analysis: Analysis, question: str, look: QuadrantLook) -> dict[str, Any]:
    """The absolute deviation of each quadrant, in the order of the quadrants."""
    found = {
        str(row["quadrant"]): row.get("absolute_deviation")
        for row in inside(analysis, "quadrants", "by_quadrant") or []
        if row.get("question") == question and value_of(row.get("absolute_deviation")) is not None
    }
    order = [
        *(name for name in look.names if name in found),
        *(name for name in found if name not in look.names),
    ]
    return {name: found[name] for name in order}


def _key(look: QuadrantLook) -> str:
    """What the short names stand for."""
    short = [
        f"{look.abbreviated(name)} {look.said(name)}"
        for name in look.names
        if look.abbreviated(name) != look.said(name)
    ]
    return f" ({'; '.join(short)})" if short else ""


FIGURES.add(AbsoluteDeviation.name, AbsoluteDeviation())
