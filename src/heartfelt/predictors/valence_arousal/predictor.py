"""The shipped head as a predictor of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import ClassVar

from heartfelt.predictors.predictor import PREDICTORS
from heartfelt.predictors.trained.model import TrainedModel, load_trained
from heartfelt.predictors.trained.predictor import TrainedPredictor

SHIPPED = Path(__file__).parent / "shipped"


@cache
def shipped() -> TrainedModel:
    """The head that comes with heartfelt; its card is ``docs/valence-arousal.md``."""
    return load_trained(SHIPPED)


class ValenceArousal(TrainedPredictor):
    """Valence and arousal of music by the shipped head."""

    name: ClassVar[str] = "valence-arousal"
    about: ClassVar[str] = (
        "valence and arousal of music: the head shipped with heartfelt, trained on AImoclips"
    )
    argument: ClassVar[str] = ""

    @classmethod
    def make(cls, argument: str = "", options: Mapping[str, str] | None = None) -> ValenceArousal:
        """There is nothing to set."""
        del argument, options
        return cls(shipped())

    @classmethod
    def example(cls, folder: Path) -> str:
        """There is nothing to write."""
        del folder
        return ""


PREDICTORS.add(ValenceArousal.name, ValenceArousal)
