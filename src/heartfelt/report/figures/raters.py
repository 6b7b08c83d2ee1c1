"""Every rater: how far the answers go with what was played, and how much higher or lower they are than others'."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import polars as pl

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import FLAGGED, PLAIN
from heartfelt.report.reading import Analysis, inside
from heartfelt.report.words import number, plural
from heartfelt.screening.rule import error_controlled_flags

INFORMATION, BIAS = "informativeness", "bias"
MOST_RATERS = 3000
LEGEND = [
    {"label": "flagged", "colour": FLAGGED, "shape": "diamond"},
    {"label": "not flagged", "colour": PLAIN, "shape": "circle"},
]


class Raters(Figure):
    """Information against bias, flagged raters marked, parallel answers linked."""

    name: ClassVar[str] = "raters"
    about: ClassVar[str] = (
        "information in each rater's answers against their bias; flagged raters marked, parallel answers linked"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One point per rater the rules could judge."""
        flags = analysis.panel.flags
        known = (
            _mean(flags, INFORMATION, "information")
            .join(_mean(flags, BIAS, "bias"), on="rater")
            .sort("rater")
        )
        if not known.height:
            return Absent(
                "no rater has enough ratings shared with others to be judged by information and bias"
            )
        reasons = _reasons(flags)
        groups = [[str(name) for name in group] for group in inside(analysis, "screening", "collusion") or []]
        points = [_point(row, reasons.get(row["rater"], [])) for row in known.iter_rows(named=True)]
        shown = sorted(points, key=lambda point: bool(point["flagged"]))[-MOST_RATERS:]
        panel = {
            "title": "",
            "points": shown,
            "links": _links(shown, groups),
            "x": _axis("information (correlation with what others say)", [p["x"] for p in shown]),
            "y": _axis("bias (scale points)", [p["y"] for p in shown]),
        }
        caption = (
            "One point per rater. Information is the mean correlation of the answers with predictions from everybody"
            " else's; bias the mean difference to the others about the same stimuli. Lines join raters whose answer"
            " sequences run in parallel."
        )
        if len(shown) < len(points):
            caption += f" {number(len(shown))} of {number(len(points))} raters are drawn, all flagged ones among them."
        group_of = {name: place for place, group in enumerate(groups, 1) for name in group}
        table = [
            {
                "rater": point["label"],
                "information": point["x"],
                "bias": point["y"],
                "flagged": point["flagged"],
                "group": group_of.get(point["label"]),
            }
            for point in points
        ]
        return Chart("plane", "Raters", caption, [panel], table, LEGEND)


def _mean(flags: pl.DataFrame, rule: str, name: str) -> pl.DataFrame:
    """What a rule measured of each rater, over questions."""
    judged = pl.col("rater").is_not_null() & pl.col("value").is_not_null()
    mine = flags.filter((pl.col("rule") == rule) & judged)
    return mine.group_by("rater").agg(pl.mean("value").alias(name), pl.sum("n").alias(f"n_{name}"))


def _reasons(flags: pl.DataFrame) -> dict[str, list[str]]:
    """The rules with error control that flag each rater; the others report a standard or a habit, not a fault."""
    found = error_controlled_flags(flags)
    table = found.group_by("rater", maintain_order=True).agg(pl.col("rule").unique(maintain_order=True))
    return dict(table.iter_rows())


def _axis(label: str, values: Sequence[float]) -> dict[str, Any]:
    return axis(label, [*values, 0.0]) | {"lines": [0.0]}


def _links(points: Sequence[dict[str, Any]], groups: Sequence[Sequence[str]]) -> list[list[int]]:
    place = {point["label"]: i for i, point in enumerate(points)}
    return [[place[a], place[b]] for group in groups for a, b in pairwise(group) if a in place and b in place]


def _point(row: dict[str, Any], rules: Sequence[str]) -> dict[str, Any]:
    words = f"{row['rater']}\ninformation {number(row['information'], 2)}, bias {number(row['bias'], 2)}"
    words += f"\n{plural(row['n_information'], 'rating')}"
    return {
        "x": round(row["information"], 4),
        "y": round(row["bias"], 4),
        "label": row["rater"],
        "colour": LEGEND[0 if rules else 1]["colour"],
        "shape": LEGEND[0 if rules else 1]["shape"],
        "flagged": bool(rules),
        "words": words + (f"\nflagged by {', '.join(rules)}" if rules else ""),
    }


FIGURES.add(Raters.name, Raters())
