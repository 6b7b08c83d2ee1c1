"""A sound file as the models hear it: its tags, and how good its speech sounds.

A long file is never held whole: music is decoded block by block, speech is judged on windows read where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.audio import resample
from heartfelt.media.decode import decode
from heartfelt.media.downmix import CANCELS, loudest_if_cancelling, one_channel
from heartfelt.media.sound_file import not_finite, opened
from heartfelt.models import distillmos, dnsmos, musicnn
from heartfelt.models.loading import load_model
from heartfelt.models.samples import RATE
from heartfelt.models.session import Model
from heartfelt.models.speech import Windows
from heartfelt.progress import Progress
from heartfelt.stats.estimate import Estimate

Array = npt.NDArray[np.float32]

_LONG_SECONDS = 120.0
_BLOCK_SECONDS = 10
_UNKNOWN = 1 << 62
"""What libsndfile says of files that do not tell their length, or more."""
_NO_INTERVAL = "the model gives a value without an interval"


@dataclass(frozen=True, slots=True)
class Heard:
    """What models say of one file."""

    file: str
    seconds: float
    values: Mapping[str, Estimate]
    models: tuple[str, ...]
    """The models that spoke, with everything that decides their numbers."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """A plain object for strict JSON."""
        return {
            "file": self.file,
            "seconds": round(self.seconds, 3),
            "values": {name: estimate.to_json() for name, estimate in self.values.items()},
            "models": list(self.models),
            "warnings": list(self.warnings),
        }


def tags(path: Path | str, *, model: str = "musicnn-msd", progress: Progress | None = None) -> Heard:
    """The tags of a music file with their mean probability over patches of three seconds, the most probable first."""
    clip = Clip.of(path)
    loaded = load_model(model)
    features = musicnn.embed(clip.blocks(progress), model=loaded)
    method = f"{loaded.name}: mean probability over patches of 3 s"
    values = {
        tag: _estimate(share, method, {"patches": len(features.starts)})
        for tag, share in features.mean_tags().items()
    }
    return Heard(str(path), features.seconds, values, (loaded.identity,), clip.warnings() + features.warnings)


def speech_quality(
    path: Path | str, *, models: tuple[str, ...] = ("dnsmos", "distillmos"), progress: Progress | None = None
) -> Heard:
    """How good the speech in a file sounds, from 1 to 5: ``sig``, ``bak``, ``ovrl``, ``p808`` and ``distillmos``."""
    for name in models:
        if name not in _JUDGES:
            raise InputError(f"'{name}' does not judge speech.", f"Choose from: {', '.join(_JUDGES)}.")
    clip = Clip.of(path)
    samples = None if clip.seconds > _LONG_SECONDS else decode(path, RATE)
    seconds = clip.seconds if samples is None else len(samples) / RATE
    loaded = [load_model(name) for name in models]
    values: dict[str, Estimate] = {}
    warnings = list(clip.warnings())
    for number, model in enumerate(loaded):
        if progress is not None:
            progress(f"listening to {path}", number, len(loaded))
        found, said = _JUDGES[model.name](model, clip, samples)
        values |= found
        warnings += [warning for warning in said if warning not in warnings]
    return Heard(str(path), seconds, values, tuple(model.identity for model in loaded), tuple(warnings))


def sound_blocks(path: Path | str, rate: int = RATE) -> Iterator[Array]:
    """A file's channels made one, at ``rate``, in blocks: the same samples as decoding it whole."""
    import soxr

    clip = Clip.of(path)
    if clip.rate == rate:
        yield from clip.samples()
        return
    stream = soxr.ResampleStream(clip.rate, rate, 1, dtype="float32", quality="HQ")
    for block in clip.samples():
        yield stream.resample_chunk(block)
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)


@dataclass(frozen=True, slots=True)
class Clip:
    """What a sound file says of itself."""

    path: Path | str
    frames: int
    rate: int
    channel: int | None = None
    """The channel to listen to where the channels cancel each other; None for their mean."""

    @classmethod
    def of(cls, path: Path | str) -> Clip:
        """What the file says; an error where it is no sound file."""
        with opened(path) as file:
            frames, rate = int(file.frames) if file.frames < _UNKNOWN else 0, int(file.samplerate)
            channel = loudest_if_cancelling(_read_blocks(file, rate)) if file.channels > 1 else None
        return cls(path, frames, rate, channel)

    @property
    def seconds(self) -> float:
        """How long it says it lasts; 0 where it does not say."""
        return self.frames / self.rate

    def warnings(self) -> tuple[str, ...]:
        """Doubts about the file itself."""
        out = [] if self.channel is None else [CANCELS]
        if self.rate < RATE:
            out.append(
                f"the file has {self.rate:,} samples a second; the models were made for {RATE:,}, and nothing above "
                f"{self.rate // 2:,} Hz is in it"
            )
        return tuple(out)

    def samples(self) -> Iterator[Array]:
        """The whole file at its own rate, channels made one, in blocks; an error where there is less than it promises."""
        with opened(self.path) as file:
            read = 0
            while True:
                frames = file.read(_BLOCK_SECONDS * self.rate, dtype="float32", always_2d=True)
                read += len(frames)
                yield _mono(frames, self.path, self.channel)
                if len(frames) < _BLOCK_SECONDS * self.rate:
                    break
        if read < self.frames:
            raise _cut_off(self.path, self.frames, read)
        if read == 0:
            raise InputError(f"{self.path} holds no sound (0 frames).", "Fetch or generate this clip again.")

    def blocks(self, progress: Progress | None) -> Iterator[Array]:
        """The whole file at the models' rate, with word of how far it got."""
        done = 0
        for block in sound_blocks(self.path):
            yield block
            done += len(block)
            if progress is not None:
                progress(f"listening to {self.path}", done // RATE, max(round(self.seconds), done // RATE))

    def excerpts(self, windows: Windows) -> Iterator[Array]:
        """The windows of a long file, each read where it stands."""
        with opened(self.path) as file:
            for start in windows.starts:
                at = start * self.rate // RATE
                wanted = min(-(-windows.length * self.rate // RATE) + 1, self.frames - at)
                file.seek(at)
                frames = file.read(wanted, dtype="float32", always_2d=True)
                if len(frames) < wanted:
                    raise _cut_off(self.path, self.frames, at + len(frames))
                samples = resample(_mono(frames, self.path, self.channel), self.rate, RATE)[: windows.length]
                yield np.pad(samples, (0, windows.length - len(samples)))


_Judged: TypeAlias = tuple[dict[str, Estimate], tuple[str, ...]]
_SCALES = {
    "sig": "the speech, P.835",
    "bak": "the background, P.835",
    "ovrl": "overall, P.835",
    "p808": "overall, P.808",
}


def _dnsmos(model: Model, clip: Clip, samples: Array | None) -> _Judged:
    if samples is None:
        windows = dnsmos.windows_of(int(clip.seconds * RATE))
        scores = dnsmos.score_windows(clip.excerpts(windows), model=model, warnings=windows.warnings)
    else:
        scores = dnsmos.score(samples, model=model)
    counts = {"windows": scores.windows}
    return {
        scale: _estimate(getattr(scores, scale), f"DNSMOS: {words}", counts)
        for scale, words in _SCALES.items()
    }, scores.warnings


def _distillmos(model: Model, clip: Clip, samples: Array | None) -> _Judged:
    if samples is None:
        windows = distillmos.windows_of(int(clip.seconds * RATE))
        quality = distillmos.score_windows(clip.excerpts(windows), model=model, warnings=windows.warnings)
    else:
        quality = distillmos.score(samples, model=model)
    estimate = _estimate(quality.score, "DistillMOS: overall quality", {"windows": quality.windows})
    return {"distillmos": estimate}, quality.warnings


_JUDGES = {"dnsmos": _dnsmos, "distillmos": _distillmos}


def _estimate(value: float, method: str, counts: Mapping[str, int]) -> Estimate:
    return Estimate(value, method=method, counts=counts, why_no_interval=_NO_INTERVAL)


def _cut_off(path: Path | str, promised: int, read: int) -> InputError:
    return InputError(
        f"{path} is cut off: its header promises {promised} frames and {read} can be read.",
        "Fetch or generate this clip again.",
    )


def _read_blocks(file: Any, rate: int) -> Iterator[Array]:
    while len(frames := file.read(_BLOCK_SECONDS * rate, dtype="float32", always_2d=True)):
        yield frames


def _mono(frames: Array, path: Path | str, channel: int | None) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mono: Array = one_channel(frames, channel)
    if not np.isfinite(mono.sum(dtype=np.float64)):
        raise not_finite(path)
    return mono
