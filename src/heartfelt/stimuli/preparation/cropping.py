"""Where a clip is cropped: by the author's rule, and never into silence.

A step of 20 ms is silent if it is below -60 dB, or more than 40 dB below the clip's own level (the mean power of its steps above
-60 dB). A crop of which over half is silent is not used. Where the rule leaves a choice (``random``, ``energy``), the crop moves
to a place between the marks with the least silence, and a note says so; where the author fixed the place, or there is no such
place, the clip is refused with the place of its loudest stretch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media import audio
from heartfelt.media.sound import Samples
from heartfelt.media.sounds.checks import StepLevels, energetic_starts
from heartfelt.stats.columns.triples import Ints
from heartfelt.stimuli.options import PrepareOptions
from heartfelt.streams import stream

MAX_SILENT = 0.5
"""The share of a crop that may be silent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crop:
    """Part of a clip, with faded ends."""

    samples: Samples
    start: float
    """Seconds into the clip."""
    note: str | None = None
    """Where the crop would have been, if it was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """The first and the last frame at which a crop of ``length`` frames may begin."""

    earliest: int
    latest: int
    length: int


def cropped(clip: audio.Audio, stimulus: str, file: str, options: PrepareOptions, seed: int) -> Crop:
    """The crop of a clip that ``options`` ask for; an error that names the ``file`` where it is silent."""
    if options.seconds is None:
        return Crop(samples=clip.samples, start=0.0)
    length = audio.crop_length(clip.frames, clip.rate, options.seconds, stimulus)
    earliest, latest = (round(mark * clip.frames) for mark in options.between)
    latest -= length
    if latest < earliest:
        earliest = latest = min(max((earliest + latest) // 2, 0), clip.frames - length)
    marks = _Marks(earliest=earliest, latest=latest, length=length)
    wanted = _start(clip, stimulus, options, seed, marks)
    levels = StepLevels.of(clip.samples, clip.rate)
    start, note = wanted, None
    if levels.silent_share(wanted, length) > MAX_SILENT:
        audible = _audible_starts(clip, options, levels, marks)
        if options.crop in {"start", "centre"} or not audible.size:
            raise _in_silence(clip, file, options, levels, wanted, marks)
        start = int(stream(seed, "make", "audible", stimulus).choice(audible))
        note = f"moved to {start / clip.rate:.2f} s: the crop at {wanted / clip.rate:.2f} s was silent"
    return Crop(samples=_faded(clip, start, length, options.fade), start=start / clip.rate, note=note)


def _start(clip: audio.Audio, stimulus: str, options: PrepareOptions, seed: int, marks: _Marks) -> int:
    seconds = options.seconds or clip.seconds
    if options.crop == "random":
        return audio.crop_start(clip.frames, clip.rate, seconds, seed=seed, name=stimulus, between=options.between)
    if options.crop == "start":
        return marks.earliest
    if options.crop == "centre":
        return (marks.earliest + marks.latest) // 2
    allowed = _energetic_starts(clip, seconds, marks)
    return int(stream(seed, "make", "energy", stimulus).choice(allowed if allowed.size else np.array([marks.earliest])))


def _energetic_starts(clip: audio.Audio, seconds: float, marks: _Marks) -> Ints:
    starts = np.round(energetic_starts(clip.samples, clip.rate, seconds) * clip.rate).astype(np.int64)
    return starts[(starts >= marks.earliest) & (starts <= marks.latest)]


def _audible_starts(clip: audio.Audio, options: PrepareOptions, levels: StepLevels, marks: _Marks) -> Ints:
    """Frames between the marks, every 20 ms, at which a crop has the least silence, if that is little enough.

    With ``energy`` only those at which it is not much quieter than at its loudest, where there are any.
    """
    starts = np.arange(marks.earliest, marks.latest + 1, levels.step)
    if options.crop == "energy":
        energetic = _energetic_starts(clip, options.seconds or clip.seconds, marks)
        starts = energetic if energetic.size else starts
    shares = np.array([levels.silent_share(int(start), marks.length) for start in starts])
    least: Ints = starts[shares <= min(MAX_SILENT, float(shares.min()))]
    return least


def _in_silence(
    clip: audio.Audio, file: str, options: PrepareOptions, levels: StepLevels, start: int, marks: _Marks
) -> InputError:
    seconds, rate = options.seconds or clip.seconds, clip.rate
    share = levels.silent_share(start, marks.length)
    loudest = min(levels.loudest(marks.length), clip.frames - marks.length)
    low, high = loudest / clip.frames, (loudest + marks.length) / clip.frames
    return InputError(
        f"{file}: the crop of {seconds:g} s at {start / rate:.2f} s is silent for {share:.0%} of its length.",
        f"Its loudest {seconds:g} s begin at {loudest / rate:.2f} s: widen --between to include"
        f" {np.floor(low * 100) / 100:g}..{np.ceil(high * 100) / 100:g}, and use --crop random or energy.",
    )


def _faded(clip: audio.Audio, start: int, length: int, fade: float) -> Samples:
    """A stretch of a clip; ends that were cut fade over ``fade`` seconds."""
    samples = clip.samples[start : start + length].copy()
    size = min(round(fade * clip.rate), length // 2)
    if size:
        ramp = (0.5 - 0.5 * np.cos(np.pi * (np.arange(size) + 0.5) / size)).astype(np.float32)[:, None]
        if start > 0:
            samples[:size] *= ramp
        if start + length < clip.frames:
            samples[-size:] *= ramp[::-1]
    return samples
