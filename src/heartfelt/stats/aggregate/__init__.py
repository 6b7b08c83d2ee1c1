"""Labels from ratings: one number or category per item with its uncertainty, and what was learnt of the
raters."""

from heartfelt.stats.aggregate.bt500 import bt500
from heartfelt.stats.aggregate.dawid_skene import dawid_skene
from heartfelt.stats.aggregate.mean import mean
from heartfelt.stats.aggregate.median import median
from heartfelt.stats.aggregate.mode import mode
from heartfelt.stats.aggregate.p910 import p910
from heartfelt.stats.aggregate.p913 import p913
from heartfelt.stats.aggregate.result import Aggregate, Consensus

__all__ = ["Aggregate", "Consensus", "bt500", "dawid_skene", "mean", "median", "mode", "p910", "p913"]
