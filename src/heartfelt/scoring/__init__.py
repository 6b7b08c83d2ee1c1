"""Scores: how good predictions are, with intervals, ceilings, comparisons and everything that failed."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
