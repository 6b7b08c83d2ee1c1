"""Instruments as small arrays: one note in, one waveform out. NumPy only.

Pitched voices read a band-limited wavetable built for the note, so nothing aliases however bright it is.
The plucked voice is a Karplus-Strong string solved in closed form: averaging neighbours once a period is a
filter on the period's spectrum, so period ``p`` is the first one times that filter to the power ``p``.

Source: Karplus & Strong 1983 (digital synthesis of plucked-string and drum timbres).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Wave: TypeAlias = npt.NDArray[np.float64]

_TABLE = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Tone:
    """One note for a voice: its frequency, length and how it is to be played (shares from 0 to 1)."""

    hertz: float
    seconds: float
    rate: int
    brightness: float
    softness: float


Voice: TypeAlias = Callable[[Tone, np.random.Generator], Wave]


def envelope(frames: int, rate: int, attack: float, decay: float, sustain: float, release: float) -> Wave:
    """Attack, decay, sustain and release in seconds, the release inside ``frames``."""
    rise = min(max(int(attack * rate), 1), max(frames // 2, 1))
    fall = min(max(int(release * rate), 1), frames)
    shape = sustain + (1.0 - sustain) * np.exp(-np.arange(frames) / max(decay * rate, 1.0))
    shape[:rise] *= 0.5 - 0.5 * np.cos(np.pi * np.arange(rise) / rise)
    shape[frames - fall :] *= 0.5 + 0.5 * np.cos(np.pi * (np.arange(fall) + 1) / fall)
    return shape


def _table(weights: Wave) -> Wave:
    spectrum = np.zeros(_TABLE // 2 + 1, dtype=np.complex128)
    spectrum[1 : weights.size + 1] = -1j * weights
    wave = np.fft.irfft(spectrum, _TABLE)
    wave /= np.sqrt(np.mean(wave * wave)) * 2.5
    return np.append(wave, wave[0])


def _partials(tone: Tone, most: int) -> Wave:
    return np.arange(1.0, max(1, min(most, int(0.45 * tone.rate / tone.hertz))) + 1.0)


def read_table(table: Wave, phase: Wave) -> Wave:
    """A wavetable of one period and one more sample, read at phases in periods."""
    position = (phase - np.floor(phase)) * (table.size - 1)
    index = position.astype(np.int64)
    part = position - index
    return table[index] * (1.0 - part) + table[index + 1] * part


def _phase(tone: Tone, frames: int, rng: np.random.Generator, *, vibrato: float) -> Wave:
    time = np.arange(frames) / tone.rate
    wobble = vibrato * np.sin(2 * np.pi * 5.2 * time + 6.28 * rng.random()) * np.minimum(time / 0.35, 1.0)
    return tone.hertz * time + wobble * tone.hertz / (2 * np.pi * 5.2) + rng.random()


def warm(tone: Tone, rng: np.random.Generator) -> Wave:
    """A few harmonics over a strong fundamental, soft at the edges."""
    frames = int((tone.seconds + 0.12) * tone.rate)
    k = _partials(tone, 14)
    weights = k ** -(3.1 - 1.7 * tone.brightness)
    wave = read_table(_table(weights), _phase(tone, frames, rng, vibrato=0.003))
    shape = envelope(frames, tone.rate, 0.012 + 0.08 * tone.softness, 0.25 + 0.5 * tone.softness, 0.55, 0.12)
    return wave * shape


def plucked(tone: Tone, rng: np.random.Generator) -> Wave:
    """A string set in motion at once and dying away."""
    period = max(8, round(tone.rate / tone.hertz))
    frames = int((tone.seconds + 0.25) * tone.rate)
    rounds = int(frames * tone.hertz / tone.rate) + 3
    start = np.fft.rfft(rng.uniform(-1.0, 1.0, period))
    bins = np.arange(start.size)
    start *= np.exp(-bins / (2.0 + 0.5 * start.size * tone.brightness))
    start[0] = 0.0
    damping = np.cos(np.pi * bins / period) * np.exp(-(2.2 - 1.4 * tone.softness) / tone.hertz)
    powers = np.abs(damping)[None, :] ** np.arange(rounds)[:, None]
    string = np.fft.irfft(start[None, :] * powers, period, axis=1).ravel()
    position = np.arange(frames) * (period * tone.hertz / tone.rate)
    wave: Wave = np.interp(position, np.arange(string.size), string)
    loudest = float(np.abs(wave[: tone.rate // 8]).max(initial=1e-9))
    wave *= 0.9 / loudest
    return wave * envelope(frames, tone.rate, 0.002, 10.0, 1.0, 0.2)


def brass(tone: Tone, rng: np.random.Generator) -> Wave:
    """A sawtooth through a low-pass that opens with the attack and closes again."""
    frames = int((tone.seconds + 0.09) * tone.rate)
    k = _partials(tone, 60)
    phase = _phase(tone, frames, rng, vibrato=0.002)
    cutoff = 500.0 + 3600.0 * tone.brightness**1.5
    dark, bright = (1.0 / k / np.sqrt(1.0 + (k * tone.hertz / edge) ** 4) for edge in (0.45 * cutoff, cutoff))
    opening = envelope(frames, tone.rate, 0.04 + 0.05 * tone.softness, 0.3, 0.4, 0.09)
    wave = read_table(_table(dark), phase) * (1.0 - opening) + read_table(_table(bright), phase) * opening
    return wave * envelope(frames, tone.rate, 0.018 + 0.05 * tone.softness, 0.4, 0.7, 0.09)


def chip(tone: Tone, rng: np.random.Generator) -> Wave:
    """A pulse wave, narrower and harder the brighter it is, with the short steps of an old chip."""
    frames = int((tone.seconds + 0.03) * tone.rate)
    k = _partials(tone, 64)
    duty = 0.5 - 0.25 * tone.brightness
    weights = np.sin(np.pi * k * duty) / k * np.exp(-k / (5.0 + 40.0 * tone.brightness))
    wave = read_table(_table(weights), _phase(tone, frames, rng, vibrato=0.001))
    shape = envelope(frames, tone.rate, 0.003 + 0.02 * tone.softness, 0.2 + 0.3 * tone.softness, 0.5, 0.03)
    return wave * np.ceil(shape * 15.0) / 15.0 * 0.8


def drum(part: str, velocity: float, rate: int, rng: np.random.Generator) -> Wave:
    frames = int({"kick": 0.22, "snare": 0.16, "hat": 0.05}[part] * rate)
    time = np.arange(frames) / rate
    if part == "kick":
        wave = np.sin(2 * np.pi * (48.0 * time + 3.2 * (1.0 - np.exp(-time * 38.0)))) * np.exp(-time * 14.0)
    else:
        noise = rng.standard_normal(frames)
        rough = np.diff(noise, prepend=0.0) * 0.5
        wave = rough * np.exp(-time * 90.0) if part == "hat" else 0.45 * (noise * 0.4 + rough) * np.exp(-time * 26.0)
    wave[-32:] *= np.linspace(1.0, 0.0, 32)
    return wave * velocity


def room(dry: Wave, rate: int, share: float, rng: np.random.Generator) -> Wave:
    """A small room: the sound convolved with fading noise, mixed in by ``share``."""
    frames = int(0.9 * rate)
    time = np.arange(frames) / rate
    echo = rng.standard_normal(frames) * np.exp(-time * 6.5) * np.minimum(time / 0.012, 1.0)
    echo = np.convolve(echo, np.full(3, 1 / 3), mode="same")
    echo /= np.sqrt(np.sum(echo * echo))
    size = 1 << int(np.ceil(np.log2(dry.size + frames)))
    wet = np.fft.irfft(np.fft.rfft(dry, size) * np.fft.rfft(echo, size), size)[: dry.size]
    return (1.0 - share) * dry + share * wet


def soft_clip(wave: Wave, knee: float, span: float) -> None:
    """Leave a wave as it is up to ``knee`` and bend it towards ``knee + span`` above, in place: peaks never clip."""
    loud = np.abs(wave) > knee
    wave[loud] = np.sign(wave[loud]) * (knee + span * np.tanh((np.abs(wave[loud]) - knee) / span))
