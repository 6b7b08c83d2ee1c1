"""A sound file as the models hear it: its tags, and how good its speech sounds.

A long file is never held whole: music is decoded block by block, speech is judged on windows read where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.sound import SoundFile, decode, file_doubts
from heartfelt.predictors.networks import musicnn
from heartfelt.predictors.networks.mel import RATE
from heartfelt.predictors.networks.speech import JUDGES
from heartfelt.predictors.weights.loading import load_model
from heartfelt.progress import Progress
from heartfelt.stats.estimate import Estimate

_LONG_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswers:
    """What models predict of one file."""

    file: str
    seconds: float
    values: Mapping[str, Estimate]
    models: tuple[str, ...]
    """The models asked, with everything that decides their numbers."""
    warnings: tuple[str, ...] = field(default=())


def tags(path: Path | str, *, model: str = "musicnn-msd", progress: Progress | None = None) -> ModelAnswers:
    """The tags of a music file with their mean probability over patches of three seconds, the most probable first."""
    sound = SoundFile.of(path)
    loaded = load_model(model)
    features = musicnn.embed(_reported(sound, progress), model=loaded)
    method = f"{loaded.name}: mean probability over patches of 3 s"
    values = {
        tag: _estimate(share, method, {"patches": len(features.starts)}) for tag, share in features.mean_tags().items()
    }
    warnings = _warnings(sound) + features.warnings
    return ModelAnswers(
        file=str(path), seconds=round(features.seconds, 3), values=values, models=(loaded.identity,), warnings=warnings
    )


def speech_quality(
    path: Path | str, *, models: tuple[str, ...] = ("dnsmos", "distillmos"), progress: Progress | None = None
) -> ModelAnswers:
    """How good the speech in a file sounds, from 1 to 5: ``sig``, ``bak``, ``ovrl``, ``p808`` and ``distillmos``."""
    for name in models:
        if name not in JUDGES:
            raise InputError(f"'{name}' does not judge speech.", f"Choose from: {', '.join(JUDGES)}.")
    sound = SoundFile.of(path)
    samples = None if sound.seconds > _LONG_SECONDS else decode(path, RATE)
    seconds = sound.seconds if samples is None else len(samples) / RATE
    loaded = [load_model(name) for name in models]
    values: dict[str, Estimate] = {}
    warnings = list(_warnings(sound))
    for number, model in enumerate(loaded):
        if progress is not None:
            progress(f"listening to {path}", number, len(loaded))
        judge = JUDGES[model.name]
        if samples is None:
            windows = judge.windows(int(sound.seconds * RATE))
            excerpts = sound.excerpts(windows.starts, windows.length, RATE)
            quality = judge.of_windows(excerpts, windows.warnings, model=model)
        else:
            quality = judge(samples, model=model)
        for name, score in quality.scores.items():
            values[name] = _estimate(score, judge.scales[name], {"windows": quality.windows})
        warnings += [warning for warning in quality.warnings if warning not in warnings]
    identities = tuple(model.identity for model in loaded)
    return ModelAnswers(
        file=str(path), seconds=round(seconds, 3), values=values, models=identities, warnings=tuple(warnings)
    )


def _warnings(sound: SoundFile) -> tuple[str, ...]:
    return file_doubts(sound.rate, RATE, cancels=sound.channel is not None)


def _reported(sound: SoundFile, progress: Progress | None) -> Iterator[npt.NDArray[np.float32]]:
    done = 0
    for block in sound.resampled(RATE):
        yield block
        done += len(block)
        if progress is not None:
            progress(f"listening to {sound.path}", done // RATE, max(round(sound.seconds), done // RATE))


def _estimate(value: float, method: str, counts: Mapping[str, int]) -> Estimate:
    return Estimate(
        value=value, method=method, counts=counts, why_no_interval="the model gives a value without an interval"
    )
