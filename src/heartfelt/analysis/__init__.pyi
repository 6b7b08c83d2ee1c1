from .options import AnalyzeOptions
from .run import analyze
from .summary import Analysis, Summary

__all__ = ["Analysis", "AnalyzeOptions", "Summary", "analyze"]
