"""From a snapshot to every number of its report: reliability, ceilings, effects, systems, and a verdict in words."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
