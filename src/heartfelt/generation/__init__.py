"""Generating stimuli with models, services and tools: ``make.yaml`` in, files with provenance out. Loaded on first use."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
