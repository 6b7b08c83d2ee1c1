"""Numbers over arrays: agreement, reliability, aggregation, inference. Knows nothing of studies.

Every function takes parallel columns (NumPy, Polars, pandas or lists; ids of any hashable kind) and gives an
:class:`Estimate` or a small frozen result. Functions are loaded when they are first asked for.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
