"""What a trained head's folder says of its training: where it came from, what was chosen, what was predicted out of fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """What was predicted of a training stimulus while it was left out."""

    stimulus: str
    predicted: Mapping[str, float]
    system: str | None = None
    intent: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenHead:
    """The head chosen for a question on inner folds, its setting, and each kind's error there."""

    head: str
    setting: tuple[float, ...]
    inner_error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GroupingFacts:
    """What stayed together in folds: the column (None for single stimuli), how many groups, and that in a sentence."""

    by: str | None
    groups: int
    near_duplicates: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFacts:
    """Where a model came from."""

    heartfelt: str = ""
    """The version it was trained with."""
    study: str = ""
    snapshot: str = ""
    """The snapshot's hash."""
    policy: str = ""
    panel: Mapping[str, int] = field(default_factory=dict)
    """The counts of the screening: ``raters``, ``retained``, ``ratings``, ``ratings_retained`` and more."""
    stimuli: int = 0
    left_out: int = 0
    systems: tuple[str, ...] = ()
    grouping: GroupingFacts | None = None
    split: str | None = None
    seed: int = 0
    confidence: float = field(default=0.9, metadata={"formerly": "level"})
    chosen: Mapping[str, ChosenHead] = field(default_factory=dict)
    evaluation: tuple[object, ...] = ()
    """The rows of ``heartfelt.training.heads.evaluating.ProtocolScore`` as JSON."""
    labels: str = field(default="", metadata={"omit": True})
    """Whose answers the labels are, in a sentence."""
    notes: tuple[str, ...] = field(default=(), metadata={"omit": True})
    """What was left out, and what is doubtful about the labels."""

    def __post_init__(self) -> None:
        renamed = {name.replace("kept", "retained"): count for name, count in self.panel.items()}
        object.__setattr__(self, "panel", renamed)
