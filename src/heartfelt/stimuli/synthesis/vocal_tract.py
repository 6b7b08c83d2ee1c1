"""A voice as source and filter: glottal pulses and noise through formants that move. NumPy only.

The source is a band-limited pulse read once a period, each period a little off in length and strength. The
filter is a cascade of resonances whose frequency response is computed every 5 ms; every 10 ms stretch of
the source is passed through its own response and the stretches are added up, so the formants glide.

Source: Fant 1960 (source and filter); Klatt 1980 (cascade of formants); Rosenberg 1971 (the pulse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.stimuli.synthesis.utterance import Delivery, Sound, Utterance
from heartfelt.stimuli.synthesis.voices import Wave, read_table

Spectra: TypeAlias = npt.NDArray[np.complex128]
Places: TypeAlias = npt.NDArray[np.intp]

_TABLE = 2048
_STEP_SECONDS = 0.005
# The narrowest resonance has fallen by 60 dB after 31 ms.
_TAIL_SECONDS = 0.035
_BLOCK = 400
_MOVING = (70.0, 100.0, 150.0)
"""Bandwidths of the three formants that move."""
_FIXED = tuple((3400.0 + 980.0 * number, 250.0 + 100.0 * number) for number in range(6))
"""Formants that stay, with their bandwidths: the speaker's own, without which a voice would end at 4 kHz."""
_OPEN, _CLOSED = 0.40, 0.60


@dataclass(frozen=True, slots=True)
class Tract:
    """One speaker: the resting pitch in hertz, and a factor on all formants (a shorter tract is above 1)."""

    hertz: float
    scale: float


def sound_out(utterance: Utterance, means: Delivery, tract: Tract, rate: int, rng: np.random.Generator) -> Wave:
    """Let ``tract`` speak the utterance; the level is arbitrary."""
    step = max(1, round(_STEP_SECONDS * rate))
    frames = int(np.ceil(sum(sound.seconds for sound in utterance.sounds) * rate / step))
    tracks = _tracks(utterance.sounds, frames, step / rate)
    size = (frames + 1) * step
    pulses, opening = _source(utterance, means, tract, rate, size, rng)
    time, at = np.arange(size) / rate, np.arange(frames) * step / rate
    voice = np.interp(time, at, tracks.voice)
    breath = np.diff(rng.standard_normal(size), prepend=0.0) * (0.3 + 0.7 * opening)
    excited = voice * ((1.0 - 0.5 * means.breath) * pulses + 0.5 * means.breath * breath)
    hiss = np.interp(time, at, tracks.noise) * rng.standard_normal(size)
    axis = np.fft.rfftfreq(_points(step, rate), 1.0 / rate).astype(np.float64)
    scale = tract.scale * means.smile
    out = np.zeros(size + 2 * axis.size)
    for which in _blocks(tracks.voice > 0.0):
        _add(out, excited, which, step, _resonances(tracks.formants[which] * scale, scale, axis))
    for which in _blocks(tracks.noise > 0.0):
        _add(out, hiss, which, step, _band(tracks.centre[which], tracks.width[which], axis))
    return out[:size]


def _blocks(wanted: npt.NDArray[np.bool_]) -> list[Places]:
    """The frames that are wanted, in blocks that bound the memory a long clip takes."""
    indices = np.flatnonzero(wanted)
    return [indices[start : start + _BLOCK] for start in range(0, indices.size, _BLOCK)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracks:
    voice: Wave
    noise: Wave
    centre: Wave
    width: Wave
    formants: Wave


def _tracks(sounds: list[Sound], frames: int, step: float) -> _Tracks:
    ends = np.cumsum([sound.seconds for sound in sounds])
    which = np.minimum(np.searchsorted(ends, (np.arange(frames) + 0.5) * step, side="right"), len(sounds) - 1)
    formants = np.array([sound.formants for sound in sounds], dtype=np.float64)[which]
    return _Tracks(
        voice=_smooth(np.array([sound.voice for sound in sounds])[which], 5),
        noise=_smooth(np.array([sound.noise for sound in sounds])[which], 3),
        centre=np.array([sound.centre for sound in sounds])[which],
        width=np.array([sound.width for sound in sounds])[which],
        formants=np.stack([_smooth(formants[:, k], 11) for k in range(3)], axis=1),
    )


def _smooth(track: Wave, frames: int) -> Wave:
    kernel = np.hanning(frames + 2)[1:-1]
    return np.convolve(np.pad(track, frames // 2, mode="edge"), kernel / kernel.sum(), mode="valid")


def _source(
    utterance: Utterance, means: Delivery, tract: Tract, rate: int, size: int, rng: np.random.Generator
) -> tuple[Wave, Wave]:
    """The pulses, and how far the glottis is open at each sample (0 to 1)."""
    times, steps = (np.array(column) for column in zip(*(utterance.contour or [(0.0, 0.0)]), strict=True))
    grid = np.arange(0.0, size / rate + 0.02, 0.01)
    contour = _smooth(np.interp(grid, times, steps), 9)
    hertz = np.clip(tract.hertz * 2.0 ** ((means.pitch + contour) / 12.0), 50.0, 800.0)
    marks, strengths = [0.0], [1.0]
    chance = np.clip(rng.standard_normal((int(size / rate * 900) + 2, 2)), -3.0, 3.0) * means.roughness
    for jitter, shimmer in (chance * (0.035, 0.22)).tolist():
        if marks[-1] > size / rate:
            break
        marks.append(marks[-1] + (1.0 + jitter) / hertz[int(marks[-1] * 100.0)])
        strengths.append(1.0 + shimmer)
    time = np.arange(size) / rate
    phase = np.interp(time, marks, np.arange(len(marks)))
    table, flow = _pulse(means, float(hertz.max()), float(np.median(hertz)), rate)
    index = ((phase - np.floor(phase)) * _TABLE).astype(np.int64)
    wave = read_table(table, phase)
    return wave * np.interp(phase, np.arange(len(marks)), strengths), flow[index]


def _pulse(means: Delivery, highest: float, usual: float, rate: int) -> tuple[Wave, Wave]:
    turn = np.arange(_TABLE) / _TABLE
    flow = np.where(
        turn < _OPEN,
        0.5 - 0.5 * np.cos(np.pi * turn / _OPEN),
        np.where(turn < _CLOSED, np.cos(0.5 * np.pi * (turn - _OPEN) / (_CLOSED - _OPEN)), 0.0),
    )
    spectrum = np.fft.rfft(flow)
    harmonic = np.arange(spectrum.size)
    # The lips pass on the change of the flow; a tense voice keeps more of its upper harmonics.
    edge = 500.0 + 3500.0 * means.tension**1.5
    spectrum *= 1j * harmonic / (1.0 + (harmonic * usual / edge) ** 2) ** 0.5
    spectrum[harmonic > max(1, int(0.45 * rate / highest))] = 0.0
    wave = np.fft.irfft(spectrum, _TABLE)
    wave /= np.sqrt(np.mean(wave * wave))
    return np.append(wave, wave[0]), flow


def _points(step: int, rate: int) -> int:
    return 1 << int(np.ceil(np.log2(2 * step + _TAIL_SECONDS * rate)))


def _resonances(formants: Wave, scale: float, axis: Wave) -> Spectra:
    fixed = np.ones(axis.size, dtype=np.complex128)
    for centre, bandwidth in _FIXED:
        fixed *= _denominator(np.array([scale * centre]), bandwidth, axis)[0]
    below = fixed[None, :]
    for centre, bandwidth in zip(formants.T, _MOVING, strict=True):
        below = below * _denominator(centre, bandwidth, axis)
    return 1.0 / below


def _denominator(centre: Wave, bandwidth: float, axis: Wave) -> Spectra:
    """One over a resonance with a gain of one at 0 Hz: a row per centre."""
    bend: Spectra = (axis * (axis - 1j * bandwidth)).astype(np.complex128)
    return 1.0 - bend / (centre * centre)[:, None]


def _band(centre: Wave, width: Wave, axis: Wave) -> Spectra:
    shape: Spectra = np.exp(-0.5 * ((axis - centre[:, None]) / width[:, None]) ** 2).astype(np.complex128)
    return shape


def _add(out: Wave, source: Wave, which: Places, step: int, response: Spectra) -> None:
    """Pass each stretch of the source through its own response and add the results up in ``out``."""
    window = np.hanning(2 * step + 1)[:-1]
    stretches = np.lib.stride_tricks.sliding_window_view(source, 2 * step)[::step][which] * window
    size = 2 * (response.shape[1] - 1)
    passed = np.fft.irfft(np.fft.rfft(stretches, size, axis=1) * response, size, axis=1)
    for position, stretch in zip(which.tolist(), passed, strict=True):
        out[position * step : position * step + size] += stretch
