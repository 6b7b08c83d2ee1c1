"""Spectrograms held against librosa, whose defaults the models were trained with."""

from __future__ import annotations

import numpy as np
import pytest

from heartfelt.predictors.networks.fixed_inputs import sound
from heartfelt.predictors.networks.mel import mel_filters, mel_power
from heartfelt.predictors.networks.musicnn import log_mel


@pytest.mark.slow
@pytest.mark.parametrize(("n_fft", "hop", "bands"), [(512, 256, 96), (321, 160, 120)])
@pytest.mark.parametrize("frames", [48_000, 16_037, 300, 1])
def test_mel_power_is_librosas(n_fft: int, hop: int, bands: int, frames: int) -> None:
    librosa = pytest.importorskip("librosa")
    samples = sound(frames)
    result = mel_power(samples, 16_000, n_fft, hop, bands)
    kinds = {"sr": 16_000, "n_fft": n_fft, "hop_length": hop, "n_mels": bands}
    padded = np.pad(samples, n_fft // 2)
    expected = librosa.feature.melspectrogram(y=padded, center=False, **kinds).T
    assert result.shape == (1 + frames // hop, bands) or n_fft % 2
    np.testing.assert_allclose(result, expected[: len(result)], rtol=1e-4, atol=1e-7 * expected.max())


def test_filters_are_librosas() -> None:
    librosa = pytest.importorskip("librosa")
    for n_fft, bands in ((512, 96), (321, 120)):
        expected = librosa.filters.mel(sr=16_000, n_fft=n_fft, n_mels=bands)
        np.testing.assert_allclose(mel_filters(16_000, n_fft, bands), expected, rtol=1e-5, atol=1e-9)


def test_loud_sound_does_not_overflow() -> None:
    # In float16, as the package has it, 10,000 times this is infinite.
    loud = np.sign(np.sin(np.arange(16_000) / 5)).astype(np.float32)
    spectrogram = log_mel(loud)
    assert np.isfinite(spectrogram).all()
    assert spectrogram.max() > np.log10(65_504.0)
    assert spectrogram.dtype == np.float32
