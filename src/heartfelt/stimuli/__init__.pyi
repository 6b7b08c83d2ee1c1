from .generation.forecast import GenerationForecast, forecast_make
from .generation.make_file import MakePlan, load_make
from .generation.making import make_study
from .generation.result import MakeOptions, Making
from .generators.generator import (
    GENERATORS,
    BatchGenerator,
    CannotGenerate,
    GeneratorFacts,
    GeneratorKind,
    GeneratorOutOfMemory,
    GeneratorSettings,
    Licence,
    NoStimulus,
)
from .prompts.prompt import StimulusPrompt, prompts_for
from .synthesis.image import render_image
from .synthesis.music import render_clip

__all__ = [
    "GENERATORS",
    "BatchGenerator",
    "CannotGenerate",
    "GenerationForecast",
    "GeneratorFacts",
    "GeneratorKind",
    "GeneratorOutOfMemory",
    "GeneratorSettings",
    "Licence",
    "MakeOptions",
    "MakePlan",
    "Making",
    "NoStimulus",
    "StimulusPrompt",
    "forecast_make",
    "load_make",
    "make_study",
    "prompts_for",
    "render_clip",
    "render_image",
]
