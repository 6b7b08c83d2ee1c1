"""Valence and arousal of music, offline: a head trained on real ratings of AI-generated music, shipped with heartfelt.

Its card is ``docs/valence-arousal.md``; ``heartfelt.predict(files)`` asks it about files.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from heartfelt.predictors.interface.predictor import PREDICTORS
from heartfelt.predictors.trained.model import TrainedModel, load_trained
from heartfelt.predictors.trained.predictor import TrainedPredictor

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
