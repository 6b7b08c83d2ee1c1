"""Clips for trying methods out: degraded versions of the same music, and music that changes on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from heartfelt.errors import UnknownNameError, suggestion
from heartfelt.media.audio import Audio
from heartfelt.media.sound import Samples, resample
from heartfelt.stimuli.prompts.prompt import StimulusPrompt
from heartfelt.stimuli.starter import UncompressedClip
from heartfelt.stimuli.synthesis.music import render_clip

START = 5.0
"""Where clips that move begin, on 1 to 9: the middle of the plane."""


def low_passed(samples: Samples, rate: int, hertz: float) -> Samples:
    """The sound without what lies above ``hertz``, as long as before: brought down to twice that rate and up again."""
    low = round(2 * hertz)
    if low >= rate:
        return samples
    back = resample(resample(samples, rate, low), low, rate)
    out = np.zeros_like(samples)
    size = min(len(back), len(samples))
    out[:size] = back[:size]
    return out


def coarse(samples: Samples, bits: int) -> Samples:
    """The sound with so many bits per sample: quantisation noise that follows the music."""
    steps = 2.0 ** (bits - 1)
    return (np.round(samples * steps) / steps).astype(np.float32)


VERSIONS: Mapping[str, Callable[[Samples, int], Samples]] = {
    "original": lambda samples, _: samples,
    "narrowband": lambda samples, rate: low_passed(samples, rate, 5_000),
    "eightbit": lambda samples, _: coarse(samples, 8),
    "anchor35": lambda samples, rate: low_passed(samples, rate, 3_500),
    "anchor70": lambda samples, rate: low_passed(samples, rate, 7_000),
    "telephone": lambda samples, rate: low_passed(samples, rate, 3_400),
}
"""What each system of a quality test does to the sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """A generator of versions of the same sound: the prompt's intent names the instrument or voice, its system the version.

    The files are FLAC: nothing but the version changes the sound, and all versions have the same length.
    """

    seconds: float = 8.0
    rate: int = 32_000
    kind: str = "audio"
    suffix: str = ".flac"
    systems: tuple[str, ...] = tuple(VERSIONS)
    render: Callable[..., Samples] = render_clip

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> UncompressedClip:
        """Render the sound of the prompt's text, the same for every system, and make the version."""
        if prompt.system not in VERSIONS:
            raise UnknownNameError(
                f"No version is called '{prompt.system}'.", suggestion(prompt.system, VERSIONS, "Versions")
            )
        arguments = prompt.rendering(seed)
        arguments["system"], arguments["name"] = prompt.intent, prompt.text
        sound = self.render(**arguments, seconds=self.seconds, rate=self.rate)
        version = VERSIONS[prompt.system](sound, self.rate)
        return UncompressedClip(Audio(np.clip(version, -1.0, 1.0), self.rate))


@dataclass(frozen=True, slots=True)
class Moving:
    """A generator of music that goes from the middle of the plane to the prompt's coordinates, half-way through."""

    seconds: float = 20.0
    rate: int = 22_050
    fade: float = 0.5
    """Seconds over which one half turns into the other."""

    def generate(self, prompt: StimulusPrompt, seed: int = 0) -> Audio:
        """Render both halves with the same instrument, and fade from one to the other."""
        ask = prompt.rendering(seed)
        half = (self.seconds + self.fade) / 2
        end = render_clip(**ask, seconds=half, rate=self.rate)
        ask["valence"], ask["arousal"] = 2 * START - ask["valence"], 2 * START - ask["arousal"]
        ask["name"] = f"{prompt.stimulus}, before"
        begin = render_clip(**ask, seconds=half, rate=self.rate)
        overlap = min(round(self.fade * self.rate), len(begin))
        ramp = np.linspace(0.0, 1.0, overlap, dtype=np.float32)
        middle = begin[len(begin) - overlap :] * (1 - ramp) + end[:overlap] * ramp
        return Audio(np.concatenate([begin[: len(begin) - overlap], middle, end[overlap:]]), self.rate)
