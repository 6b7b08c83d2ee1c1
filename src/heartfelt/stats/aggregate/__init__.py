"""Labels from ratings: one number or category per item with its uncertainty, and what was learnt about the raters."""

from heartfelt.moved import with_former_names
from heartfelt.stats.aggregate.central import mean, median, mode
from heartfelt.stats.aggregate.itu_p910 import p910
from heartfelt.stats.aggregate.latent_classes import dawid_skene
from heartfelt.stats.aggregate.opinion_scores import bt500, p913
from heartfelt.stats.aggregate.result import Aggregate, CategoryConsensus

__all__ = ["Aggregate", "CategoryConsensus", "bt500", "dawid_skene", "mean", "median", "mode", "p910", "p913"]

__getattr__ = with_former_names(__name__)
