from .metrics import METRICS
from .options import ScoreOptions, Selection
from .scorer import score
from .scores import ModelInfo, Scores
from .truth import Truth, tasks_of, truth_of

__all__ = [
    "METRICS",
    "ModelInfo",
    "ScoreOptions",
    "Scores",
    "Selection",
    "Truth",
    "score",
    "tasks_of",
    "truth_of",
]
