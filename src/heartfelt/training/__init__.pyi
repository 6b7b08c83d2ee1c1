from .heads.evaluating import Evaluation, ProtocolScore, evaluate
from .heads.material import RECIPES, TrainingRecipe, TrainingStimuli, gather
from .heads.training import Trained, train
from .options import TrainOptions

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
