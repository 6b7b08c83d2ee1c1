"""The form of a figure: what it is called, what it shows, and the chart it makes of an analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from heartfelt.registry import Registry
from heartfelt.report.chart import Absent, Chart
from heartfelt.report.reading import Analysis

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Figure:
    """One figure of a report. ``name`` is also the name of its files."""

    name: ClassVar[str]
    about: ClassVar[str]

    def chart(self, analysis: Analysis) -> Chart | Absent:
        """What the figure shows of ``analysis``, or why it shows nothing."""
        raise NotImplementedError

    def draw(self, analysis: Analysis) -> Drawing | None:
        """The figure for print; None where the study has no such data (``chart`` says why)."""
        from heartfelt.report.prints.paint import paint

        made = self.chart(analysis)
        return None if isinstance(made, Absent) else paint(made)


FIGURES: Registry[Figure] = Registry("figure")
