"""Mustango (Melechovsky et al. 2023) as a kind of generator of heartfelt: ``generator: mustango`` in ``make.yaml``."""

from heartfelt_mustango.checkpoint import MUSTANGO

__all__ = ["MUSTANGO"]
