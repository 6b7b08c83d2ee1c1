from .gathering import gather_data
from .options import FineTuneOptions
from .recipe import FINE_TUNE_RECIPES, FineTuneRecipe, is_fine_tuning, recipe_named, recipe_names, settings_of
from .running import FineTuned, fine_tune
from .settings import FineTuneSettings
from .stimuli.data import FineTuneTarget, TrainingData
from .task import Batch, Example, FineTuneTask, OnnxExport, QuestionOutput, Tensors

__all__ = [
    "FINE_TUNE_RECIPES",
    "Batch",
    "Example",
    "FineTuneOptions",
    "FineTuneRecipe",
    "FineTuneSettings",
    "FineTuneTarget",
    "FineTuneTask",
    "FineTuned",
    "OnnxExport",
    "QuestionOutput",
    "Tensors",
    "TrainingData",
    "fine_tune",
    "gather_data",
    "is_fine_tuning",
    "recipe_named",
    "recipe_names",
    "settings_of",
]
