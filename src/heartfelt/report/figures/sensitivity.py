"""Headline figures with all raters and without those the default policy would leave out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import FLAGGED, PLAIN
from heartfelt.report.reading import Analysis, bounds_of, inside, rows, system_names, value_of, why
from heartfelt.report.words import coefficient, effect, interval, plural

MOST_ROWS = 24
PLANNED = {("signed", "system"), ("absolute", "quadrant"), ("value", "system")}
RELIABILITY = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "icc1k", "ceiling", "quadrant hit rate")
UNITS = {
    "reliability": "coefficient",
    "slope": "slope",
    "deviation": "signed deviation",
    "mean": "mean",
    "eta": "η²",
    "F": "F",
}


class Sensitivity(Figure):
    """What screening would change."""

    name: ClassVar[str] = "sensitivity"
    about: ClassVar[str] = (
        "headline figures with all raters and without those the default policy would leave out"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per unit; every figure is in the table behind it."""
        left_out = inside(analysis, "screening", "dropped_by_default") or []
        if not left_out:
            return Absent("the default policy leaves nobody out, so there is nothing to compare")
        found = rows(analysis, "sensitivity")
        known = [
            row
            for row in found
            if value_of(row.get("with_all")) is not None and value_of(row.get("without")) is not None
        ]
        if not known:
            return Absent(why(analysis, "sensitivity", "there are no figures to compare"))
        names = system_names(analysis) | {"all": "all systems"}
        sorted_out: dict[str, list[dict[str, Any]]] = {unit: [] for unit in UNITS}
        for row in known:
            unit, label = _place(row, names)
            if unit is not None:
                sorted_out[unit].append(_row(row, label))
        if sorted_out["deviation"]:
            sorted_out["mean"] = []
        panels = []
        for unit, mine in sorted_out.items():
            if mine:
                numbers = [
                    side[k]
                    for row in mine[:MOST_ROWS]
                    for side in (row["before"], row["after"])
                    for k in ("value", "low", "high")
                ]
                panels.append(
                    {"title": TITLES[unit], "value": axis(UNITS[unit], numbers), "rows": mine[:MOST_ROWS]}
                )
        caption = (
            f"Headline figures with all raters and without the {plural(len(left_out), 'rater')} the default policy"
            " would leave out, with 95% intervals."
        )
        legend = [
            {"label": "all raters", "colour": PLAIN, "shape": "circle"},
            {"label": "without them", "colour": FLAGGED, "shape": "diamond"},
        ]
        table = [
            {
                "figure": row.get("figure"),
                "question": row.get("question"),
                **{
                    f"{side}{part}": number
                    for side in ("with_all", "without")
                    for part, number in _numbers(row[side])
                },
            }
            for row in found
        ]
        return Chart("dumbbell", "With and without the raters in question", caption, panels, table, legend)


TITLES = {
    "reliability": "Reliability",
    "slope": "Slopes",
    "deviation": "Deviations",
    "mean": "Means",
    "eta": "Effect sizes",
    "F": "Tests",
}


def _place(row: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str | None, str]:
    """Which panel a figure belongs to, if any, and what it is called there."""
    figure, question, of, model = str(row.get("figure")), row.get("question"), row.get("of"), row.get("model")
    after = f", {question}" if question else ""
    if model:
        outcome, _, terms = str(model).partition(" ~ ")
        planned = "*" not in terms and (outcome, of) in PLANNED
        if not (planned or ":" in str(of)):
            return None, ""
        about = "mean" if outcome == "value" else outcome
        return ("F" if figure.startswith("F ") else "eta"), f"{effect(str(of))}: {about} {question}"
    if figure in RELIABILITY:
        return "reliability", (
            "Hits of the quadrant" if figure == "quadrant hit rate" else coefficient(figure)
        ) + after
    for words, unit in (("slope of", "slope"), ("signed deviation of", "deviation"), ("mean of", "mean")):
        if figure.startswith(words):
            return unit, names.get(str(of), str(of)) + after
    return None, ""


def _row(row: Mapping[str, Any], label: str) -> dict[str, Any]:
    sides = {}
    for key, side in (("before", "with_all"), ("after", "without")):
        low, high = bounds_of(row[side])
        sides[key] = {"value": value_of(row[side]), "low": low, "high": high}
    return {
        "label": label,
        **sides,
        "words": f"{label}\nall raters: {_say(row['with_all'])}\nwithout: {_say(row['without'])}",
    }


def _say(found: Any) -> str:
    return interval(found if isinstance(found, Mapping) else {"value": value_of(found)})


def _numbers(found: Any) -> list[tuple[str, float | None]]:
    low, high = bounds_of(found)
    return [("", value_of(found)), ("_low", low), ("_high", high)]


FIGURES.add(Sensitivity.name, Sensitivity())
