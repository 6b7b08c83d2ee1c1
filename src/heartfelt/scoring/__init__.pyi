from .ground_truth.truth import Truth, tasks_of, truth_of
from .options import ItemSelection, ScoreOptions
from .results.metrics import METRICS
from .results.scores import ModelInfo, Scores
from .scorer import score

__all__ = ["METRICS", "ItemSelection", "ModelInfo", "ScoreOptions", "Scores", "Truth", "score", "tasks_of", "truth_of"]
