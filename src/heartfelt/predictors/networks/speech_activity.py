"""Where somebody speaks, by Silero VAD.

The network gives the probability of speech in every 32 ms. Speech begins where it reaches 0.5 and ends where it stays below 0.35
for at least 0.1 s; speech of a quarter of a second or less is dropped, and 30 ms are added at both ends, as in the package.

Conventions: samples are mono float32 at 16,000 Hz.

Source: ``sequence_vad.py`` and ``get_speech_timestamps_from_probs`` of silero-vad 6.2.3, whose results the tests hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.fixed_inputs import Tensors, sound
from heartfelt.predictors.networks.mel import RATE, mono, no_sound
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

Array = npt.NDArray[np.float32]

FRAME, _CONTEXT = 512, 64
_BLOCK = 512
"""Frames per call of the network, which keeps memory flat; their number does not change the result."""
BEGIN, END = 0.5, 0.35
SHORTEST_SECONDS = 0.25
_SILENCE, _SHORTEST, _PAD = round(0.1 * RATE), round(SHORTEST_SECONDS * RATE), round(0.03 * RATE)


@dataclass(frozen=True, slots=True)
class Speech:
    """Where somebody speaks in a clip."""

    stretches: tuple[tuple[float, float], ...]
    """Beginning and end of every stretch, in seconds."""
    seconds: float
    """How long the clip lasts."""

    @property
    def spoken(self) -> float:
        return sum(end - begin for begin, end in self.stretches)

    @property
    def share(self) -> float:
        """The share of the clip that is speech, 0 to 1."""
        return min(self.spoken / self.seconds, 1.0)


def speech_activity(samples: Array, *, model: Model | None = None) -> Speech:
    shares = probabilities(samples, model=model)
    frames = len(samples)
    stretches = stretches_of(shares, frames)
    return Speech(tuple((begin / RATE, end / RATE) for begin, end in stretches), frames / RATE)


def probabilities(samples: Array, *, model: Model | None = None) -> Array:
    """The probability of speech in every 32 ms."""
    samples, loaded = mono(samples), model or load_model("silero-vad")
    if not len(samples):
        raise no_sound()
    count = -(-len(samples) // FRAME)
    padded = np.pad(samples, (_CONTEXT, count * FRAME - len(samples)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _CONTEXT + FRAME)[::FRAME]
    state = {name: np.zeros((1, 1, 128), np.float32) for name in ("h", "c")}
    parts = []
    for start in range(0, count, _BLOCK):
        block = np.ascontiguousarray(windows[start : start + _BLOCK])
        result = loaded.run({"input": block, **state})
        parts.append(result["speech_probs"])
        state = {"h": result["hn"], "c": result["cn"]}
    return np.concatenate(parts)


def stretches_of(shares: Array, frames: int) -> list[tuple[int, int]]:
    """Beginning and end of every stretch of speech, in samples of a clip of ``frames``."""
    spans = [(begin, end) for begin, end in _spoken(shares, frames) if end - begin > _SHORTEST]
    # Where two stretches are closer than their padding, they share what lies between them.
    gaps = [second[0] - first[1] for first, second in pairwise(spans)]
    pads = [_PAD, *(gap // 2 if gap < 2 * _PAD else _PAD for gap in gaps), _PAD]
    return [
        (max(begin - pads[index], 0), min(end + pads[index + 1], frames)) for index, (begin, end) in enumerate(spans)
    ]


def _spoken(shares: Array, frames: int) -> Iterator[tuple[int, int]]:
    """Where speech begins and ends: two thresholds, so that a probability between them does not break a stretch."""
    begin, quiet = -1, -1
    for at, share in zip(range(0, FRAME * len(shares), FRAME), shares.tolist(), strict=True):
        if share >= BEGIN:
            begin, quiet = (at if begin < 0 else begin), -1
        elif share < END and begin >= 0:
            quiet = at if quiet < 0 else quiet
            if at - quiet >= _SILENCE:
                yield begin, quiet
                begin, quiet = -1, -1
    if begin >= 0:
        yield begin, frames


def reference_answers(model: Model) -> Tensors:
    return {"speech": probabilities(sound(100_000), model=model)}
