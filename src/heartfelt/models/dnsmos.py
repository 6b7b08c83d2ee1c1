"""DNSMOS: how good speech sounds, on scales from 1 to 5, as listeners of P.835 and P.808 tests would say.

``sig`` is the speech itself, ``bak`` the background, ``ovrl`` everything together (P.835); ``p808`` everything together as
a P.808 listener says it. Windows of 9.01 s, one second apart, as in the package; a shorter clip is repeated.

Source: C. K. A. Reddy, V. Gopal and R. Cutler, DNSMOS P.835 (ICASSP 2022); ``dnsmos.py`` of speechmos 0.0.1.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from heartfelt.models.loading import load_model
from heartfelt.models.mel import mel_power
from heartfelt.models.samples import RATE
from heartfelt.models.session import Model
from heartfelt.models.speech import Windows, checked_speech, spread

Array = npt.NDArray[np.float32]

WINDOW = 144_160
SCALES = ("sig", "bak", "ovrl", "p808")

_FITS = {
    "sig": (-0.08397278, 1.22083953, 0.0052439),
    "bak": (-0.13166888, 1.60915514, -0.39604546),
    "ovrl": (-0.06766283, 1.11546468, 0.04602535),
}
"""The package's curves from what the network says to the listeners' scale, highest power first."""


@dataclass(frozen=True, slots=True)
class SpeechScores:
    """The four scores of a clip: the means over its windows."""

    sig: float
    bak: float
    ovrl: float
    p808: float
    windows: int
    warnings: tuple[str, ...] = ()


def score(samples: Array, *, model: str | Model = "dnsmos") -> SpeechScores:
    """The scores of mono speech at 16 kHz."""
    samples, warnings = checked_speech(samples)
    while len(samples) < WINDOW:
        samples = np.concatenate([samples, samples])
    windows = windows_of(len(samples))
    return score_windows(windows.cut(samples), model=model, warnings=warnings + windows.warnings)


def windows_of(frames: int) -> Windows:
    """Where the windows of a clip of so many samples begin."""
    # The package counts whole seconds, so that the last window may end up to a second before the clip does.
    count = int(frames // RATE - WINDOW / RATE) + 1
    return spread([number * RATE for number in range(count)], WINDOW)


def score_windows(
    windows: Iterable[Array], *, model: str | Model = "dnsmos", warnings: tuple[str, ...] = ()
) -> SpeechScores:
    """The mean scores of windows of 144,160 samples."""
    loaded = load_model(model) if isinstance(model, str) else model
    rows = [_window(loaded, window) for window in windows]
    means = {scale: float(np.mean([row[scale] for row in rows])) for scale in SCALES}
    return SpeechScores(**means, windows=len(rows), warnings=warnings)


def _window(model: Model, window: Array) -> dict[str, float]:
    raw = model.run({"input_1": window[None]})
    (values,) = raw.values()
    out = {
        scale: float(np.polyval(_FITS[scale], value)) for scale, value in zip(_FITS, values[0], strict=True)
    }
    (values,) = model.run({"input_1": _picture(window[:-160])[None]}, file="p808.onnx").values()
    return out | {"p808": float(values[0, 0])}


def _picture(samples: Array) -> Array:
    """Mel bands in decibels below the loudest, 80 at most, moved to about [-1, 1]."""
    level = 10.0 * np.log10(np.maximum(mel_power(samples, RATE, 321, 160, 120), np.float32(1e-10)))
    level -= level.max()
    picture: Array = ((np.maximum(level, -80.0) + 40.0) / 40.0).astype(np.float32)
    return picture
