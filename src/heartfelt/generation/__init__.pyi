from .forecast import Forecast, forecast_make
from .generator import (
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
from .make_file import MakePlan, load_make
from .making import make_study
from .result import MakeOptions, Making

__all__ = [
    "GENERATORS",
    "BatchGenerator",
    "CannotGenerate",
    "Forecast",
    "GeneratorFacts",
    "GeneratorKind",
    "GeneratorOutOfMemory",
    "GeneratorSettings",
    "Licence",
    "MakeOptions",
    "MakePlan",
    "Making",
    "NoStimulus",
    "forecast_make",
    "load_make",
    "make_study",
]
