"""Collecting ratings: a durable store, and an assignment that wastes nobody's time."""

from lazy_loader import attach_stub

from heartfelt.moved import with_former_names

# Planning and study folders use parts of this package that need no database, so nothing is imported before it is asked for.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__getattr__ = with_former_names(__name__, __getattr__)
