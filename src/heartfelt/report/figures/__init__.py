"""The figures of an analysis; importing this package registers them."""

from heartfelt.report.figures import answers, deviations, maps, raters, reliability, traces
from heartfelt.report.figures.registry import FIGURES, Figure, figure

__all__ = ["FIGURES", "Figure", "answers", "deviations", "figure", "maps", "raters", "reliability", "traces"]
