"""Speech quality: the order of good, noisy and overdriven speech, and the windows it is judged on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.make.generators.speech import VOICE_SYSTEMS, render_voice
from heartfelt.models.speech import MOST_WINDOWS, Judge, distillmos, dnsmos
from heartfelt.streams import stream
from tests.models.conftest import Pulled

pytestmark = pytest.mark.slow  # they load libraries that take seconds

Array = npt.NDArray[np.float32]


def with_noise(speech: Array, decibels: float, name: str) -> Array:
    """White noise, so many decibels below the speech."""
    noise = stream(7, "noise", name).standard_normal(len(speech))
    gain = np.sqrt(np.mean(speech**2) / np.mean(noise**2)) * 10 ** (-decibels / 20)
    out: Array = (speech + gain * noise).astype(np.float32)
    return out


def overdriven(speech: Array, share: float) -> Array:
    """Turned up until this share of the sound is cut off."""
    level = float(np.quantile(np.abs(speech[np.abs(speech) > 1e-3]), 1 - share))
    out: Array = (0.9 * np.clip(speech / level, -1, 1)).astype(np.float32)
    return out


def three_takes(system: str, seconds: float) -> list[Array]:
    """Clean (with the floor of a quiet room), noisy and clipped."""
    voice = render_voice(6, 4, system=system, seconds=seconds, rate=16_000, seed=3, name="q")
    clean = with_noise(voice, 45, "room")
    return [clean, with_noise(clean, 20, "noise"), overdriven(clean, 0.95)]


@pytest.mark.parametrize("system", VOICE_SYSTEMS)
def test_dnsmos_ranks_clean_above_noisy_above_clipped(pulled: Pulled, system: str) -> None:
    scores = [dnsmos(take, model=pulled("dnsmos")) for take in three_takes(system, 10.0)]
    clean, noisy, clipped = (score.scores["ovrl"] for score in scores)
    assert clean > noisy + 0.05
    assert noisy > clipped + 0.05
    assert scores[0].scores["bak"] > scores[1].scores["bak"]
    assert all(1 <= number <= 5 for score in scores for number in score.scores.values())


@pytest.mark.parametrize("system", VOICE_SYSTEMS)
def test_distillmos_ranks_clean_above_noisy_above_clipped(pulled: Pulled, system: str) -> None:
    clean, noisy, clipped = (
        distillmos(take, model=pulled("distillmos")).scores["distillmos"] for take in three_takes(system, 8.0)
    )
    assert 5 >= clean > noisy + 0.05
    assert noisy > clipped + 0.05 > 1


@pytest.mark.parametrize("frames", [144_160, 150_000, 160_000, 176_159, 176_160, 400_000])
def test_dnsmos_windows_are_the_packages(frames: int) -> None:
    """SOURCE: the loop of speechmos 0.0.1.1, written out."""
    hops = int(np.floor(frames / 16_000) - 9.01) + 1
    starts = [i * 16_000 for i in range(hops) if int((i + 9.01) * 16_000) <= frames]
    result = dnsmos.windows(frames)
    assert list(result.starts) == starts
    assert result.length == 144_160


@pytest.mark.parametrize("frames", [122_880, 122_881, 138_880, 160_000, 400_001])
def test_distillmos_windows_are_the_packages(frames: int) -> None:
    """SOURCE: ``ConvTransformerSQAModel.forward`` of distillmos 0.9.1, written out."""
    over = frames - 122_880
    places = np.linspace(0, 1, int(np.ceil(over / 16_000)) + 1)
    result = distillmos.windows(frames)
    assert list(result.starts) == [int(place * over) for place in places]
    assert result.starts[-1] + result.length <= frames


@pytest.mark.parametrize("module", [dnsmos, distillmos])
def test_long_speech_is_judged_on_windows_spread_over_it(module: Judge) -> None:
    result = module.windows(3_600 * 16_000)
    assert len(result.starts) == len(set(result.starts)) == MOST_WINDOWS
    assert result.starts[0] == 0
    assert result.starts[-1] > 3_580 * 16_000
    gaps = np.diff(result.starts)
    assert gaps.max() < 1.05 * gaps.min()
    assert "spread evenly" in result.warnings[0]


def test_what_cannot_be_judged_is_refused(pulled: Pulled) -> None:
    for samples, words in (
        (np.zeros(0, np.float32), "no sound"),
        (np.full(20_000, np.inf, np.float32), "not finite"),
        (np.zeros((20_000, 2), np.float32), "not a mono clip"),
    ):
        with pytest.raises(InputError, match=words):
            dnsmos(samples, model=pulled("dnsmos"))
        with pytest.raises(InputError, match=words):
            distillmos(samples, model=pulled("distillmos"))
