"""A bench: predictors asked and scored, with a page of leaderboard, ceilings, scatter, misses, calibration and slices."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
