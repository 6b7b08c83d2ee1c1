"""Training: heads on frozen embeddings, chosen on inner folds only, with an honest evaluation."""

from heartfelt.training.heads.evaluating import Evaluation, ProtocolScore, evaluate
from heartfelt.training.heads.material import RECIPES, TrainingRecipe, TrainingStimuli, gather
from heartfelt.training.heads.training import Trained, TrainOptions, train

__all__ = [
    "RECIPES",
    "Evaluation",
    "ProtocolScore",
    "TrainOptions",
    "Trained",
    "TrainingRecipe",
    "TrainingStimuli",
    "evaluate",
    "gather",
    "train",
]
