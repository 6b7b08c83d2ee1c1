"""The same recording in several clips: cut elsewhere, louder or softer, resampled, coded again, with a little noise.

Two steps. *Candidates* share landmarks (Wang 2003): pairs of spectral peaks, hashed by both frequencies and the time between them.
An inverted index of the hashes gives the clips that share many at one offset; a hash that many clips share links each of them only
to the next few, so the work grows with the number of landmarks, not of pairs of clips. *The waveforms decide*: at that offset the
samples of both clips are correlated, step by step. Coding, level and rate leave the waveform nearly as it is; two renderings of one
prompt, however alike they sound, do not agree sample by sample.

Clips are one channel at 8 kHz here. A recording that was played faster, transposed or mixed with another is another recording.

Source: A. Wang (2003), An industrial-strength audio search algorithm, ISMIR.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from heartfelt.errors import HeartfeltError
from heartfelt.media.sound import Samples, decode
from heartfelt.progress import Progress
from heartfelt.stats.columns.triples import Floats, Ints

RATE = 8_000
_FRAME, _HOP, _BANDS = 1024, 128, 60
_PEAK_FRAMES, _PEAK_BANDS = 8, 2
"""A peak is the largest value within so many frames and bands on either side."""
_PEAK_RANGE = 1e-3
"""Values this far below the clip's largest are no peaks."""
_FOLLOWING = 6
_TRIPLES = ((1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4))
"""A peak makes landmarks with each of the next six, and with these two of the next four."""
_MAX_FRAMES = 127
_LINKED = 6
"""A landmark links a clip to the clips of this many of its next occurrences."""
_MIN_LANDMARKS, _MIN_SHARED = 10, 0.03
"""Different landmarks that candidates share at one offset: so many, and this share of those in the overlap."""
MIN_OVERLAP = 1.5
"""Seconds that two clips must share."""
_STEP = RATE // 4
_LAG = 4 * _HOP
"""Samples on either side of a candidate's offset among which the best is looked for."""
_MIN_CORRELATION, _MIN_AGREEMENT = 0.7, 0.8
"""Steps of a quarter of a second agree from this correlation on; this share of the steps with sound must agree."""
_MAX_NEXT_BEST = 0.99
"""Where another offset is as good as this share of the best, the sound is a steady tone and says nothing."""
_SILENT_STEP = 3e-3
"""Steps this far (in power) below the loudest are left out of the comparison."""
_BLOCK = 4096
"""Frames whose spectra are in memory at once."""
_DECODED = 64
"""Clips kept in memory while candidates are compared."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Landmarks:
    """The landmarks of one clip: their hashes, and the frames at which they begin."""

    hashes: Ints
    frames: Ints


NO_LANDMARKS = Landmarks(hashes=np.zeros(0, np.int64), frames=np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """Two clips, by their positions, that share landmarks at one offset, in frames."""

    first: int
    second: int
    offset: int


def landmarks(mono: Samples) -> Landmarks:
    """The landmarks of one channel at 8 kHz; none where it is shorter than a frame, or silent."""
    frames, bands = _peaks(mono)
    hashes: list[Ints] = []
    starts: list[Ints] = []
    for step in range(1, min(_FOLLOWING, frames.size - 1) + 1):
        frame_distance = frames[step:] - frames[:-step]
        near = frame_distance <= _MAX_FRAMES
        hashes.append(((bands[:-step] << 12) | (bands[step:] << 6) | frame_distance >> 1)[near])
        starts.append(frames[:-step][near])
    for second, third in _TRIPLES:
        count = frames.size - third
        if count <= 0:
            continue
        parts = [slice(at, at + count) for at in (0, second, third)]
        sooner, later = (frames[part] - frames[:count] for part in parts[1:])
        near = later <= _MAX_FRAMES
        pitches = (bands[parts[0]] << 12) | (bands[parts[1]] << 6) | bands[parts[2]]
        hashes.append(((1 << 30) | (pitches << 10) | (sooner >> 2 << 5) | later >> 2)[near])
        starts.append(frames[:count][near])
    nothing = np.zeros(0, np.int64)
    return Landmarks(hashes=np.concatenate([nothing, *hashes]), frames=np.concatenate([nothing, *starts]))


def _peaks(mono: Samples) -> tuple[Ints, Ints]:
    """The frames and bands of spectral peaks, in the order of time."""
    from scipy.ndimage import maximum_filter

    if mono.shape[0] < _FRAME or not mono.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    windows, shape = np.lib.stride_tricks.sliding_window_view(mono, _FRAME)[::_HOP], np.hanning(_FRAME)
    edges = np.unique(np.round(np.geomspace(4, _FRAME // 2 + 1, _BANDS + 1)).astype(np.int64))
    blocks = (windows[start : start + _BLOCK] for start in range(0, windows.shape[0], _BLOCK))
    spectra = (np.square(np.abs(np.fft.rfft(block * shape.astype(np.float32), axis=1))) for block in blocks)
    level = np.sqrt(np.concatenate([np.add.reduceat(power, edges[:-1], axis=1) for power in spectra]))
    size = (2 * _PEAK_FRAMES + 1, 2 * _PEAK_BANDS + 1)
    highest = maximum_filter(level, size, mode="constant")
    frames, bands = np.nonzero((level == highest) & (level > _PEAK_RANGE * level.max()))
    return frames, bands


def same_recordings(paths: Sequence[Path | str], progress: Progress | None = None, workers: int | None = None) -> Ints:
    """For each audio file, the position of the first with the same recording; one that cannot be read is its own."""
    files = [Path(path) for path in paths]
    clips: list[Landmarks] = []
    with ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1)) as pool:
        for result in pool.map(_landmarks_of, files):
            clips.append(result)
            if progress is not None:
                progress("comparing recordings", len(clips), len(files))
    return recording_groups(clips, lambda position: decode(files[position], RATE))


def recording_groups(clips: Sequence[Landmarks], samples: Callable[[int], Samples]) -> Ints:
    """For each clip, the position of the first with the same recording.

    ``samples`` gives a clip's one channel at 8 kHz by its position; it is called for candidates only.
    """
    groups = np.arange(len(clips))
    remembered = lru_cache(_DECODED)(samples)
    for candidate in _candidates(clips):
        low, high = sorted((groups[candidate.first], groups[candidate.second]))
        if low == high or not _distinctive(candidate, clips):
            continue
        if _agree(remembered(candidate.first), remembered(candidate.second), candidate.offset * _HOP):
            groups[groups == high] = low
    return groups


def _landmarks_of(path: Path) -> Landmarks:
    try:
        return landmarks(decode(path, RATE))
    except HeartfeltError:
        return NO_LANDMARKS


def _candidates(clips: Sequence[Landmarks]) -> Iterator[_Candidate]:
    """Pairs of clips with many different landmarks at one offset, those with the most first."""
    owners = np.repeat(np.arange(len(clips)), [clip.hashes.size for clip in clips])
    if owners.size < 2:
        return
    hashes = np.concatenate([clip.hashes for clip in clips])
    frames = np.concatenate([clip.frames for clip in clips])
    order = np.lexsort((frames, owners, hashes))
    hashes, frames, owners = hashes[order], frames[order], owners[order]
    span = 2 * int(frames.max()) + 1
    votes: list[Ints] = []
    for step in range(1, _LINKED + 1):
        linked = np.flatnonzero((hashes[step:] == hashes[:-step]) & (owners[step:] != owners[:-step]))
        pairs = owners[linked] * len(clips) + owners[linked + step]
        votes.append(pairs * span + frames[linked] - frames[linked + step] + span // 2)
    alignments, counts = np.unique(np.concatenate(votes), return_counts=True)
    # A cut between two frames spreads one offset over two.
    adjacent = np.append(np.diff(alignments) == 1, False)
    counts = counts + np.where(adjacent, np.append(counts[1:], 0), 0)
    strong = np.flatnonzero(counts >= _MIN_LANDMARKS)
    seen_pairs: set[int] = set()
    for at in strong[np.argsort(-counts[strong], kind="stable")].tolist():
        pair, offset = divmod(int(alignments[at]), span)
        if pair not in seen_pairs:
            seen_pairs.add(pair)
            yield _Candidate(first=pair // len(clips), second=pair % len(clips), offset=offset - span // 2)


def _distinctive(candidate: _Candidate, clips: Sequence[Landmarks]) -> bool:
    """Whether a candidate shares enough different landmarks: a steady tone has the same few again and again."""
    first, second = clips[candidate.first], clips[candidate.second]
    end = int(first.frames.max())
    shifted = second.frames + candidate.offset
    inside = (shifted >= 0) & (shifted <= end)
    hashes, shifted = second.hashes[inside], shifted[inside]
    keys = first.hashes * (end + 2) + first.frames
    shared = np.isin(hashes * (end + 2) + shifted, keys) | np.isin(hashes * (end + 2) + shifted + 1, keys)
    least = max(_MIN_LANDMARKS, _MIN_SHARED * np.unique(hashes).size)
    return np.unique(hashes[shared]).size >= least


def _agree(first: Samples, second: Samples, near: int) -> bool:
    """Whether the waveforms of two clips agree where the second begins about ``near`` samples into the first."""
    lag, next_best = _best_lag(first, second, near)
    start, stop = max(0, lag), min(first.size, second.size + lag)
    least = min(MIN_OVERLAP * RATE, 0.8 * min(first.size, second.size))
    if stop - start < max(least, _STEP) or next_best > _MAX_NEXT_BEST:
        return False
    steps = (stop - start) // _STEP
    left, right = (
        part[: steps * _STEP].astype(np.float64).reshape(steps, _STEP)
        for part in (first[start:stop], second[start - lag : stop - lag])
    )
    powers = [np.square(part).sum(axis=1) for part in (left, right)]
    heard = np.logical_or(*(power > _SILENT_STEP * power.max() for power in powers))
    scale = np.sqrt(powers[0] * powers[1])
    correlation: Floats = np.abs(np.einsum("ij,ij->i", left, right)) / np.where(scale > 0, scale, 1.0)
    if heard.sum() * _STEP < least / 2:
        return False
    return float((correlation[heard] >= _MIN_CORRELATION).mean()) >= _MIN_AGREEMENT


def _best_lag(first: Samples, second: Samples, near: int) -> tuple[int, float]:
    """The offset in samples, near a given one, at which the second clip correlates most with the first.

    Also how high the next best offset is beside it: 1 for a steady tone, which agrees with itself at any of its periods.
    """
    from scipy.signal import correlate

    start, stop = max(0, near - _LAG), min(first.size, second.size + near + _LAG)
    begin, end = max(0, -near), min(second.size, first.size - near)
    if end - begin < _STEP:
        return near, 1.0
    products = np.abs(correlate(first[start:stop], second[begin:end], mode="full", method="fft"))
    lags = np.arange(products.size) - (end - begin - 1) + start - begin
    close = np.abs(lags - near) <= _LAG
    products, lags = products[close], lags[close]
    best = int(products.argmax())
    falling = np.diff(products) < 0
    after = best + int(np.argmin(np.append(falling[best:], False)))
    before = int(best - np.argmin(np.append(~falling[:best][::-1], False)))
    outside = np.concatenate([products[:before], products[after + 1 :]])
    return int(lags[best]), float(outside.max(initial=0.0) / max(float(products[best]), 1e-30))
