"""Reports: figures for print, and pages that open offline.

Everything is loaded on first use: the process that draws needs none of the pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartfelt.on_demand import on_demand

if TYPE_CHECKING:
    from heartfelt.report.analysis import write_analysis
    from heartfelt.report.bench.write import write_bench
    from heartfelt.report.conveyance import write_conveyance
    from heartfelt.report.figures import FIGURES
    from heartfelt.report.leaderboard import write_leaderboard
    from heartfelt.report.overview import write_overview
    from heartfelt.report.plotting import plot
    from heartfelt.report.training import write_evaluation

__all__ = [
    "FIGURES",
    "plot",
    "write_analysis",
    "write_bench",
    "write_conveyance",
    "write_evaluation",
    "write_leaderboard",
    "write_overview",
]

__getattr__ = on_demand(
    __name__,
    {
        "analysis": ("write_analysis",),
        "bench.write": ("write_bench",),
        "conveyance": ("write_conveyance",),
        "figures": ("FIGURES",),
        "leaderboard": ("write_leaderboard",),
        "overview": ("write_overview",),
        "plotting": ("plot",),
        "training": ("write_evaluation",),
    },
)
