"""Reports: figures for print, and pages a person opens offline and reads with pleasure."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartfelt.report.analysis import write_analysis
    from heartfelt.report.figures import FIGURES
    from heartfelt.report.overview import write_overview

__all__ = ["FIGURES", "write_analysis", "write_overview"]

_HOMES = {
    "FIGURES": "heartfelt.report.figures",
    "write_analysis": "heartfelt.report.analysis",
    "write_overview": "heartfelt.report.overview",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is first asked for: the process that draws needs none of it."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'heartfelt.report' has no attribute '{name}'")
