"""What is done to stimuli before raters meet them, and what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from heartfelt.errors import UnknownNameError, require, suggestion
from heartfelt.media.sound import Samples
from heartfelt.stimuli.preparation.differences import SystemDifference

Crop: TypeAlias = Literal["random", "energy", "start", "centre"]
Channels: TypeAlias = Literal["keep", "mono", "stereo"]
Content: TypeAlias = Literal["any", "instrumental", "speech"]
VocalCheck: TypeAlias = Callable[[Samples, int], "VocalsHeard"]
"""Listens for voices in samples at a rate."""


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """What is done to every stimulus. Sound settings have no effect on pictures, and the other way round."""

    seconds: float | None = None
    """Length of the crop; the whole clip if None."""
    crop: Crop = "random"
    """Where: at a random place between the marks; the same, but only where the clip is not much quieter than at its loudest
    (10 dB); at the first mark; or in the middle between them."""
    between: tuple[float, float] = (0.15, 0.85)
    """The marks, as shares of the clip."""
    fade: float = 0.02
    """Seconds over which a cut end fades."""
    channels: Channels = "keep"
    rate: int | None = 48_000
    """Samples per second; as they are if None."""
    loudness: float | None = -23.0
    """LUFS that every clip is brought to; None leaves the level untouched."""
    peak: float = -1.0
    """The highest true peak in dB; a clip that would pass it stays quieter."""
    format: str | None = None
    """The suffix of the files: .opus, .flac, .wav or .ogg; .webp, .png or .jpg for pictures. By default .opus or .webp."""
    side: int | None = None
    """Pictures: the longer side is reduced to this many pixels; as it is if None."""
    content: Content = "any"
    """What the clips are meant to be: *instrumental* clips are checked for voices, of *speech* the rate is measured."""

    def __post_init__(self) -> None:
        for name, kind in (("crop", Crop), ("channels", Channels), ("content", Content)):
            if getattr(self, name) not in get_args(kind):
                raise UnknownNameError(
                    f"'{getattr(self, name)}' is no way to treat {name}.",
                    suggestion(getattr(self, name), get_args(kind), "Allowed"),
                )
        low, high = self.between
        require(
            0 <= low < high <= 1,
            f"There is nothing between {low:g} and {high:g}.",
            "Give two marks from 0 to 1.",
        )
        wrong = [
            name
            for name in ("seconds", "rate", "side")
            if (value := getattr(self, name)) is not None and value <= 0
        ]
        require(
            not wrong and self.fade >= 0,
            f"{', '.join(wrong) or 'fade'} must be positive.",
            "Give a positive number.",
        )


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
        """Stimuli without a prepared file."""
        return tuple(each for each in self.stimuli if each.problem is not None)
