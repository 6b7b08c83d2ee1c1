from .generator import (
    GENERATORS,
    BatchGenerator,
    GeneratorFacts,
    GeneratorKind,
    GeneratorOutOfMemory,
    GeneratorSettings,
    Licence,
)

__all__ = [
    "GENERATORS",
    "BatchGenerator",
    "GeneratorFacts",
    "GeneratorKind",
    "GeneratorOutOfMemory",
    "GeneratorSettings",
    "Licence",
]
