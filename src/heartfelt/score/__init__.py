"""Scores: how good predictions are, with intervals, ceilings, comparisons and everything that failed."""

from heartfelt.score.metrics import FAILURES, METRICS, MetricFacts
from heartfelt.score.options import ScoreOptions, Selection
from heartfelt.score.score import score
from heartfelt.score.scores import Comparison, ModelInfo, Rank, Score, Scores, Slice, SystemComparison
from heartfelt.score.tasks import Task, tasks_of
from heartfelt.score.truth import Truth, truth_of

__all__ = [
    "FAILURES",
    "METRICS",
    "Comparison",
    "MetricFacts",
    "ModelInfo",
    "Rank",
    "Score",
    "ScoreOptions",
    "Scores",
    "Selection",
    "Slice",
    "SystemComparison",
    "Task",
    "Truth",
    "score",
    "tasks_of",
    "truth_of",
]
