"""The figures of an analysis; importing this package registers them."""

from heartfelt.report.figures import (
    answers,
    categories,
    comparisons,
    deviations,
    maps,
    raters,
    reliability,
    traces,
    verification,
)
from heartfelt.report.figures.registry import FIGURES, Figure, figure

__all__ = [
    "FIGURES",
    "Figure",
    "answers",
    "categories",
    "comparisons",
    "deviations",
    "figure",
    "maps",
    "raters",
    "reliability",
    "traces",
    "verification",
]
