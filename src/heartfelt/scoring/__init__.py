"""Scores: how good predictions are, with intervals, ceilings, comparisons and everything that failed."""

from heartfelt.scoring.metrics import FAILURES, METRICS, MetricInfo
from heartfelt.scoring.options import ScoreOptions, Selection
from heartfelt.scoring.score import score
from heartfelt.scoring.scores import (
    BinaryDetails,
    CategoryDetails,
    Comparison,
    Coverage,
    ModelInfo,
    NumberDetails,
    OrdinalDetails,
    Rank,
    Score,
    Scores,
    Slice,
    SystemComparison,
    Task,
    TaskDetails,
    TextDetails,
)
from heartfelt.scoring.truth import Truth, tasks_of, truth_of

__all__ = [
    "FAILURES",
    "METRICS",
    "BinaryDetails",
    "CategoryDetails",
    "Comparison",
    "Coverage",
    "MetricInfo",
    "ModelInfo",
    "NumberDetails",
    "OrdinalDetails",
    "Rank",
    "Score",
    "ScoreOptions",
    "Scores",
    "Selection",
    "Slice",
    "SystemComparison",
    "Task",
    "TaskDetails",
    "TextDetails",
    "Truth",
    "score",
    "tasks_of",
    "truth_of",
]
