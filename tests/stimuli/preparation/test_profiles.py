"""What a system conveys, and how systems differ, against formulas worked out by hand and SciPy's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats

from heartfelt.errors import InputError
from heartfelt.simulate.conveyed_emotion import ConveyanceProfile, conveyed, profile
from heartfelt.stimuli.preparation.differences import system_difference


@dataclass(frozen=True)
class Rendering:
    conveyance: ConveyanceProfile


def test_a_gain_pulls_towards_neutral_and_a_shift_moves() -> None:
    faint = profile(0.5, 0.25, 2.0, -1.0, 0.0)
    assert faint.expected("valence", 9.0) == 5.0 + 0.5 * 4.0 + 0.25
    assert faint.expected("arousal", 4.0) == 5.0 - 2.0 - 1.0
    assert faint.expected("arousal", 4.0, neutral=0.0) == 2.0 * 4.0 - 1.0
    assert faint.expected("tension", 3.0) == 3.0
    assert ConveyanceProfile(noise=0.0).noise == 0.0
    with pytest.raises(InputError):
        ConveyanceProfile(noise=-0.1)


def test_what_is_conveyed_stays_on_the_scale_and_follows_seed_and_name() -> None:
    systems = {
        "exact": Rendering(profile(1.0, 0.0, 1.0, 0.0, 0.0)),
        "loud": Rendering(profile(3.0, 0.0, 1.0, 0.5, 0.0)),
        "noisy": Rendering(profile(1.0, 0.0, 1.0, 0.0, 0.4)),
    }

    def of(system: str, valence: float, arousal: float, **other: object) -> tuple[float, float]:
        return conveyed("tones", systems, valence, arousal, system=system, **other)  # type: ignore[arg-type]  # its keyword arguments

    assert of("exact", 1.0, 9.0) == (1.0, 9.0)
    assert of("loud", 9.0, 9.0) == (9.0, 9.0)
    assert of("loud", 1.0, 2.0) == (1.0, 2.5)
    assert of("noisy", 5.0, 5.0, seed=3, name="a") == of("noisy", 5.0, 5.0, seed=3, name="a")
    assert of("noisy", 5.0, 5.0, seed=3, name="a") != of("noisy", 5.0, 5.0, seed=3, name="b")
    drawn = np.array([of("noisy", 5.0, 5.0, name=str(number)) for number in range(300)])
    assert drawn.mean(axis=0) == pytest.approx([5.0, 5.0], abs=0.1)
    assert drawn.std(axis=0) == pytest.approx([0.4, 0.4], abs=0.06)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.2
    for outside in (0.9, 9.1):
        with pytest.raises(InputError):
            of("exact", outside, 5.0)


def test_systems_are_compared_as_scipy_does() -> None:
    values = {"b": [1.0, 2.0, 4.0], "a": [3.0, 5.0, 7.0, 6.0], "c": [2.0]}
    rows = [(system, value) for system, measured in values.items() for value in measured]
    found = system_difference("loudness", rows)
    assert found is not None
    assert (found.measure, found.n) == ("loudness", 8)
    expected = scipy.stats.f_oneway(*values.values())
    assert found.test.f == pytest.approx(expected.statistic)
    assert found.test.p == pytest.approx(expected.pvalue)
    assert list(found.means) == ["a", "b", "c"]
    for system, measured in values.items():
        mean = found.means[system]
        assert mean.value == pytest.approx(np.mean(measured))
        assert mean.counts == {"stimuli": len(measured)}
        if len(measured) > 1:
            ends = scipy.stats.t.interval(0.95, len(measured) - 1, np.mean(measured), scipy.stats.sem(measured))
            assert (mean.low, mean.high) == pytest.approx(ends)
            assert mean.method
            assert mean.interval
    assert found.means["c"].low is None
    assert system_difference("loudness", [("a", 1.0), ("a", 2.0)]) is None
