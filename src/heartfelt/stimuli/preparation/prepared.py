"""What is done to stimuli before raters meet them, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from heartfelt.media.sound import Samples
from heartfelt.stimuli.options import PrepareOptions
from heartfelt.stimuli.preparation.differences import SystemDifference

VocalCheck: TypeAlias = Callable[[Samples, int], "VocalsHeard"]
"""Listens for voices in samples at a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedStimulus:
    """One stimulus, prepared or not; fields are columns of the manifest where they are known."""

    stimulus: str
    original: str
    path: str | None = None
    original_sha256: str | None = None
    sha256: str | None = None
    crop_start: float | None = None
    """Seconds into the original."""
    seconds: float | None = None
    gain_db: float | None = None
    loudness_before: float | None = None
    """LUFS of the crop as it was."""
    loudness: float | None = None
    true_peak_db: float | None = None
    vocals: float | None = None
    """How likely somebody sings or speaks, from 0 to 1, where clips are to be instrumental."""
    syllables: int | None = None
    speech_rate: float | None = None
    """Syllables per second."""
    articulation_rate: float | None = None
    """Syllables per second without silences of 0.3 s or more."""
    brightness: float | None = None
    width: int | None = None
    height: int | None = None
    duplicate_of: str | None = None
    checks: str | None = None
    """What is wrong or was held back, in words."""
    problem: str | None = None
    """Why there is no prepared file."""


@dataclass(frozen=True, slots=True)
class VocalsHeard:
    """What a check for voices says about a clip."""

    score: float
    likely: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparationResult:
    """What became of every stimulus of a study."""

    study: str
    options: PrepareOptions
    stimuli: tuple[PreparedStimulus, ...]
    differences: tuple[SystemDifference, ...]
    systems: Mapping[str, str] = field(default_factory=dict)
    """The system of each stimulus, where it is known."""

    @property
    def failed(self) -> tuple[PreparedStimulus, ...]:
        return tuple(stimulus for stimulus in self.stimuli if stimulus.problem is not None)
