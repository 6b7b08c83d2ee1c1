"""STOI against the package pystoi, and what the definition says of special cases."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from heartfelt.errors import InputError
from heartfelt.media.sounds.intelligibility import RATE, stoi
from heartfelt.streams import stream

Floats = npt.NDArray[np.float64]


def syllables(seconds: float = 4.0) -> Floats:
    """Noise in bursts, with a pause in the middle that is far below the rest."""
    t = np.arange(int(seconds * RATE)) / RATE
    sound = stream(1, "syllables").normal(size=len(t)) * (0.5 + 0.5 * np.sin(2 * np.pi * 3 * t)) ** 2
    sound[len(t) // 3 : len(t) // 2] *= 1e-4
    return np.asarray(sound)


def noisy(clean: Floats, decibels: float) -> Floats:
    return np.asarray(clean + stream(2, "noise").normal(size=len(clean)) * clean.std() * 10 ** (-decibels / 20))


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("decibels", [-10, 0, 5, 20])
def test_it_is_what_the_package_gives(decibels: float, extended: bool) -> None:
    pystoi = pytest.importorskip("pystoi")
    clean = syllables()
    expected = pystoi.stoi(clean, noisy(clean, decibels), RATE, extended=extended)
    assert stoi(clean, noisy(clean, decibels), extended=extended) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("extended", [False, True])
def test_it_falls_with_noise_and_ignores_loudness(extended: bool) -> None:
    clean = syllables()
    values = [stoi(clean, noisy(clean, decibels), extended=extended) for decibels in (60, 10, 0, -20)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(1, abs=0.01)
    assert stoi(clean, 0.1 * noisy(clean, 5), extended=extended) == pytest.approx(
        stoi(clean, noisy(clean, 5), extended=extended), abs=1e-6
    )


def test_what_cannot_be_compared_is_refused() -> None:
    clean = syllables()
    for ours, theirs, words in (
        (clean, clean[:-1], "cannot be compared"),
        (clean[:2_000], clean[:2_000], "shorter than half a second"),
        (np.r_[clean[:2_000], np.zeros(20_000)], np.r_[clean[:2_000], np.zeros(20_000)], "loud enough"),
    ):
        with pytest.raises(InputError, match=words):
            stoi(ours, theirs)
