"""Reliability of a mean against the number of raters behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from heartfelt.report.chart import Absent, Chart
from heartfelt.report.figures.figure import FIGURES, Figure
from heartfelt.report.palette import COLOURS
from heartfelt.report.reading import Analysis, bounds_of, inside, trust_parts, value_of
from heartfelt.report.words import number

TARGETS = (0.8, 0.9)
MOST_RATERS = 40
MOST_CURVES = 8
MOST_BANDS = 3


class ReliabilityCurve(Figure):
    """What more raters would buy."""

    name: ClassVar[str] = "reliability-by-raters"
    about: ClassVar[str] = "how reliable the mean of k raters is, with the usual targets of .8 and .9"

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """One curve per question."""
        parts = trust_parts(analysis)
        asked = [q for q, part in parts.items() if _known(part.get("reliability_with"))]
        if not asked:
            return Absent("the reliability of a single rater could not be estimated")
        shown = asked[:MOST_CURVES]
        last = _last(analysis, [parts[q] for q in shown])
        series, rows = [], []
        for place, question in enumerate(shown):
            points = _points(parts[question]["reliability_with"], last)
            series.append(
                {
                    "label": question,
                    "colour": COLOURS[place % len(COLOURS)],
                    "points": [{**p, "words": _words(question, p)} for p in points],
                }
            )
            needed = parts[question].get("raters_needed") or {}
            rows += [
                {
                    "question": question,
                    "raters": p["x"],
                    "reliability": p["y"],
                    "low": p["low"],
                    "high": p["high"],
                }
                for p in points
            ]
            series[-1]["needed"] = [
                {
                    "x": int(n),
                    "y": float(target),
                    "words": f"{question}: {n} raters for a reliability of {target}",
                }
                for target, n in needed.items()
                if n is not None and float(target) in TARGETS and int(n) <= last
            ]
        have = _mean_raters(analysis)
        panel = {
            "title": "",
            "series": series,
            "banded": len(series) <= MOST_BANDS,
            "x": {"label": "raters per item", "low": 1, "high": last, "ticks": _ticks(last)},
            "y": {
                "label": "reliability of their mean",
                "low": 0.0,
                "high": 1.0,
                "ticks": [0, 0.2, 0.4, 0.6, 0.8, 1.0],
            },
            "lines": [{"at": target, "label": f"{target:g}"} for target in TARGETS],
            "here": None if have is None else {"at": have, "label": "this study"},
        }
        bands = ", with 95% intervals" if len(series) <= MOST_BANDS else ""
        caption = f"Reliability of the mean of k raters{bands}; dots where a curve reaches .8 and .9."
        if len(asked) > len(shown):
            caption += f" The first {len(shown)} of {len(asked)} questions."
        return Chart("curve", "Reliability and number of raters", caption, [panel], rows)


def _known(grown: Any) -> bool:
    return isinstance(grown, Mapping) and any(value_of(found) is not None for found in grown.values())


def _grown(single: float, raters: int) -> float:
    """The reliability of the mean of ``raters`` raters by Spearman and Brown."""
    return raters * single / (1 + (raters - 1) * single)


def _points(grown: Mapping[str, Any], last: int) -> list[dict[str, Any]]:
    """The curve at every number of raters where the given points lie on one; else the given points alone."""
    given = {int(k): found for k, found in grown.items() if value_of(found) is not None}
    single = value_of(given.get(1))
    smooth = (
        single is not None
        and 0 < single < 1
        and all(abs(_grown(single, k) - float(value_of(found) or 0.0)) < 0.005 for k, found in given.items())
    )
    if not smooth or single is None:
        return [
            {"x": k, "y": value_of(found), "low": bounds_of(found)[0], "high": bounds_of(found)[1]}
            for k, found in sorted(given.items())
            if k <= last
        ]
    bounds = [None if b is None or not 0 <= b <= 1 else b for b in bounds_of(given[1])]
    return [
        {
            "x": k,
            "y": _grown(single, k),
            **{
                side: None if b is None else _grown(b, k)
                for side, b in zip(("low", "high"), bounds, strict=True)
            },
        }
        for k in range(1, last + 1)
    ]


def _words(question: str, point: Mapping[str, Any]) -> str:
    bounds = "" if point["low"] is None else f" [{number(point['low'], 2)}, {number(point['high'], 2)}]"
    return f"{question}\n{point['x']} raters: {number(point['y'], 2)}{bounds}"


def _last(analysis: Analysis, parts: list[dict[str, Any]]) -> int:
    needed = [
        int(n)
        for part in parts
        for target, n in (part.get("raters_needed") or {}).items()
        if n is not None and float(target) in TARGETS
    ]
    have = _mean_raters(analysis) or 0.0
    return int(min(MOST_RATERS, max([10, *(n + 2 for n in needed), 2 * have])))


def _mean_raters(analysis: Analysis) -> float | None:
    found = inside(analysis, "counts", "ratings_per_item") or {}
    items = sum(int(count) for count in found.values())
    return sum(int(n) * int(count) for n, count in found.items()) / items if items else None


def _ticks(last: int) -> list[int]:
    step = 2 if last <= 12 else 5 if last <= 30 else 10
    return [1, *range(step, last + 1, step)]


FIGURES.add(ReliabilityCurve.name, ReliabilityCurve())
