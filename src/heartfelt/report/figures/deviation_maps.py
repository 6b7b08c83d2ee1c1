"""Mean deviation from what was intended, per system and per quadrant, as two maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart, axis
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.figures.rows import lettered
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
        panels: list[dict[str, Any]] = []
        table: list[dict[str, Any]] = []
        for title, points in (
            ("systems", _systems(analysis, across, up)),
            ("quadrants", _quadrants(analysis, across, up)),
        ):
            known = [point for point in points if point["x"] is not None and point["y"] is not None]
            if known:
                look = {"links": [], "arrows": True, "equal": True, "named": True}
                axes = _axes(known, across, up)
                panels.append({"title": lettered(len(panels), title), **axes, "points": known, **look})
                table += [_row(title, point, across, up) for point in known]
        if not panels:
            return Absent("no deviation from a reference could be computed")
        caption = (
            f"Mean deviation of perceived from intended {plain(across)} and {plain(up)}, per system and per quadrant of"
            " the intents, with 95% intervals. The origin is what was intended."
        )
        return Chart("plane", "Deviation from what was intended", caption, panels, table)


def _systems(analysis: Analysis, across: str, up: str) -> list[dict[str, Any]]:
    names = system_names(analysis)
    found = _both(rows(analysis, "systems"), "system", across, up)
    return [
        _point((names.get(key, key), COLOURS[place % len(COLOURS)], SHAPES[place % 4]), both, across, up)
        for place, (key, both) in enumerate(found.items())
    ]


def _quadrants(analysis: Analysis, across: str, up: str) -> list[dict[str, Any]]:
    look = quadrant_look(analysis.snapshot.study)
    found = _both(inside(analysis, "quadrants", "by_quadrant") or [], "quadrant", across, up)
    return [
        _point((look.abbreviated(key), look.colour(key), SHAPES[place % 4]), both, across, up, look.said(key))
        for place, (key, both) in enumerate(found.items())
    ]


def _both(found: list[dict[str, Any]], key: str, across: str, up: str) -> dict[str, dict[str, Any]]:
    """The deviation on both axes, by the name under ``key``."""
    out: dict[str, dict[str, Any]] = {}
    for row in found:
        if row.get("question") in (across, up):
            out.setdefault(str(row[key]), {})[str(row["question"])] = row.get("deviation")
    return out


def _row(part: str, point: Mapping[str, Any], across: str, up: str) -> dict[str, Any]:
    named = {"part": part, "name": point["label"]}
    first = {across: point["x"], f"{across}_low": point["xl"], f"{across}_high": point["xh"]}
    return {**named, **first, up: point["y"], f"{up}_low": point["yl"], f"{up}_high": point["yh"]}


def _point(
    look: tuple[str, str, str], both: Mapping[str, Any], across: str, up: str, said: str = ""
) -> dict[str, Any]:
    """A point that looks as ``look`` says: label, colour and shape."""
    label, colour, shape = look
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
        "words": f"{said or label}\n{across} {interval(x, 2)}\n{up} {interval(y, 2)}",
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
