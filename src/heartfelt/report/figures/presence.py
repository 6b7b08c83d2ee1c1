"""Agreement between raters, question by question, where answers are categories."""

from __future__ import annotations

from typing import ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import row_of
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, inside, value_of, why
from heartfelt.report.words import coefficient, plain

SHOWN = ("alpha_ordinal", "fleiss_kappa", "exact_agreement", "leave_one_out", "gwet_ac1")
MOST_PANELS = 3
MOST_ROWS = 60


class Presence(Figure):
    """On which questions raters agree."""

    name: ClassVar[str] = "agreement"
    about: ClassVar[str] = "agreement per question (such as one emotion's presence): beyond chance, and plain"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per coefficient, questions in order of the first."""
        found = inside(analysis, "agreement")
        found = (
            {q: row for q, row in found.items() if isinstance(row, dict)} if isinstance(found, dict) else {}
        )
        measures = [
            name for name in SHOWN if any(value_of(row.get(name)) is not None for row in found.values())
        ][:MOST_PANELS]
        if not measures:
            return Absent(why(analysis, "agreement", "no question is answered in categories"))
        order = sorted(found, key=lambda q: -(value_of(found[q].get(measures[0])) or -2.0))
        shown = order if len(order) <= MOST_ROWS else [*order[: MOST_ROWS // 2], *order[-MOST_ROWS // 2 :]]
        panels = []
        for place, measure in enumerate(measures):
            made = [row_of(plain(q), found[q].get(measure), COLOURS[place]) for q in shown]
            panels.append(
                {
                    "title": coefficient(measure),
                    "rows": made,
                    "bars": False,
                    "brackets": [],
                    "lines": [{"at": 0.0, "label": ""}],
                    "value": axis(
                        "", [r[k] for r in made for k in ("value", "low", "high")] + [0.0], include=[1.0]
                    ),
                }
            )
        table = [
            {
                "question": q,
                **{f"{m}{part}": number for m in measures for part, number in _numbers(found[q].get(m))},
            }
            for q in order
        ]
        caption = "Agreement between raters on each question, with 95% intervals; an alpha or kappa of 0 is agreement by chance."
        if len(shown) < len(order):
            caption += (
                f" The {MOST_ROWS // 2} highest and the {MOST_ROWS // 2} lowest of {len(order)} questions."
            )
        return Chart("intervals", "Agreement by question", caption, panels, table)


def _numbers(estimate: object) -> list[tuple[str, float | None]]:
    found = estimate if isinstance(estimate, dict) else {}
    return [("", found.get("value")), ("_low", found.get("low")), ("_high", found.get("high"))]


FIGURES.add(Presence.name, Presence())
