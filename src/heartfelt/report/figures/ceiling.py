"""The best correlation or accuracy that anything can be expected to reach on these labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import panel_of, row_of
from heartfelt.report.palette import COLOURS, PLAIN, SOFT
from heartfelt.report.reading import Analysis, system_names, trust_parts, value_of

MOST_PANELS = 6
MOST_SYSTEMS = 40
TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1.0]


class Ceiling(Figure):
    """The ceiling overall, per system and within cells, beside what bare cell means and one rater reach."""

    name: ClassVar[str] = "ceiling"
    about: ClassVar[str] = (
        "the highest correlation or accuracy a predictor can be expected to reach, and what bare cell means reach"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        names = system_names(analysis)
        for question, part in trust_parts(analysis).items():
            found = part.get("ceiling")
            made = _bars(found, names) if isinstance(found, Mapping) else []
            if not made:
                continue
            table += [
                {
                    "question": question,
                    "what": r["label"],
                    "value": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                }
                for r in made
            ]
            value = {"label": f"highest {_metric(found)} to expect", "low": 0.0, "high": 1.0, "ticks": TICKS}
            panels.append(panel_of(question, made, value, bars=True))
        if not panels:
            return Absent("the ceiling could not be estimated for any question")
        caption = (
            "The highest score any predictor can be expected to reach against these labels, with 95% intervals: over"
            " all stimuli, within each system, and within cells of system and intent. In grey, what is reached: by bare"
            " cell means, which know only system and intent, and by one rater against the others."
        )
        if len(panels) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(panels)} questions."
        return Chart("intervals", "Ceiling", caption, panels[:MOST_PANELS], table)


def _metric(found: Mapping[str, Any] | None) -> str:
    found = found or {}
    named = str(found.get("metric") or "correlation")
    return named if value_of(found.get(named)) is not None else "correlation"


def _bars(found: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    metric = _metric(found)
    entries = [("all stimuli", found.get(metric), PLAIN)]
    by_system = found.get("by_system")
    if isinstance(by_system, Mapping) and len(by_system) <= MOST_SYSTEMS:
        keys = sorted(by_system, key=lambda key: names.get(key, key).casefold())
        entries += [(names.get(key, key), by_system[key], COLOURS[5]) for key in keys]
    human = found.get("human") if metric == "correlation" else found.get("accuracy_human")
    entries += [
        ("within cells", found.get("within_cells"), COLOURS[2]),
        ("bare cell means", found.get("cell_means"), SOFT),
        ("one rater", human, SOFT),
    ]
    return [
        row_of(label, estimate, colour)
        for label, estimate, colour in entries
        if value_of(estimate) is not None
    ]


FIGURES.add(Ceiling.name, Ceiling())
