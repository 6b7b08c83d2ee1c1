"""How far ratings can be trusted: variance components, intraclass correlations, split halves, raters needed."""

from heartfelt.stats.reliability.components import VarianceComponents, variance_components
from heartfelt.stats.reliability.halves import split_half
from heartfelt.stats.reliability.intraclass import Icc, icc
from heartfelt.stats.reliability.spearman_brown import raters_needed, reliability_with

__all__ = [
    "Icc", "VarianceComponents", "icc", "raters_needed", "reliability_with", "split_half",
    "variance_components",
]  # fmt: skip
