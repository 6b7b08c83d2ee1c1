"""Planning: what a study will show, take and cost, simulated through the real assignment and analysis before anyone is paid."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
