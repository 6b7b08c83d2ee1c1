"""Stimuli: intents and prompts, generators run by ``make.yaml`` with provenance, and preparing media for raters."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
