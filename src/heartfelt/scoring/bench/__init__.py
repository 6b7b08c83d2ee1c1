"""A benchmark of predictors: ask every model about everything that was rated, and score the answers."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
