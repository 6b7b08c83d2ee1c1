"""Training: heads on frozen embeddings, chosen on inner folds only, with an honest evaluation."""

from heartfelt.training.heads.evaluating import Evaluation, Score, evaluate
from heartfelt.training.heads.material import RECIPES, Material, Recipe, gather
from heartfelt.training.heads.training import Trained, TrainOptions, train

__all__ = [
    "RECIPES",
    "Evaluation",
    "Material",
    "Recipe",
    "Score",
    "TrainOptions",
    "Trained",
    "evaluate",
    "gather",
    "train",
]
