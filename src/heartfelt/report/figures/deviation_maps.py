"""Mean deviation from what was intended, per system and per quadrant, as two maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import COLOURS, SHAPES
from heartfelt.report.quadrants import quadrant_look
from heartfelt.report.reading import Analysis, bounds_of, inside, rows, system_names, value_of
from heartfelt.report.va_map import mapped_questions
from heartfelt.report.words import interval, plain


class DeviationMaps(Figure):
    """Which way systems and quadrants are off."""

    name: ClassVar[str] = "deviation-maps"
    about: ClassVar[str] = (
        "mean deviation from the reference per system (a) and per quadrant (b) in two dimensions"
    )

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """A panel of systems and one of quadrants."""
        pair = mapped_questions(analysis.snapshot)
        if pair is None:
            return Absent("the study has no two questions with reference coordinates")
        across, up = pair[0].id, pair[1].id
        names = system_names(analysis)
        systems = _both(rows(analysis, "systems"), "system", across, up)
        groups = _both(inside(analysis, "quadrants", "by_quadrant") or [], "quadrant", across, up)
        look = quadrant_look(analysis.snapshot.study)
        parts = [
            (
                "(a) systems",
                "system",
                [
                    (names.get(k, k), COLOURS[i % len(COLOURS)], SHAPES[i % 4], v)
                    for i, (k, v) in enumerate(systems.items())
                ],
            ),
            (
                "(b) quadrants",
                "quadrant",
                [
                    (look.abbreviated(k), look.colour(k), SHAPES[i % 4], v | {"said": look.said(k)})
                    for i, (k, v) in enumerate(groups.items())
                ],
            ),
        ]
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for title, what, entries in parts:
            points = [
                _point(label, colour, shape, both, across, up) for label, colour, shape, both in entries
            ]
            points = [point for point in points if point["x"] is not None and point["y"] is not None]
            if not points:
                continue
            panels.append(
                {
                    "title": title,
                    **_axes(points, across, up),
                    "points": points,
                    "links": [],
                    "arrows": True,
                    "equal": True,
                    "named": True,
                }
            )
            table += [
                {
                    "part": what,
                    "name": p["label"],
                    across: p["x"],
                    f"{across}_low": p["xl"],
                    f"{across}_high": p["xh"],
                    up: p["y"],
                    f"{up}_low": p["yl"],
                    f"{up}_high": p["yh"],
                }
                for p in points
            ]
        if not panels:
            return Absent("no deviation from a reference could be computed")
        caption = (
            f"Mean deviation of perceived from intended {plain(across)} and {plain(up)}, per system and per quadrant of the intents, with"
            " 95% intervals. The origin is what was intended."
        )
        return Chart("plane", "Deviation from what was intended", caption, panels, table)


def _both(found: list[dict[str, Any]], key: str, across: str, up: str) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for row in found:
        if row.get("question") in (across, up):
            out.setdefault(str(row[key]), {})[str(row["question"])] = row.get("deviation")
    return out


def _point(
    label: str, colour: str, shape: str, both: Mapping[str, Any], across: str, up: str
) -> dict[str, Any]:
    x, y = both.get(across), both.get(up)
    (xl, xh), (yl, yh) = bounds_of(x), bounds_of(y)
    return {
        "x": value_of(x),
        "y": value_of(y),
        "xl": xl,
        "xh": xh,
        "yl": yl,
        "yh": yh,
        "label": label,
        "colour": colour,
        "shape": shape,
        "words": f"{both.get('said', label)}\n{across} {interval(x, 2)}\n{up} {interval(y, 2)}",
    }


def _axes(points: list[dict[str, Any]], across: str, up: str) -> dict[str, Any]:
    """Both axes of one width, with the origin in view."""
    x = axis(f"{across} deviation", [p[k] for p in points for k in ("x", "xl", "xh")] + [0.0], pad=0.2)
    y = axis(f"{up} deviation", [p[k] for p in points for k in ("y", "yl", "yh")] + [0.0], pad=0.2)
    width = max(x["high"] - x["low"], y["high"] - y["low"])
    out = {}
    for key, one in (("x", x), ("y", y)):
        middle = (one["low"] + one["high"]) / 2
        out[key] = axis(one["label"], [middle - width / 2, middle + width / 2], pad=0.0) | {"lines": [0.0]}
    return out


FIGURES.add(DeviationMaps.name, DeviationMaps())
