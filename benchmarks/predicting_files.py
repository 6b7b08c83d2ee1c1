"""Valence and arousal of files: a cold start, a folder of ten-second clips, memory; beside the plain pipeline.

Nothing is answered from the cache of embeddings. Processor time counts, since other work on the machine changes the wall clock.

The plain pipeline is what one would write first: ``librosa.load``, librosa's log-mel, MusicNN in PyTorch on the same weights, one
clip after the other. Both run in the same process on the same clips; the ratio is what counts.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from scripts.weights.networks import tensors_of

import heartfelt
from heartfelt.predictors.weights import MODELS
from heartfelt.predictors.weights.store import archive_of
from heartfelt.streams import stream

CLIPS, SECONDS, RATE, RUNS = 24, 10, 44_100, 3
_COLD = "import sys, heartfelt; heartfelt.predict(sys.argv[1:])"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = _clips(folder)
        cold = min(_child_seconds(folder, ["-m", "heartfelt", "predict", str(files[0])]) for _ in range(RUNS))
        print(f"one file from a cold start: {cold:.2f} s of processor time (aim: under 1)")
        _predict(files[:1])
        begun = time.process_time()
        ours = min(_wall(lambda: _predict(files)) for _ in range(RUNS))
        used = (time.process_time() - begun) / RUNS / CLIPS
        print(f"a folder of {CLIPS} clips of {SECONDS} s, stereo WAV: {CLIPS / ours:.1f} clips/s (aim: 16)")
        print(f"processor time: {1000 * used:.0f} ms a clip, {2 / used:.1f} clips/s on two cores that are free")
        _memory(folder)
        if importlib.util.find_spec("librosa") is None or importlib.util.find_spec("torch") is None:
            print("the plain pipeline needs librosa and torch, which are not here")
            return
        plain = _Plain(folder)
        plain.run(files[:1])
        theirs = _wall(lambda: plain.run(files[:6])) / 6 * CLIPS
        print(f"plain pipeline (librosa, PyTorch): {CLIPS / theirs:.1f} clips/s; {theirs / ours:.1f} times the time")


def _clips(folder: Path) -> list[Path]:
    files = []
    time_ = np.arange(SECONDS * RATE) / RATE
    for place in range(CLIPS):
        rng = stream(0, "benchmark", "clip", place)
        tones = sum(0.1 * np.sin(2 * np.pi * hertz * time_) for hertz in rng.uniform(80, 2_000, 5))
        samples = np.stack([tones + rng.normal(0, 0.01, time_.size) for _ in range(2)], axis=1)
        files.append(folder / f"{place:02d}.wav")
        soundfile.write(files[-1], samples, RATE)
    return files


def _memory(folder: Path) -> None:
    """Peak memory of a process that predicts half a minute, and of one that predicts ten."""
    peaks = []
    for minutes in (0.5, 10):
        path = folder / f"{minutes}.flac"
        rng = stream(0, "benchmark", "long")
        with soundfile.SoundFile(path, "w", RATE, 1) as file:
            for _ in range(int(minutes * 6)):
                file.write(rng.normal(0, 0.05, 10 * RATE))
        _empty_cache(folder)
        code = _COLD + "; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
        path.unlink()
    print(f"peak memory: {peaks[0]:.0f} MB for half a minute, {peaks[1]:.0f} MB for ten minutes")


def _predict(files: Sequence[Path]) -> None:
    _empty_cache(files[0].parent)
    heartfelt.predict(list(files))


def _child_seconds(folder: Path, arguments: Sequence[str]) -> float:
    """The processor time of a Python process, user and system, on all cores."""
    _empty_cache(folder)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _empty_cache(folder: Path) -> None:
    os.environ["HEARTFELT_FEATURES"] = tempfile.mkdtemp(dir=folder)


def _wall(work: Any) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


class _Plain:
    """librosa and PyTorch, as one would write it first."""

    def __init__(self, folder: Path) -> None:
        self.weights = []
        for name in ("musicnn-msd",):
            member = MODELS[name].files["model.onnx"]
            with zipfile.ZipFile(archive_of(MODELS[name], folder, None)) as archive:
                self.weights.append(_tensors(tensors_of(member, archive.read(member), archive)))

    def run(self, files: Sequence[Path]) -> None:
        """Every clip through the network."""
        import librosa
        import torch

        for path in files:
            samples, _ = librosa.load(path, sr=16_000)
            power = librosa.feature.melspectrogram(y=samples, sr=16_000, n_fft=512, hop_length=256, n_mels=96)
            mel = np.log10(10_000 * power.T + 1).astype(np.float32)
            patches = torch.from_numpy(mel[: len(mel) // 187 * 187].reshape(-1, 187, 96))
            with torch.no_grad():
                for weights in self.weights:
                    _forward(weights, patches)


def _tensors(weights: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in weights.items()}


def _forward(w: Mapping[str, Any], patches: Any) -> Any:
    import torch
    from torch.nn import functional

    def normal(x: Any, number: int) -> Any:
        name = f"batch_normalization_{number}" if number else "batch_normalization"
        parts = [w[f"{name}/{key}"] for key in ("moving_mean", "moving_variance", "gamma", "beta")]
        return functional.batch_norm(x, parts[0], parts[1], parts[2], parts[3], eps=1e-3)

    def layer(x: Any, number: int, pad: tuple[int, int]) -> Any:
        name = f"conv2d_{number}" if number else "conv2d"
        kernel = w[f"{name}/kernel"].permute(3, 2, 0, 1)
        return normal(
            functional.relu(functional.conv2d(functional.pad(x, (0, 0, *pad)), kernel, w[f"{name}/bias"])), number + 1
        )

    image = normal(patches[:, None], 0)
    pads = ((3, 3), (3, 3), (63, 64), (31, 32), (15, 16))
    front = torch.cat([layer(image, number, pad).amax(3) for number, pad in enumerate(pads)], 1)
    maps = [front.transpose(1, 2)[:, None]]
    for number in (5, 6, 7):
        made = layer(maps[-1], number, (3, 3)).permute(0, 3, 2, 1)
        maps.append(made + maps[-1] if number > 5 else made)
    everything = torch.cat(maps, 3)[:, 0]
    pooled = torch.stack([everything.amax(1), everything.mean(1)], 2).flatten(1)
    hidden = functional.relu(normal(pooled, 9) @ w["dense/kernel"] + w["dense/bias"])
    return normal(hidden, 10) @ w["dense_1/kernel"] + w["dense_1/bias"]


if __name__ == "__main__":
    main()
