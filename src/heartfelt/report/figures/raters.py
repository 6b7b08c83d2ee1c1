"""Every rater: how far the answers go with what was played, and how much higher or lower they are than others'."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import polars as pl

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import FLAGGED, INK, PLAIN
from heartfelt.report.reading import Analysis, inside
from heartfelt.report.words import number

INFORMATION, BIAS = "informativeness", "bias"
MOST_RATERS = 3000


class Raters(Figure):
    """Information against bias, flagged raters marked, near copies linked."""

    name: ClassVar[str] = "raters"
    about: ClassVar[str] = (
        "information in each rater's answers against their bias; flagged raters marked, near copies linked"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One point per rater the rules could judge."""
        flags = analysis.panel.flags
        table = (
            _table(flags, INFORMATION, "information")
            .join(_table(flags, BIAS, "bias"), on="rater")
            .sort("rater")
        )
        if not table.height:
            return Absent(
                "no rater has enough ratings shared with others to be judged by information and bias"
            )
        reasons: dict[str, list[str]] = inside(analysis, "screening", "flagged") or {}
        groups = [[str(name) for name in group] for group in inside(analysis, "screening", "collusion") or []]
        points = [_point(row, reasons.get(row["rater"], [])) for row in table.iter_rows(named=True)]
        points.sort(key=lambda point: point["flagged"])
        shown = points[-MOST_RATERS:]
        place = {point["label"]: i for i, point in enumerate(shown)}
        links = [
            [place[a], place[b]] for group in groups for a, b in pairwise(group) if a in place and b in place
        ]
        panel = {
            "title": "",
            "points": shown,
            "links": links,
            "arrows": False,
            "equal": False,
            "named": False,
            "x": axis("information (correlation with what others say)", [p["x"] for p in shown] + [0.0])
            | {"lines": [0.0]},
            "y": axis("bias (scale points)", [p["y"] for p in shown] + [0.0]) | {"lines": [0.0]},
        }
        legend = [
            {"label": "flagged", "colour": FLAGGED, "shape": "diamond"},
            {"label": "not flagged", "colour": PLAIN, "shape": "circle"},
        ]
        caption = (
            "One point per rater. Information is the mean correlation of the answers with predictions from everybody else's; bias the"
            " mean difference to the others about the same stimuli. Lines join raters whose answer sequences run in parallel."
        )
        if len(shown) < len(points):
            caption += f" {number(len(shown))} of {number(len(points))} raters are drawn, all flagged ones among them."
        rows = [
            {
                "rater": p["label"],
                "information": p["x"],
                "bias": p["y"],
                "flagged": p["flagged"],
                "group": next((i for i, group in enumerate(groups, 1) if p["label"] in group), None),
            }
            for p in sorted(points, key=lambda point: str(point["label"]))
        ]
        return Chart("plane", "Raters", caption, [panel], rows, legend)


def _table(flags: pl.DataFrame, rule: str, name: str) -> pl.DataFrame:
    mine = flags.filter(
        (pl.col("rule") == rule) & pl.col("rater").is_not_null() & pl.col("value").is_not_null()
    )
    return mine.group_by("rater").agg(pl.mean("value").alias(name), pl.sum("n").alias(f"n_{name}"))


def _point(row: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    rules = sorted({reason.split(":")[0] for reason in reasons if ":" in reason} - {BIAS})
    flagged = bool(rules or (reasons and not any(":" in reason for reason in reasons)))
    words = f"{row['rater']}\ninformation {number(row['information'], 2)}, bias {number(row['bias'], 2)}\n{row['n_information']} ratings"
    return {
        "x": round(row["information"], 4),
        "y": round(row["bias"], 4),
        "xl": None,
        "xh": None,
        "yl": None,
        "yh": None,
        "label": row["rater"],
        "colour": FLAGGED if flagged else PLAIN,
        "shape": "diamond" if flagged else "circle",
        "flagged": flagged,
        "edge": INK if flagged else None,
        "words": words + (f"\nflagged by {', '.join(rules)}" if rules else ""),
    }


FIGURES.add(Raters.name, Raters())
