"""The best correlation that anything can be expected to reach on these labels."""

from __future__ import annotations

from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import estimate_row
from heartfelt.report.palette import COLOURS, PLAIN, SOFT
from heartfelt.report.reading import Analysis, bounds_of, system_names, trust_parts, value_of

MOST_PANELS = 6


class Ceiling(Figure):
    """The ceiling overall, per system and within cells, beside what bare cell means achieve."""

    name: ClassVar[str] = "ceiling"
    about: ClassVar[str] = (
        "the highest correlation or accuracy a predictor can be expected to reach, and what bare cell means reach"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One panel per question."""
        panels: list[dict[str, Any]] = []
        rows: list[dict[str, Any]] = []
        for question, part in trust_parts(analysis).items():
            found = part.get("ceiling")
            made = _bars(analysis, found) if isinstance(found, dict) else []
            if not any(row["value"] is not None for row in made):
                continue
            rows += [
                {"question": question, "what": row["label"], **{k: row[k] for k in ("value", "low", "high")}}
                for row in made
            ]
            measure = "accuracy" if value_of(found.get("correlation")) is None else "correlation"
            panels.append(
                {
                    "title": question,
                    "bars": True,
                    "rows": made,
                    "brackets": [],
                    "lines": [],
                    "value": {
                        "label": f"highest {measure} to expect",
                        "low": 0.0,
                        "high": 1.0,
                        "ticks": [0, 0.2, 0.4, 0.6, 0.8, 1.0],
                    },
                }
            )
        if not panels:
            return Absent("the ceiling could not be estimated for any question")
        caption = (
            "The highest correlation any predictor can be expected to reach against these labels, with 95% intervals:"
            " over all stimuli, within each system, and within cells of system and intent. In grey, what is reached: by bare"
            " cell means, which know only system and intent, and by one rater against the mean of the others."
        )
        if len(panels) > MOST_PANELS:
            caption += f" The first {MOST_PANELS} of {len(panels)} questions."
        return Chart("intervals", "Ceiling", caption, panels[:MOST_PANELS], rows)


def _bars(analysis: Analysis, found: dict[str, Any]) -> list[dict[str, Any]]:
    names = system_names(analysis)
    overall = (
        found.get("correlation") if value_of(found.get("correlation")) is not None else found.get("accuracy")
    )
    entries = [("all stimuli", overall, PLAIN)]
    by_system = found.get("by_system")
    order = list(names)
    if isinstance(by_system, dict):
        keys = sorted(by_system, key=lambda key: order.index(key) if key in order else len(order))
        entries += [(names.get(key, key), by_system[key], COLOURS[5]) for key in keys]
    entries += [
        ("within cells", found.get("within_cells"), COLOURS[2]),
        ("bare cell means", found.get("cell_means"), SOFT),
    ]
    entries += [("one rater", found.get("human"), SOFT)]
    made = []
    for label, estimate, colour in entries:
        if value_of(estimate) is not None:
            low, high = bounds_of(estimate)
            made.append(estimate_row(label, value_of(estimate), low, high, colour))
    return made


FIGURES.add(Ceiling.name, Ceiling())
