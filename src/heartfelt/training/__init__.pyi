from .evaluating import Evaluation, Score, evaluate
from .material import RECIPES, Material, Recipe, gather
from .options import TrainOptions
from .training import Trained, train

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
