"""Making stimuli: prompts, generators, and preparing media for raters. Loaded on first use."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
