"""Scores: how good predictions are, with intervals, ceilings, comparisons and everything that failed."""

from heartfelt.scoring.metrics import FAILURES, METRICS, MetricFacts
from heartfelt.scoring.options import ScoreOptions, Selection
from heartfelt.scoring.score import score
from heartfelt.scoring.scores import Comparison, ModelInfo, Rank, Score, Scores, Slice, SystemComparison
from heartfelt.scoring.tasks import Task, tasks_of
from heartfelt.scoring.truth import Truth, truth_of

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
