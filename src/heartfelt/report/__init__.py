"""Reports: figures for print, and pages a person opens offline and reads with pleasure.

Loaded when first asked for: the process that draws needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.report.analysis import write_analysis
    from heartfelt.report.figures import FIGURES
    from heartfelt.report.overview import write_overview

__all__ = ["FIGURES", "write_analysis", "write_overview"]

__getattr__ = on_demand(
    __name__,
    {"analysis": ("write_analysis",), "figures": ("FIGURES",), "overview": ("write_overview",)},
)
