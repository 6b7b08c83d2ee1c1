"""MusicNN on sound: fifty tags with probabilities, and embeddings of three-second patches.

Conventions: samples are mono float32 at 16,000 Hz, whole or as an iterable of blocks (then memory stays flat however
long the file). A patch is 187 frames of 96 log-mel bands, three seconds; without ``hop_seconds`` patches stand side by
side, as in the package. A clip shorter than a patch is repeated to fill one, as in training, and says so.

The package's own extractor takes the spectrogram times 10,000 in float16, which overflows for loud music; here it is
float32.

Source: J. Pons and X. Serra (2019), as in ``conversion/musicnn.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.networks.fixed_inputs import Tensors, sound
from heartfelt.predictors.networks.mel import RATE as RATE
from heartfelt.predictors.networks.mel import framed_mel_power, is_silent, mono, no_sound
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

Array = npt.NDArray[np.float32]
Statistic = Literal["mean", "std", "max"]

N_FFT = 512
HOP = 256
BANDS = 96
PATCH = 187

LAYERS = {
    "timbral": slice(0, 408),
    "temporal": slice(408, 561),
    "cnn1": slice(561, 625),
    "cnn2": slice(625, 689),
    "cnn3": slice(689, 753),
}
"""Where each layer lies in a pooled vector of 753."""

PARTS = ("tags", "penultimate", "mean_pool", "max_pool", "std_pool")

# fmt: off
TAGS = {
    "musicnn-msd": (
        "rock", "pop", "alternative", "indie", "electronic", "female vocalists", "dance", "00s", "alternative rock",
        "jazz", "beautiful", "metal", "chillout", "male vocalists", "classic rock", "soul", "indie rock", "Mellow",
        "electronica", "80s", "folk", "90s", "chill", "instrumental", "punk", "oldies", "blues", "hard rock", "ambient",
        "acoustic", "experimental", "female vocalist", "guitar", "Hip-Hop", "70s", "party", "country",
        "easy listening", "sexy", "catchy", "funk", "electro", "heavy metal", "Progressive rock", "60s", "rnb",
        "indie pop", "sad", "House", "happy",
    ),
    "musicnn-mtt": (
        "guitar", "classical", "slow", "techno", "strings", "drums", "electronic", "rock", "fast", "piano", "ambient",
        "beat", "violin", "vocal", "synth", "female", "indian", "opera", "male", "singing", "vocals", "no vocals",
        "harpsichord", "loud", "quiet", "flute", "woman", "male vocal", "no vocal", "pop", "soft", "sitar", "solo",
        "man", "classic", "choir", "voice", "new age", "dance", "male voice", "female vocal", "beats", "harp", "cello",
        "no voice", "weird", "country", "metal", "female voice", "choral",
    ),
}
# fmt: on


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MusicFeatures:
    """What MusicNN sees in a clip: one row per patch in every table."""

    names: tuple[str, ...]
    starts: npt.NDArray[np.float64]
    """Where each patch begins, in seconds."""
    seconds: float
    """How long the clip lasts."""
    tags: Array
    """Probabilities of the tags, ``(patches, 50)``."""
    penultimate: Array
    """The last layer before the tags, ``(patches, 200)``."""
    mean_pool: Array
    """Mean over a patch's frames of all layers, ``(patches, 753)``; :data:`LAYERS` says which is where."""
    max_pool: Array
    """The largest value over the frames, likewise."""
    std_pool: Array
    """The standard deviation over the frames, likewise."""
    warnings: tuple[str, ...] = ()

    def part(self, name: str) -> Array:
        """A table by name: one of :data:`PARTS`, or ``mean_pool.timbral`` for one layer of a pooled one."""
        part_name, _, layer = name.partition(".")
        if part_name not in PARTS or (layer and (layer not in LAYERS or not part_name.endswith("_pool"))):
            part_names = [*PARTS, *(f"{part}.{layer}" for part in PARTS[2:] for layer in LAYERS)]
            raise InputError(f"MusicNN has no part '{name}'.", suggestion(name, part_names, "Parts"))
        table: Array = getattr(self, part_name)
        return table[:, LAYERS[layer]] if layer else table

    def vector(self, parts: Sequence[str] = ("penultimate",), over: Sequence[Statistic] = ("mean",)) -> Array:
        """One vector for the clip: each part summarised over the patches, side by side.

        The standard deviation of a single patch is zero.
        """
        pieces = [getattr(self.part(part), statistic)(axis=0) for part in parts for statistic in over]
        out: Array = np.concatenate(pieces).astype(np.float32)
        return out

    def mean_tags(self) -> dict[str, float]:
        """Each tag's mean probability over the patches, the most probable first."""
        mean = self.tags.mean(axis=0)
        return {self.names[i]: float(mean[i]) for i in np.argsort(-mean, kind="stable")}


@dataclass(frozen=True, slots=True)
class PatchOptions:
    """How a clip is cut into patches."""

    hop_seconds: float | None = None
    """From one patch to the next; None for side by side."""
    to_the_end: bool = False
    """Whether a last patch ends where the clip ends, instead of leaving up to three seconds unseen."""

    def hop_frames(self) -> int:
        if self.hop_seconds is None:
            return PATCH
        if not 0 < self.hop_seconds <= 3600:
            raise InputError(f"Patches cannot be {self.hop_seconds} s apart.", "Give a positive number of seconds.")
        return max(1, round(self.hop_seconds * RATE / HOP))


def embed(
    samples: Array | Iterable[Array], *, model: str | Model = "musicnn-msd", options: PatchOptions | None = None
) -> MusicFeatures:
    """Tags and embeddings of a clip at 16 kHz."""
    options = options or PatchOptions()
    loaded = load_model(model) if isinstance(model, str) else model
    cutter = _Cutter(options)
    # One patch at a time: a batch is no faster, and falls out of the processor's caches.
    rows = [loaded.run({"patches": patch[None]}, list(PARTS)) for patch in cutter.patches(_blocks(samples))]
    tables = {part: np.concatenate([row[part] for row in rows]) for part in PARTS}
    return MusicFeatures(
        names=TAGS.get(loaded.name) or tuple(f"tag {number}" for number in range(tables["tags"].shape[1])),
        starts=np.asarray(cutter.starts) * HOP / RATE,
        seconds=cutter.samples / RATE,
        warnings=cutter.warnings(),
        **tables,
    )


def log_mel(samples: Array) -> Array:
    """The spectrogram MusicNN looks at, ``(frames, 96)``."""
    return log_power(mel_power_of(samples))


def mel_power_of(samples: Array) -> Array:
    """The power in its mel bands, before the logarithm; in proportion to the square of the level."""
    return np.concatenate(list(_mel_blocks([mono(samples)])))


def log_power(power: Array) -> Array:
    spectrogram: Array = np.log10(power * np.float32(10_000.0) + np.float32(1.0))
    return spectrogram


def _blocks(samples: Array | Iterable[Array]) -> Iterator[Array]:
    if isinstance(samples, np.ndarray):
        samples_mono = mono(samples)
        # Ten seconds at a time: the spectrogram of an hour is not held either.
        for start in range(0, max(len(samples_mono), 1), 10 * RATE):
            yield samples_mono[start : start + 10 * RATE]
    else:
        for block in samples:
            yield mono(block)


def _mel_blocks(blocks: Iterable[Array]) -> Iterator[Array]:
    waiting = np.zeros(N_FFT // 2, dtype=np.float32)
    for block in blocks:
        waiting = np.concatenate([waiting, block])
        frames = framed_mel_power(waiting, RATE, N_FFT, HOP, BANDS)
        waiting = waiting[len(frames) * HOP :]
        yield frames
    yield framed_mel_power(np.pad(waiting, (0, N_FFT // 2)), RATE, N_FFT, HOP, BANDS)


class _Cutter:
    """Cuts a clip into patches as it comes in, and remembers what there was."""

    def __init__(self, options: PatchOptions) -> None:
        self.hop = options.hop_frames()
        self.to_the_end = options.to_the_end
        self.starts: list[int] = []
        self.samples = 0
        self.frames = 0
        self.peak = 0.0

    def patches(self, blocks: Iterable[Array]) -> Iterator[Array]:
        """The patches in order, ``(187, 96)`` each."""
        frames_waiting, first = np.empty((0, BANDS), dtype=np.float32), 0
        upcoming = 0
        for frames in map(log_power, _mel_blocks(self._counted(blocks))):
            frames_waiting = np.concatenate([frames_waiting, frames])
            self.frames += len(frames)
            while upcoming + PATCH <= self.frames:
                yield self._patch(frames_waiting, upcoming, first)
                upcoming += self.hop
            # Kept for a patch that may end with the clip.
            keep_from = min(upcoming, max(0, self.frames - PATCH))
            frames_waiting, first = frames_waiting[keep_from - first :], keep_from
        if self.samples == 0:
            raise no_sound()
        if not self.starts:
            self.starts.append(0)
            yield np.resize(frames_waiting, (PATCH, BANDS))
        elif self.to_the_end and self.starts[-1] + PATCH < self.frames:
            yield self._patch(frames_waiting, self.frames - PATCH, first)

    def _patch(self, frames_waiting: Array, start: int, first: int) -> Array:
        self.starts.append(start)
        return frames_waiting[start - first : start - first + PATCH]

    def _counted(self, blocks: Iterable[Array]) -> Iterator[Array]:
        for block in blocks:
            self.samples += len(block)
            self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
            yield block

    def warnings(self) -> tuple[str, ...]:
        out = []
        if self.frames < PATCH:
            out.append(
                f"the clip lasts {self.samples / RATE:.2f} s, less than one patch of 3 s; it was repeated to fill one"
            )
        if is_silent(self.peak):
            out.append("the clip is silent")
        return tuple(out)


def reference_answers(model: Model) -> Tensors:
    features = embed(sound(6 * RATE), model=model)
    return {part: features.part(part) for part in PARTS}
