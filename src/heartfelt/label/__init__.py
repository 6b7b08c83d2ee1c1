"""Labels: the panel's estimate for every item, with its uncertainty and counts; benchmarks frozen from them."""

from heartfelt.label.answers import first_answers
from heartfelt.label.benchmark import Benchmark, freeze, load_benchmark
from heartfelt.label.buckets import Buckets, buckets
from heartfelt.label.labels import LABELS, METHODS, LabelOptions, Labels, labels
from heartfelt.label.splits import SplitOptions

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
