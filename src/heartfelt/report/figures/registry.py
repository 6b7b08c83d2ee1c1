"""The figures of an analysis by name. A figure is a function from an analysis to a chart, or to the reason there is none.

Their titles and captions are in ``texts.toml``, where a line break counts as a space.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TypeAlias

from heartfelt.analysis import Analysis
from heartfelt.registry import Registry
from heartfelt.report.charts import Absent, Chart

ChartOf: TypeAlias = Callable[[Analysis], Chart | Absent]
TEXTS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    resources.files("heartfelt.report.figures").joinpath("texts.toml").read_text("utf-8")
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a report. ``name`` is also the name of its files."""

    name: str
    about: str
    chart: ChartOf


FIGURES: Registry[Figure] = Registry("figure")


def figure(name: str) -> Callable[[ChartOf], ChartOf]:
    """Register a function as the figure of a name."""

    def register(chart: ChartOf) -> ChartOf:
        FIGURES.add(name, Figure(name, TEXTS[name]["about"], chart))
        return chart

    return register


def chart_texts(name: str, more: str = "", *, absent: str = "", **values: object) -> tuple[str, str, str]:
    """The title and the caption of a figure, ``more`` at its end, and why it is absent where there is nothing to draw."""
    texts = TEXTS[name]
    caption = texts["caption"].replace("\n", " ").format(**values)
    return texts["title"], caption + more, absent or texts["absent"]
