"""What lies behind the scores of a task: decisions, confusion, calibration, intervals, vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heartfelt.stats.comparison.judges.position import PositionBias
from heartfelt.stats.comparison.predicted.recalibration import ChoiceCalibration
from heartfelt.stats.estimate import Estimate
from heartfelt.stats.prediction.association import Confusion
from heartfelt.stats.prediction.probability import Calibration
from heartfelt.stats.texts.text import Lexical


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


@dataclass(frozen=True, slots=True)
class ChoiceDetails:
    """Behind the scores of predicted choices: what decided them, calibration, and position bias where both orders were judged."""

    decided_by: str
    choice_calibration: ChoiceCalibration | NoCalibration
    position_bias: PositionBias | None
    always_first: Estimate
    """How often raters chose the stimulus that was presented first: the accuracy of saying so every time."""


@dataclass(frozen=True, slots=True)
class TraceDetails:
    """Behind the scores of predicted traces."""

    lag: float | None
    """Seconds by which the raters' course follows the prediction, one figure for all stimuli; None where it is not timed."""
    scored: int
    """Stimuli whose course was compared."""


ModelDetails = (
    BinaryDetails | NumberDetails | TextDetails | CategoryDetails | ChoiceDetails | TraceDetails | OrdinalDetails
)


@dataclass(frozen=True, slots=True)
class TaskDetails:
    """Details of every model on a task, the score that one more rater reaches, and the ceiling of categories under a
    smooth family of vote distributions.
    """

    models: Mapping[str, ModelDetails]
    one_rater: Estimate
    smooth_ceiling: Estimate | None = field(default=None, metadata={"omit": True})
