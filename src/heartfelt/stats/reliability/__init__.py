"""How far ratings can be trusted: variance components, intraclass correlations, split halves, raters needed."""

from heartfelt.stats.reliability.components import VarianceComponents, variance_components
from heartfelt.stats.reliability.icc import Icc, icc
from heartfelt.stats.reliability.spearman_brown import raters_needed, reliability_with
from heartfelt.stats.reliability.split_half import split_half

__all__ = [
    "Icc", "VarianceComponents", "icc", "raters_needed", "reliability_with", "split_half",
    "variance_components",
]  # fmt: skip
