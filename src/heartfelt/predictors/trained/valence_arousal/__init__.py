"""Valence and arousal of music, offline: a head trained on real ratings of AI-generated music, shipped with heartfelt.

Its card is ``docs/valence-arousal.md``; ``heartfelt.predict(files)`` asks it about files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from heartfelt.predictors.predictor import PREDICTORS
from heartfelt.predictors.trained.model import TrainedModel, load_trained
from heartfelt.predictors.trained.predictor import TrainedPredictor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartfelt.predictors.trained.valence_arousal.earlier import FilePrediction
    from heartfelt.progress import Progress

SHIPPED = Path(__file__).parent / "shipped"


@cache
def shipped() -> TrainedModel:
    return load_trained(SHIPPED)


@PREDICTORS.register("valence-arousal")
class ValenceArousal(TrainedPredictor):
    """Valence and arousal of music by the shipped head."""

    name = "valence-arousal"
    extra = "predict"
    about = "valence and arousal of music: the head shipped with heartfelt"
    argument = ""

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> ValenceArousal:
        del argument, options
        return cls(shipped())


def predict(
    files: Iterable[Path | str], *, model: TrainedModel | None = None, progress: Progress | None = None
) -> list[FilePrediction]:
    """The former spelling of ``heartfelt.predict(files)``; it will be removed in 0.9."""
    from heartfelt.predictors.trained.valence_arousal.earlier import predict as run

    words = "heartfelt.predictors.trained.valence_arousal.predict will be removed in 0.9; use heartfelt.predict(files)."
    warnings.warn(words, DeprecationWarning, stacklevel=2)
    return run(files, model=model, progress=progress)
