from .data import Target, TrainingData, gather_data
from .options import FineTuneOptions
from .recipe import (
    FINE_TUNE_RECIPES,
    FineTuneRecipe,
    Settings,
    is_fine_tuning,
    recipe_named,
    recipe_names,
    settings_of,
)
from .running import FineTuned, fine_tune
from .task import Batch, Example, OnnxExport, Output, Task, Tensors

__all__ = [
    "FINE_TUNE_RECIPES",
    "Batch",
    "Example",
    "FineTuneOptions",
    "FineTuneRecipe",
    "FineTuned",
    "OnnxExport",
    "Output",
    "Settings",
    "Target",
    "Task",
    "Tensors",
    "TrainingData",
    "fine_tune",
    "gather_data",
    "is_fine_tuning",
    "recipe_named",
    "recipe_names",
    "settings_of",
]
