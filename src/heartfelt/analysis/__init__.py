"""From a snapshot to every number of its report: reliability, ceilings, effects, systems, and a verdict in words."""

from heartfelt.analysis.analysis import Analysis
from heartfelt.analysis.analyze import analyze
from heartfelt.analysis.options import AnalyzeOptions

__all__ = ["Analysis", "AnalyzeOptions", "analyze"]
