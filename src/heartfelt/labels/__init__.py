"""Labels: the panel's estimate for every item, with its uncertainty and counts; benchmarks frozen from them."""

from heartfelt.labels.benchmark import Benchmark, freeze, load_benchmark
from heartfelt.labels.labelling import LABELS, METHODS, LabelOptions, Labels, first_answers, labels
from heartfelt.labels.splits import SplitOptions
from heartfelt.labels.vote_buckets import Buckets, buckets

__all__ = [
    "LABELS",
    "METHODS",
    "Benchmark",
    "Buckets",
    "LabelOptions",
    "Labels",
    "SplitOptions",
    "buckets",
    "first_answers",
    "freeze",
    "labels",
    "load_benchmark",
]
