"""Predictors: what a model predicts of a stimulus, asked of any model, with every failure recorded as a row."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
