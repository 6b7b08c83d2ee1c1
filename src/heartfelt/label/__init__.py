"""Labels: the panel's estimate for every item, with its uncertainty and counts."""

from heartfelt.label.answers import first_answers
from heartfelt.label.labels import LABELS, METHODS, LabelOptions, Labels, labels

__all__ = ["LABELS", "METHODS", "LabelOptions", "Labels", "first_answers", "labels"]
