"""Preparation (crop, resample, loudness, true peak, checks, fingerprint) beside the same steps with librosa and pyloudnorm.

Clips of 30 s, stereo, 44.1 kHz, WAV, are cropped to 10 s at 48 kHz and -23 LUFS and written as WAV, on one core. The manifest is
written too. The script is what one would write first, one clip after the other: ``librosa.load``, ``librosa.resample`` (soxr, as
ours), pyloudnorm's meter, checks on librosa's frames, a hash of its mel spectrogram, SHA-256 of both files.
Real time counts the 10 s that raters hear, not the 30 s that were read.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

from heartfelt.stimuli.options import PrepareOptions
from heartfelt.stimuli.preparation.preparing import prepare
from heartfelt.streams import stream

CLIPS, LONG, SECONDS, RATE, TO_RATE, RUNS = 24, 30, 10, 44_100, 48_000, 3
_STUDY = """
heartfelt: 1
name: benchmark
media: audio
seed: 1
systems: [{id: A}, {id: B}]
stimuli: {manifest: stimuli.csv, media: media}
scales: {valence: {type: points, points: 9}}
questions: [{id: valence, text: Pleasant, scale: valence}]
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = _study(folder)

        def ours(format: str = ".wav") -> None:
            shutil.rmtree(folder / "media" / "prepared", ignore_errors=True)
            prepare(folder, PrepareOptions(seconds=SECONDS, format=format), workers=1)

        ours()
        compared = importlib.util.find_spec("librosa") and importlib.util.find_spec("pyloudnorm")
        if compared:
            _script(files[0], folder / "script.wav")
        mine, theirs = [], []
        for _ in range(RUNS):
            mine.append(_seconds(ours))
            if compared:
                theirs.append(_seconds(lambda: [_script(file, folder / "script.wav") for file in files]))
        wall, used = map(min, zip(*mine, strict=True))
        length = CLIPS * SECONDS
        print(
            f"{CLIPS} clips of {LONG} s, stereo, {RATE} Hz, cropped to {SECONDS} s at {TO_RATE} Hz, one core, best of {RUNS}"
        )
        print(
            f"prepare: {length / wall:.0f} times real time, {length / used:.0f} in processor time (aim: at least 100)"
        )
        if theirs:
            their_wall, their_used = map(min, zip(*theirs, strict=True))
            print(
                f"librosa and pyloudnorm: {length / their_wall:.0f} times real time; ours {their_wall / wall:.1f} times as fast,"
                f" {their_used / used:.1f} in processor time (aim: at least 2.5)"
            )
        else:
            print("librosa or pyloudnorm is not here (extra 'peers'); their row is left out")
        wall, used = _seconds(lambda: ours(".opus"))
        print(
            f"the same written as Opus, which encoding decides: {length / used:.0f} times real time in processor time"
        )


def _study(folder: Path) -> list[Path]:
    """Tones with tremolo and noise, a different level for every clip."""
    (folder / "study.yaml").write_text(_STUDY, encoding="utf-8")
    at = np.arange(LONG * RATE) / RATE
    files, rows = [], ["stimulus,system,path"]
    (folder / "media").mkdir()
    for place in range(CLIPS):
        rng = stream(0, "benchmark", "prepared", place)
        tones = sum(
            np.sin(2 * np.pi * hertz * at) * (1 + np.sin(2 * np.pi * slow * at))
            for hertz, slow in zip(rng.uniform(80, 4_000, 6), rng.uniform(0.2, 5, 6), strict=True)
        )
        samples = np.stack([tones + rng.normal(0, 0.3, at.size) for _ in range(2)], axis=1)
        files.append(folder / "media" / f"{place:02d}.wav")
        soundfile.write(files[-1], samples * rng.uniform(0.2, 0.9) / np.abs(samples).max(), RATE)
        rows.append(f"c{place},{'AB'[place % 2]},{files[-1].name}")
    (folder / "stimuli.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return files


def _script(path: Path, target: Path) -> tuple[object, ...]:
    import librosa
    import pyloudnorm

    whole, rate = librosa.load(path, sr=None, mono=False)
    silent = np.mean(librosa.feature.rms(y=librosa.to_mono(whole), frame_length=882, hop_length=882) < 1e-3)
    peak = np.abs(whole).max()
    top = (np.abs(whole) >= 0.9999 * peak).astype(int)
    clipped = np.sum(top[:, 2:] & top[:, 1:-1] & top[:, :-2]) if peak > 0.89 else 0
    offset = np.abs(whole.mean(axis=1)).max()
    edges = np.abs(whole[:, [0, -1]]).max(axis=0) > 0.1 * np.sqrt(np.mean(whole**2))
    length = SECONDS * RATE
    start = np.random.default_rng(0).integers(0.15 * whole.shape[1], 0.85 * whole.shape[1] - length)
    clip = whole[:, start : start + length].copy()
    fade = round(0.02 * rate)
    ramp = 0.5 - 0.5 * np.cos(np.pi * np.arange(fade) / fade)
    clip[:, :fade] *= ramp
    clip[:, -fade:] *= ramp[::-1]
    clip = librosa.resample(clip, orig_sr=rate, target_sr=TO_RATE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loudness = pyloudnorm.Meter(TO_RATE).integrated_loudness(clip.T)
    gain = -23.0 - loudness
    true_peak = np.abs(librosa.resample(clip, orig_sr=TO_RATE, target_sr=4 * TO_RATE)).max()
    clip = clip * 10.0 ** (min(gain, -1.0 - 20.0 * np.log10(true_peak)) / 20.0)
    mono = librosa.resample(librosa.to_mono(clip), orig_sr=TO_RATE, target_sr=16_000)
    mel = librosa.feature.melspectrogram(y=mono, sr=16_000, n_fft=512, hop_length=512, n_mels=16, fmin=100, fmax=7_000)
    level = np.log(np.array([part.mean(axis=1) for part in np.array_split(mel, 17, axis=1)]) + 1e-12)
    soundfile.write(target, clip.T, TO_RATE)
    hashes = [hashlib.sha256(each.read_bytes()).hexdigest() for each in (path, target)]
    return hashes, silent, clipped, offset, edges, loudness, np.packbits(level[1:] > level[:-1])


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Time on the clock, and time of the processor over all threads."""
    begun, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - used


if __name__ == "__main__":
    main()
