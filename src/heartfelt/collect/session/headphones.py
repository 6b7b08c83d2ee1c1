"""The headphone check: in which order the tones of a round come, what they sound like, and which one is the quietest.

Three tones of 200 Hz: one is quieter by 6 dB, one is in opposite phase on the two sides, which loudspeakers cancel and
headphones do not (Woods et al. 2017). The order of a round follows from the store's secret, the rater and the probe: it is
the same in every process and after a reload, nothing of it is stored, and no page is told. All sounds have the same length.
"""

from __future__ import annotations

import hmac
import io
import wave
from functools import lru_cache
from itertools import permutations
from typing import Literal, TypeAlias

import numpy as np

Tone: TypeAlias = Literal["plain", "opposite", "quiet"]
TONES: tuple[Tone, ...] = ("plain", "opposite", "quiet")
ORDERS = tuple(permutations(TONES))
TONE_SECONDS = 1.0
GAP_SECONDS = 0.5
_RATE = 8000
_HERTZ = 200.0
_LEVEL = 0.35
_QUIETER = 10 ** (-6 / 20)
_RAMP_SECONDS = 0.1


def tone_order(secret: bytes, rater: str, probe: str, number: int) -> tuple[Tone, ...]:
    """The order of the tones in a round, from 1, of a rater's headphone check."""
    digest = hmac.digest(
        secret, "\0".join(("headphones", rater, probe, str(number))).encode("utf-8", "replace"), "sha256"
    )
    return ORDERS[int.from_bytes(digest) % len(ORDERS)]


def quietest_tones(secret: bytes, rater: str, probe: str, trials: int) -> list[int]:
    """The right answers of a rater's headphone check: the place of the quietest tone in each round, from 1."""
    return [tone_order(secret, rater, probe, number + 1).index("quiet") + 1 for number in range(trials)]


@lru_cache(maxsize=len(ORDERS))
def three_tones(order: tuple[Tone, ...]) -> bytes:
    """The sound of a round, as a WAV file with 16 bits and two channels."""
    time = np.arange(round(TONE_SECONDS * _RATE)) / _RATE
    envelope = np.clip(np.minimum(time, TONE_SECONDS - time) / _RAMP_SECONDS, 0.0, 1.0)
    tone = _LEVEL * envelope * np.sin(2 * np.pi * _HERTZ * time)
    gap = np.zeros((round(GAP_SECONDS * _RATE), 2))
    parts: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []
    for index, kind in enumerate(order):
        left_channel = tone * (_QUIETER if kind == "quiet" else 1.0)
        parts += [gap] * (index > 0) + [
            np.stack([left_channel, -left_channel if kind == "opposite" else left_channel], axis=1)
        ]
    samples = np.round(np.concatenate(parts) * 32767).astype("<i2")
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(samples.tobytes())
    return out.getvalue()
