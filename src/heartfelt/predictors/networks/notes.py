"""Notes of any instrument, by Basic Pitch: which of the 88 keys of a piano sound, and which begin, 86 times a second.

The network looks at windows of two seconds that overlap by 30 frames, of which half is cut off at either side, as in the package.
The measures are taken from its probabilities. A key sounds from :data:`SOUNDS` on, a note begins where the probability of a
beginning is at its highest for the moment and at least :data:`BEGINS`, if the key then sounds for 128 ms on average (the package's
thresholds and shortest note); notes are not followed to their end. Pitch is in semitones as MIDI numbers them, 60 being middle C.

* ``density``: notes that begin per second.
* ``polyphony``: keys that sound at once, the mean over the moments in which any does.
* ``pitch`` and ``range``: the mean pitch of what sounds, and from its 5th to its 95th percentile in semitones.
* ``mode``: the best fit of the twelve tones to a major key less that to a minor key; ``key``: the better of the two, a correlation.

Conventions: samples are mono float32 at 22,050 Hz.

Source: R. M. Bittner et al. (ICASSP 2022), ``inference.py`` of basic-pitch 0.4.0; key profiles as in
``predictors/networks/sound_features.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.fixed_inputs import Tensors, sound
from heartfelt.predictors.networks.mel import mono, need_length
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

Array = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

RATE = 22_050
FRAME_RATE = 86
_HOP, _WINDOW, _OVERLAP = 256, 43_844, 30
_LOWEST, _SHORTEST = 21, 11
_SHORTEST_SECONDS = 0.1
"""Clips below this have too few frames."""
SOUNDS, BEGINS = 0.3, 0.5
MEASURES = {
    "density": "notes that begin per second",
    "polyphony": "keys that sound at once",
    "pitch": "mean pitch in semitones (MIDI, 60 is middle C)",
    "range": "range of pitch in semitones (5th to 95th percentile)",
    "mode": "lead of the best major over the best minor key (correlation)",
    "key": "strength of the best key (correlation)",
}


@dataclass(frozen=True, slots=True, eq=False)
class KeyProbabilities:
    """The probabilities that the 88 keys sound and begin, ``(frames, 88)``."""

    sounding: Array
    beginning: Array

    def measures(self, key_fits: Callable[[Floats], Floats]) -> Mapping[str, float | None]:
        """The measures by name; None where nothing sounds. ``key_fits`` correlates twelve tones with 12 major, 12 minor keys."""
        heard = self.sounding >= SOUNDS
        density = float(self._begins().sum() * FRAME_RATE / max(len(heard), 1))
        if not heard.any():
            return {"density": density, **dict.fromkeys(list(MEASURES)[1:])}
        at_once = heard.sum(axis=1)
        weights = (self.sounding * heard).sum(axis=0, dtype=np.float64)
        pitches = np.arange(_LOWEST, _LOWEST + weights.size)
        mean = float(weights @ pitches / weights.sum())
        low, high = np.interp([0.05, 0.95], np.cumsum(weights) / weights.sum(), pitches)
        fits = key_fits(np.bincount(pitches % 12, weights, 12).astype(np.float64))
        major, minor = float(fits[0].max()), float(fits[1].max())
        return {
            "density": density,
            "polyphony": float(at_once[at_once > 0].mean()),
            "pitch": mean,
            "range": float(high - low),
            "mode": major - minor,
            "key": max(major, minor),
        }

    def _begins(self) -> npt.NDArray[np.bool_]:
        now = np.pad(self.beginning, ((1, 1), (0, 0)))
        highest = (now[1:-1] > now[:-2]) & (now[1:-1] > now[2:]) & (now[1:-1] >= BEGINS)
        lasting = np.cumsum(np.pad(self.sounding, ((1, _SHORTEST), (0, 0)), mode="edge"), axis=0, dtype=np.float64)
        return np.asarray(highest & (lasting[_SHORTEST:] - lasting[:-_SHORTEST] >= SOUNDS * _SHORTEST)[: len(highest)])


def keys(samples: Array, *, model: Model | None = None) -> KeyProbabilities:
    """Which keys sound and begin in a mono clip at 22.05 kHz."""
    samples, loaded = mono(samples), model or load_model("basic-pitch")
    need_length(samples, RATE, _SHORTEST_SECONDS, "Basic Pitch")
    cut, step = _OVERLAP // 2, _WINDOW - _OVERLAP * _HOP
    padded = np.pad(samples, (cut * _HOP, 0))
    starts = range(0, len(padded), step)
    padded = np.pad(padded, (0, starts[-1] + _WINDOW - len(padded)))
    sounding, beginning = [], []
    for start in starts:
        window = padded[start : start + _WINDOW, None][None]
        result = loaded.run({"serving_default_input_2:0": window})
        sounding.append(result["StatefulPartitionedCall:1"][0, cut:-cut])
        beginning.append(result["StatefulPartitionedCall:2"][0, cut:-cut])
    count = int(len(samples) * (FRAME_RATE / RATE))
    return KeyProbabilities(np.concatenate(sounding)[:count], np.concatenate(beginning)[:count])


def reference_answers(model: Model) -> Tensors:
    heard = keys(sound(100_000, RATE), model=model)
    return {"sounding": heard.sounding[::40], "beginning": heard.beginning[::40]}
