"""What lies behind the scores of a task: decisions, confusion, calibration, intervals, vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heartfelt.stats.association import Confusion
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.probability import Calibration
from heartfelt.stats.text import Lexical


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCalibration:
    """Why a model has no calibration."""

    value: None = None
    why_missing: str


@dataclass(frozen=True, slots=True)
class BinaryDetails:
    """Behind the scores of a yes-or-no task: how decisions were made, their confusion, and calibration."""

    decided_by: str
    held_out_thresholds: tuple[float, ...]
    confusion: Confusion
    calibration: Calibration | NoCalibration


@dataclass(frozen=True, slots=True)
class IntervalFacts:
    """The confidence at which a model's own intervals were scored, where it came from, and how many there were."""

    confidence: float
    confidence_from: str
    items_with_interval: int


@dataclass(frozen=True, slots=True)
class NumberDetails:
    """Behind the scores of a question answered with numbers."""

    mean_prediction: float | None
    intervals: IntervalFacts | None = field(default=None, metadata={"omit": True})


@dataclass(frozen=True, slots=True)
class TextDetails:
    """The vocabulary of the model's texts and of the raters' texts."""

    lexical: Lexical
    lexical_of_people: Lexical


@dataclass(frozen=True, slots=True)
class CategoryDetails:
    """The confusion of a task with unordered categories."""

    confusion: Confusion


@dataclass(frozen=True, slots=True)
class OrdinalDetails:
    """Degrees have no further details."""


ModelDetails = BinaryDetails | NumberDetails | TextDetails | CategoryDetails | OrdinalDetails


@dataclass(frozen=True, slots=True)
class TaskDetails:
    """Details of every model on a task, and the score that one more rater reaches."""

    models: Mapping[str, ModelDetails]
    one_rater: Estimate
