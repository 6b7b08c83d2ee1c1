"""The figures of an analysis by name. A figure is a function from an analysis to a chart, or to the reason there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from heartfelt.analysis import Analysis
from heartfelt.registry import Registry
from heartfelt.report.charts import Absent, Chart

ChartOf: TypeAlias = Callable[[Analysis], Chart | Absent]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report. ``name`` is also the name of its files."""

    name: str
    about: str
    chart: ChartOf


FIGURES: Registry[Figure] = Registry("figure")


def figure(name: str, about: str) -> Callable[[ChartOf], ChartOf]:

    def register(chart: ChartOf) -> ChartOf:
        FIGURES.add(name, Figure(name, about, chart))
        return chart

    return register
