"""From a snapshot to every number of its report: reliability, ceilings, effects, systems, and a verdict in words."""

from heartfelt.analysis.run import AnalyzeOptions, analyze
from heartfelt.analysis.summary import Analysis, Summary

__all__ = ["Analysis", "AnalyzeOptions", "Summary", "analyze"]
