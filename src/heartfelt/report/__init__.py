"""Reports: figures for print, and pages that open offline.

Everything is loaded on first use: the process that draws needs none of the pages.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
