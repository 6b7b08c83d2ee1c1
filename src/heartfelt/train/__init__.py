"""Training: heads on frozen embeddings, chosen on inner folds only, with an honest evaluation."""

from heartfelt.train.evaluating import Evaluation, evaluate
from heartfelt.train.material import Material, gather
from heartfelt.train.recipes import RECIPES, Recipe
from heartfelt.train.training import Trained, TrainOptions, train

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
