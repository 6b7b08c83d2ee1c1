"""Experiments on training: ablation, mixing, transfer, learning curves and sweeps, resumable and without leaks."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
