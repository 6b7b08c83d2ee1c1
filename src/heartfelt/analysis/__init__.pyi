from .analyze import analyze
from .options import AnalyzeOptions
from .summary import Analysis, Summary

__all__ = ["Analysis", "AnalyzeOptions", "Summary", "analyze"]
