"""What is wrong with a clip before anybody rates it, and which clips are nearly the same.

*Silent*: no 20 ms above -60 dB; a clip of which over half is so quiet is reported too. *Clipped*: at least three samples in a row
at the clip's largest value, if that is above -1 dB; more than ten such runs a second are reported. *DC offset*: the mean is more
than 1% of full scale. *Edge*: the first or last sample is more than a tenth of the clip's own root mean square away from zero,
which is heard as a click.

The fingerprint is the difference hash of pictures taken of a spectrogram: power in 16 bands from 100 Hz to 7 kHz, a third of an
octave or more apart, averaged over 17 equal stretches, each compared with the one before. Copies at another level, rate or coding
differ in few of its 256 bits; the same clip cropped elsewhere is another clip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from heartfelt.media.sound import Samples, checked_samples, resample, to_one_channel
from heartfelt.stats.columns.triples import Floats

SILENCE_DB, _QUIET_DB = -60.0, -40.0
_STEP_SECONDS = 0.02
_EDGE = 0.1
_CLIP_LEVEL, _CLIP_RUN, _CLIP_RATE = 10.0 ** (-1.0 / 20.0), 3, 10.0
_OFFSET = 0.01
_RATE, _FRAME, _BANDS, _STRETCHES = 16_000, 512, 16, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundChecks:
    """The checks of one clip: numbers, and what is wrong in words."""

    seconds: float
    channels: int
    rate: int
    silent_share: float
    """The share of 20 ms steps below -60 dB."""
    offset: float
    """The largest mean of a channel, as a share of full scale."""
    clipped_runs: int
    problems: tuple[str, ...]

    @property
    def silent(self) -> bool:
        """Whether nothing can be heard."""
        return self.silent_share == 1.0


def check_sound(samples: Samples, rate: int) -> SoundChecks:
    """Look over a clip of ``(frames, channels)`` or ``(frames,)``."""
    from heartfelt.media.sounds._kernels_sound import peak_runs, step_power

    samples = checked_samples(samples)
    columns = np.ascontiguousarray(samples[:, None] if samples.ndim == 1 else samples)
    seconds = columns.shape[0] / rate
    power, sums, peak = step_power(columns, max(1, round(_STEP_SECONDS * rate)))
    silent = float(np.mean(power <= 10.0 ** (SILENCE_DB / 10.0)))
    offset = float(np.abs(sums).max()) / columns.shape[0]
    runs = int(peak_runs(columns, peak, _CLIP_RUN)) if peak >= _CLIP_LEVEL else 0
    problems = []
    if silent == 1.0:
        problems.append("silent")
    elif silent > 0.5:
        problems.append(f"silent for {silent:.0%} of its length")
    if runs > _CLIP_RATE * seconds:
        problems.append(f"clipped {runs} times")
    if offset > _OFFSET:
        problems.append(f"a DC offset of {offset:.1%} of full scale")
    jump = _EDGE * math.sqrt(float(power.mean()))
    ends = {"begins": columns[0], "ends": columns[-1]}
    problems += [f"{name} abruptly" for name, sample in ends.items() if float(np.abs(sample).max()) > jump > 0.0]
    return SoundChecks(
        seconds=seconds,
        channels=columns.shape[1],
        rate=rate,
        silent_share=silent,
        offset=offset,
        clipped_runs=runs,
        problems=tuple(problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepLevels:
    """The level of a clip in steps of 20 ms, from which stretches of it are judged."""

    step: int
    """Frames of a step."""
    power: Floats
    """Power summed up to each step."""
    silent: Floats
    """Silent steps up to each: those below -60 dB, or over 40 dB below the mean power of the steps above -60 dB."""

    @classmethod
    def of(cls, samples: Samples, rate: int) -> Self:
        """The levels of a clip of ``(frames, channels)``."""
        from heartfelt.media.sounds._kernels_sound import step_power

        step = max(1, round(_STEP_SECONDS * rate))
        power = step_power(np.ascontiguousarray(samples), step)[0]
        floor = 10.0 ** (SILENCE_DB / 10.0)
        loud = power[power > floor]
        quiet = max(floor, 10.0 ** (_QUIET_DB / 10.0) * float(loud.mean())) if loud.size else floor
        return cls(
            step=step,
            power=np.concatenate([[0.0], np.cumsum(power)]),
            silent=np.concatenate([[0.0], np.cumsum(power <= quiet)]),
        )

    def silent_share(self, start: int, length: int) -> float:
        """The share of silent steps among those that begin in a stretch of ``length`` frames."""
        first = min(-(-start // self.step), self.silent.size - 2)
        last = max(first + 1, min(-(-(start + length) // self.step), self.silent.size - 1))
        return float(self.silent[last] - self.silent[first]) / (last - first)

    def loudest(self, length: int) -> int:
        """The frame at which the loudest stretch of ``length`` frames begins."""
        steps = min(max(1, length // self.step), self.power.size - 1)
        return int(np.argmax(self.power[steps:] - self.power[:-steps])) * self.step


def sound_hash(samples: Samples, rate: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    """The fingerprint of a clip as 32 bytes; None where it is too short or silent."""
    mono = resample(to_one_channel(checked_samples(samples)), rate, _RATE)
    frames = mono.shape[0] // _FRAME
    if frames < _STRETCHES or not mono.any():
        return None
    blocks = mono[: frames * _FRAME].reshape(frames, _FRAME) * np.hanning(_FRAME).astype(np.float32)
    spectrum = np.square(np.abs(np.fft.rfft(blocks, axis=1)))
    edges = np.searchsorted(np.fft.rfftfreq(_FRAME, 1.0 / _RATE), np.geomspace(100.0, 7_000.0, _BANDS + 1))
    bands = np.add.reduceat(spectrum, np.maximum.accumulate(edges)[:-1], axis=1)
    stretches = np.array([part.mean(axis=0) for part in np.array_split(bands, _STRETCHES)])
    level: Floats = np.log(stretches + 1e-12 * stretches.max())
    return np.packbits((level[1:] > level[:-1]).ravel())


def energetic_starts(samples: Samples, rate: int, seconds: float, within_db: float = 10.0) -> Floats:
    """The starts in seconds, every 20 ms, of stretches that are at most ``within_db`` quieter than the loudest."""
    from heartfelt.media.sounds._kernels_sound import step_power

    columns = np.ascontiguousarray(samples[:, None] if samples.ndim == 1 else samples)
    step = max(1, round(_STEP_SECONDS * rate))
    total = np.concatenate([[0.0], np.cumsum(step_power(columns, step)[0])])
    length = max(1, math.floor(seconds * rate / step))
    power = total[length:] - total[:-length]
    return np.flatnonzero(power >= power.max() * 10.0 ** (-within_db / 10.0)) * step / rate
