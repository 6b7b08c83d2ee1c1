"""Training: heads on frozen embeddings, chosen on inner folds only, with an honest evaluation."""

from heartfelt.training.evaluating import Evaluation, evaluate
from heartfelt.training.material import Material, gather
from heartfelt.training.recipes import RECIPES, Recipe
from heartfelt.training.training import Trained, TrainOptions, train

__all__ = [
    "RECIPES",
    "Evaluation",
    "Material",
    "Recipe",
    "TrainOptions",
    "Trained",
    "evaluate",
    "gather",
    "train",
]
