"""Means and reliability of groups of raters."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import lettered, numbers, panel_of, row_of
from heartfelt.report.palette import COLOURS, INK
from heartfelt.report.reading import Analysis, inside, value_of, why
from heartfelt.report.words import plural

MOST_QUESTIONS = 4


class RaterGroups(Figure):
    """How groups of raters differ."""

    name: ClassVar[str] = "rater-groups"
    about: ClassVar[str] = "mean and reliability of each group of raters (--by), with 95% intervals"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """Per question a panel of means and one of reliabilities."""
        found = inside(analysis, "by")
        if not isinstance(found, dict):
            return Absent(why(analysis, "by", "no column of the raters was named (--by)"))
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        names = list(dict.fromkeys(row["question"] for row in found["rows"]))
        for question in names:
            mine = [row for row in found["rows"] if row["question"] == question]
            shown = names.index(question) < MOST_QUESTIONS
            for key, label, colour in (("mean", "mean", COLOURS[0]), ("alpha", "alpha", INK)):
                known = [row for row in mine if value_of(row[key]) is not None]
                made = [row_of(str(row["group"]), row[key], colour, _note(row)) for row in known]
                if made and shown:
                    value = axis(label, numbers(made), include=[0.0] if key == "alpha" else [])
                    title = f"{question}: {'mean' if key == 'mean' else 'Krippendorff alpha'}"
                    panels.append(panel_of(lettered(len(panels), title), made, value))
                table += [
                    {
                        "question": question,
                        "group": row["group"],
                        "figure": key,
                        "value": drawn["value"],
                        "low": drawn["low"],
                        "high": drawn["high"],
                    }
                    for row, drawn in zip(known, made, strict=True)
                ]
        if not panels:
            return Absent("no group of raters is large enough")
        caption = (
            f"Raters by {found['column']}: the mean rating and the agreement of each group, with 95% intervals that take its"
            " raters and the stimuli as samples. Groups may have rated different stimuli; the table of differences compares"
            " them on the same ones."
        )
        return Chart("intervals", "Groups of raters", caption, panels, table)


def _note(row: dict[str, Any]) -> str:
    return f"{plural(int(row['n_raters']), 'rater')}, {plural(int(row['n_ratings']), 'rating')}"


FIGURES.add(RaterGroups.name, RaterGroups())
