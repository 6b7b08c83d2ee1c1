"""Static sites that open offline: a benchmark with its models and stimuli, and a viewer of what models answered."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
