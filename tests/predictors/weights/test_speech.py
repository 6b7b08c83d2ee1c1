"""Speech quality: the order of good, noisy and overdriven speech, and the windows it is judged on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.predictors.networks.speech import MOST_WINDOWS, Judge, distillmos, dnsmos, pdnsmos, plcmos
from heartfelt.stimuli.synthesis.speech import VOICE_SYSTEMS, render_voice
from heartfelt.streams import stream
from tests.cases import check_all
from tests.predictors.weights.conftest import Pulled

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


def heard_by_the_package(frames: int) -> list[int]:
    """SOURCE: the loop of ``DNSMOS.__call__`` of speechmos 0.0.1.1, written out: where the windows begin that it does not skip."""
    rate, seconds = 16_000, 9.01
    hops = int(np.floor(frames / rate) - seconds) + 1
    cuts = [range(frames)[int(i * rate) : int((i + seconds) * rate)] for i in range(hops)]
    return [cut.start for cut in cuts if len(cut) >= int(seconds * rate)]


@pytest.mark.parametrize("module", [dnsmos, pdnsmos])
def test_dnsmos_windows_are_the_packages(module: Judge) -> None:
    """The package skips windows that rounding makes a sample short: those that begin after 7 to 23 s."""
    for frames in (144_160, 160_000, 176_159, 176_160, *range(144_160, 49 * 16_000, 3_331)):
        windows = module.windows(frames)
        assert (list(windows.starts), windows.length) == (heard_by_the_package(frames), 144_160)


def test_what_is_in_no_window_is_said() -> None:
    assert dnsmos.windows(20 * 16_000).warnings == ("as in the package, 5.0 of 20.0 s are in none of its windows",)
    assert not dnsmos.windows(15 * 16_000 + 15_999).warnings
    assert not dnsmos.windows(18 * 16_000, recorded=36_000).warnings  # repeated eight times
    assert dnsmos.windows(34 * 16_000).warnings == ("as in the package, 10.0 of 34.0 s are in none of its windows",)


@check_all("judge", [distillmos, plcmos])
@check_all("seconds", [8.0, 20.5, 29.9, 39.0, 119.9, 120.1, 180.0, 250.3])
def test_windows_reach_from_the_beginning_to_the_end(judge: Judge, seconds: float) -> None:
    frames = round(seconds * 16_000)
    windows = judge.windows(frames)
    assert windows.starts[0] == 0
    assert windows.starts[-1] + windows.length >= frames
    assert not [warning for warning in windows.warnings if "none of its windows" in warning]


@pytest.mark.parametrize("frames", [800, 320_000, 399_000, 120 * 16_000])
def test_plcmos_judges_a_clip_whole_as_the_package_does(frames: int) -> None:
    windows = plcmos.windows(frames)
    assert [len(window) for window in windows.cut(np.zeros(frames, np.float32))] == [frames]


@pytest.mark.parametrize("frames", [122_880, 122_881, 138_880, 160_000, 400_001])
def test_distillmos_windows_are_the_packages(frames: int) -> None:
    """SOURCE: ``ConvTransformerSQAModel.forward`` of distillmos 0.9.1, written out."""
    over = frames - 122_880
    places = np.linspace(0, 1, int(np.ceil(over / 16_000)) + 1)
    result = distillmos.windows(frames)
    assert list(result.starts) == [int(place * over) for place in places]
    assert result.starts[-1] + result.length <= frames


@pytest.mark.parametrize("module", [dnsmos, distillmos, pdnsmos])
def test_long_speech_is_judged_on_windows_spread_over_it(module: Judge) -> None:
    result = module.windows(3_600 * 16_000)
    assert len(result.starts) == len(set(result.starts)) == MOST_WINDOWS
    assert result.starts[0] == 0
    assert result.starts[-1] > 3_580 * 16_000
    gaps = np.diff(result.starts)
    assert gaps.max() < 1.25 * gaps.min()
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
