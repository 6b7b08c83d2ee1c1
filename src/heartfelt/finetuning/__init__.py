"""Fine-tuning: whole models trained on ratings with Accelerate, by recipe."""

from heartfelt.finetuning.data import Target, TrainingData, gather_data
from heartfelt.finetuning.recipe import (
    FINE_TUNE_RECIPES,
    Batch,
    Example,
    FineTuneRecipe,
    OnnxExport,
    Output,
    Settings,
    Task,
    Tensors,
    is_fine_tuning,
    recipe_named,
    recipe_names,
    settings_of,
)
from heartfelt.finetuning.running import FineTuned, FineTuneOptions, fine_tune

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
