"""Scores: how good predictions are, with intervals, ceilings, comparisons and everything that failed."""

from heartfelt.scoring.metrics import METRICS
from heartfelt.scoring.options import ScoreOptions, Selection
from heartfelt.scoring.score import score
from heartfelt.scoring.scores import ModelInfo, Scores
from heartfelt.scoring.truth import Truth, tasks_of, truth_of

__all__ = [
    "METRICS", "ModelInfo", "ScoreOptions", "Scores", "Selection", "Truth", "score", "tasks_of", "truth_of",
]  # fmt: skip
