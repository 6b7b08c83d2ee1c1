from .metrics import METRICS
from .options import ItemSelection, ScoreOptions
from .scorer import score
from .scores import ModelInfo, Scores
from .truth import Truth, tasks_of, truth_of

__all__ = ["METRICS", "ItemSelection", "ModelInfo", "ScoreOptions", "Scores", "Truth", "score", "tasks_of", "truth_of"]
