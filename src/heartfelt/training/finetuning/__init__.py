"""Fine-tuning: whole models trained on ratings with Accelerate, by recipe."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
