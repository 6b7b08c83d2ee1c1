"""Headline figures with all raters and without those the default policy would leave out."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import FLAGGED, PLAIN
from heartfelt.report.reading import Analysis, bounds_of, inside, rows, value_of, why
from heartfelt.report.words import coefficient, interval, plain

MOST_ROWS = 40
UNITS = {"share": "coefficient or share", "points": "scale points", "f": "F"}


class Sensitivity(Figure):
    """What screening would change."""

    name: ClassVar[str] = "sensitivity"
    about: ClassVar[str] = "every headline figure with all raters and without those the default policy would leave out"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per unit."""
        found = [row for row in rows(analysis, "sensitivity") if value_of(row.get("with_all")) is not None and value_of(row.get("without")) is not None]
        if not found:
            return Absent(why(analysis, "sensitivity", "the default policy leaves nobody out, so there is nothing to compare"))
        panels = []
        for unit, label in UNITS.items():
            mine = [_row(row) for row in found if _unit(row) == unit][:MOST_ROWS]
            if not mine:
                continue
            numbers = [side[k] for row in mine for side in (row["before"], row["after"]) for k in ("value", "low", "high")]
            panels.append({"title": label, "value": axis(label, numbers), "rows": mine})
        left_out = inside(analysis, "screening", "dropped_by_default") or []
        caption = (
            f"Headline figures with all raters and without the {len(left_out)} the default policy would leave out, with 95% intervals."
        )
        legend = [{"label": "all raters", "colour": PLAIN, "shape": "circle"}, {"label": "without them", "colour": FLAGGED, "shape": "diamond"}]
        table = [
            {"figure": row.get("figure"), "question": row.get("question"),
             **{f"{side}{part}": number for side in ("with_all", "without") for part, number in _numbers(row[side])}}
            for row in found
        ]
        return Chart("dumbbell", "With and without the raters in question", caption, panels, table, legend)


def _unit(row: dict[str, Any]) -> str:
    name = str(row.get("figure")).casefold()
    if name.endswith(" f") or name.startswith("f ") or name == "f" or name.endswith("_f") or "anova f" in name:
        return "f"
    if "mean" in name or "deviation" in name or "rmse" in name or "bias" in name:
        return "points" if "eta" not in name else "share"
    return "share"


def _row(row: dict[str, Any]) -> dict[str, Any]:
    name = coefficient(str(row.get("figure")))
    label = f"{name}, {row['question']}" if row.get("question") else name
    sides = {}
    for key, side in (("before", "with_all"), ("after", "without")):
        low, high = bounds_of(row[side])
        sides[key] = {"value": value_of(row[side]), "low": low, "high": high}
    words = f"{label}\nall raters: {_say(row['with_all'])}\nwithout: {_say(row['without'])}"
    return {"label": label, **sides, "words": words}


def _say(found: Any) -> str:
    return interval(found if isinstance(found, dict) else {"value": value_of(found)})


def _numbers(found: Any) -> list[tuple[str, float | None]]:
    low, high = bounds_of(found)
    return [("", value_of(found)), ("_low", low), ("_high", high)]


FIGURES.add(Sensitivity.name, Sensitivity())
