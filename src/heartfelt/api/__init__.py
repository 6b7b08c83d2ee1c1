"""The functions of a notebook: each takes a snapshot, a panel, a path or a table, and returns a typed result.

``heartfelt.screen``, ``label``, ``analyze``, ``bench``, ``predict``, ``train``, ``publish`` and ``plot`` are these;
``Snapshot`` has them as methods. ``heartfelt.plan`` comes before there are ratings, and takes a study folder. Options are plain
keywords here; what packages outside notebooks use are the options objects behind them.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
