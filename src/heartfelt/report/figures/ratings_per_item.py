"""How many ratings each item has."""

from __future__ import annotations

from typing import ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import PLAIN
from heartfelt.report.reading import Analysis, inside
from heartfelt.report.words import number

MOST_BARS = 40


class RatingsPerItem(Figure):
    """Ratings per item, as a histogram."""

    name: ClassVar[str] = "ratings-per-item"
    about: ClassVar[str] = "how many items have how many ratings"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One column per number of ratings; equal ranges where there are very many."""
        found = inside(analysis, "counts", "ratings_per_item") or {}
        counts = {int(n): int(items) for n, items in found.items()}
        total = sum(counts.values())
        if not total:
            return Absent("no item has a rating")
        what = "stimuli" if total == inside(analysis, "counts", "rated") else "items"
        columns = _columns(counts)
        bars = [
            {
                "label": label,
                "value": items,
                "colour": PLAIN,
                "words": f"{number(items)} {what} with {label} ratings\n{100 * items / total:.1f}% of {number(total)}",
            }
            for label, items in columns
        ]
        mean = sum(n * items for n, items in counts.items()) / total
        panel = {
            "title": "",
            "x": {"label": "ratings"},
            "y": axis(f"number of {what}", [items for _, items in columns], include=[0]),
            "bars": bars,
        }
        one = "stimulus" if what == "stimuli" else "item"
        caption = f"Number of ratings per {one}; mean {number(mean, 2)}, {number(total)} {what}."
        rows = [{"ratings": label, what: items} for label, items in columns]
        return Chart("columns", "Ratings per item", caption, [panel], rows)


def _columns(counts: dict[int, int]) -> list[tuple[str, int]]:
    low, high = min(counts), max(counts)
    width = -(-(high - low + 1) // MOST_BARS)
    if width == 1:
        return [(str(n), counts.get(n, 0)) for n in range(low, high + 1)]
    return [
        (f"{start}–{start + width - 1}", sum(counts.get(n, 0) for n in range(start, start + width)))
        for start in range(low, high + 1, width)
    ]


FIGURES.add(RatingsPerItem.name, RatingsPerItem())
