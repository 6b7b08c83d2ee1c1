"""Frozen embeddings: what a head is trained on. A file becomes rows of numbers, one per window of time.

``music`` looks at windows of about ten seconds (a file up to fifteen is one window) through both MusicNN models, which hear
every window at the same level, and at the sound itself; ``music-levelled`` also at the sound brought to one level; ``music-msd``
does the same through the first MusicNN model alone, in three quarters of the time; ``picture`` looks at an image through
EfficientNet-Lite; ``music-words`` adds the sentence the stimulus was made from, through MiniLM. ``clap:MODEL``, ``mert:MODEL`` and
``clip:MODEL`` look through a model of the user's choice (:mod:`heartfelt.predictors.trained.hub_embeddings`). A long file is never
held whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.sound import CANCELS, SoundFile, resample
from heartfelt.predictors.networks import minilm, musicnn
from heartfelt.predictors.networks import sound_features as sound
from heartfelt.predictors.networks.images import efficientnet
from heartfelt.predictors.networks.mel import RATE, no_sound
from heartfelt.predictors.trained.folder import BaseModel
from heartfelt.predictors.weights import MODELS, load_model
from heartfelt.registry import Registry

Array: TypeAlias = npt.NDArray[np.float32]

WINDOW_SECONDS = 10
_REST_SECONDS = 5
_POOLS = ("mean_pool", "max_pool", "std_pool")
_LEVEL = 10 ** (-18 / 20)
_QUIET = 10 ** (-60 / 20)
_SHORT = "the clip lasts"
SILENT = "the clip is silent; its prediction is meaningless"
SPEECH = "the clip has the pauses of speech"
_MOST_PAUSES = 0.27
"""The share of quiet frames from which a window is taken for speech: 1% of the clips of AImoclips have more."""


@dataclass(frozen=True, slots=True)
class EmbeddingBlock:
    """A stretch of columns that belong together; every block counts alike, however many columns it has."""

    name: str
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The rows of one stimulus: one per window."""

    rows: Array
    starts: npt.NDArray[np.float64]
    """Where each window begins, in seconds."""
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def too_short(self) -> bool:
        """Whether there is too little sound to predict anything from it."""
        return any(word.startswith(_SHORT) for word in self.warnings)

    @property
    def mean(self) -> Array:
        out: Array = self.rows.mean(axis=0)
        return out


class Embedding(ABC):
    """A frozen embedding. Its ``identity`` names everything that decides its numbers."""

    name: ClassVar[str]
    about: ClassVar[str]
    media: ClassVar[str]
    blocks: ClassVar[tuple[EmbeddingBlock, ...]]
    uses_text: ClassVar[bool] = False
    near_duplicate: ClassVar[float | None] = None
    """The cosine of standardised rows from which two stimuli count as nearly the same; None where no such cosine is known."""
    models: ClassVar[tuple[str, ...]] = ()
    """The models of the catalogue behind it."""

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def base_models(self) -> tuple[BaseModel, ...]:
        """The models behind it, as a trained model's card names them."""
        return tuple(BaseModel.of(MODELS[name]) for name in self.models)

    @property
    @abstractmethod
    def identity(self) -> str:
        """The models behind it, and the version of what is done with them."""

    @abstractmethod
    def of(self, path: Path | str, text: str | None = None) -> Features:
        """The rows of a file, or an error that says why there are none."""


class EmbeddingRegistry(Registry[type[Embedding]]):
    """Embeddings by name; ``NAME:ARG`` is one of the classes that look through a model of the user's choice."""

    def __getitem__(self, name: str) -> type[Embedding]:
        kind, colon, argument = name.partition(":")
        embedding = super().__getitem__(kind)
        if not colon:
            return embedding
        bound = getattr(embedding, "bound", None)
        if bound is None or not argument:
            raise InputError(
                f"'{name}' is not an embedding: '{kind}' takes {'a model after the colon' if bound else 'no argument'}.",
                f"Write {kind}:MODEL, with a folder or a name on the hub." if bound else f"Write {kind}.",
            )
        of_model: type[Embedding] = bound(argument)
        return of_model

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).partition(":")[0])


EMBEDDINGS = EmbeddingRegistry("embedding", homes=("heartfelt.predictors.trained.hub_embeddings",))


class MusicnnEmbedding(Embedding):
    """Music through MusicNN (both models) and the sound itself.

    Louder recordings of the same music are no happier, so MusicNN hears all at one level; what level there was is in the
    columns of the sound itself.
    """

    name = "music"
    about = "MusicNN (MSD and MTT) and the level, brightness, rhythm, harmony, roughness and bandwidth of the sound"
    media = "audio"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (
        EmbeddingBlock("msd", 200),
        EmbeddingBlock("msd-pools", 3 * 753),
        EmbeddingBlock("mtt", 200),
        EmbeddingBlock("tags", 100),
        EmbeddingBlock("signal", len(sound.SIGNAL_NAMES)),
        EmbeddingBlock("rhythm", len(sound.RHYTHM_NAMES)),
        EmbeddingBlock("harmony", len(sound.HARMONY_NAMES)),
        EmbeddingBlock("roughness", len(sound.ROUGHNESS_NAMES)),
        EmbeddingBlock("bandwidth", sound.BANDWIDTH_BANDS),
    )
    models: ClassVar[tuple[str, ...]] = ("musicnn-msd", "musicnn-mtt")
    near_duplicate: ClassVar[float | None] = 0.97

    @property
    def identity(self) -> str:
        return "music 4; " + "; ".join(MODELS[name].identity for name in self.models)

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        clip = SoundFile.of(path)
        rows, starts, speech, peak, at = [], [], [], 0.0, 0.0
        for samples in windows(clip.samples(), clip.rate):
            rows.append(self.row(samples, clip.rate))
            starts.append(at)
            at += len(samples) / clip.rate
            peak = max(peak, float(np.abs(samples).max(initial=0.0)))
            speech.append(self._is_speech(samples, clip.rate))
        doubts = sound_doubts(clip.rate, at, peak)
        if speech and np.mean(speech) >= 0.5:
            doubts = (*doubts, SPEECH)
        return Features(np.stack(rows), np.asarray(starts), at, doubts if clip.channel is None else (CANCELS, *doubts))

    def _is_speech(self, samples: Array, rate: int) -> bool:
        """Whether a window sounds like speech; not asked by earlier versions, whose models answer as they did."""
        del samples, rate
        return False

    def row(self, samples: Array, rate: int = RATE) -> Array:
        heard = resample(samples, rate, RATE)
        if not len(heard):
            raise no_sound()
        loud = max(float(np.sqrt(np.mean(heard.astype(np.float64) ** 2))), _QUIET)
        gain = np.float32(_LEVEL / loud)
        power = musicnn.mel_power_of(heard)
        levelled_mel = musicnn.log_power(power * gain**2)
        mel = musicnn.log_power(power).astype(np.float64)
        strength = sound.strengths(heard)
        tones = sound.chroma(strength)
        parts: list[npt.NDArray[Any]] = [
            *self._outputs(levelled_mel),
            sound.signal_features(heard, mel, tones),
            sound.rhythm(mel),
            sound.harmony(tones),
            sound.roughness(strength),
            sound.bandwidth(samples, rate),
            *self._levelled(heard * gain, levelled_mel, strength * gain, tones * np.sqrt(gain)),
        ]
        row: Array = np.concatenate(parts).astype(np.float32)
        return row

    def _levelled(self, samples: Array, mel: Array, strength: Array, tones: sound.Floats) -> list[npt.NDArray[Any]]:
        """More blocks, from the sound brought to one level and its spectra."""
        del samples, mel, strength, tones
        return []

    def _outputs(self, mel: Array) -> list[Array]:
        """What the models see: the first in all patches, the second in the middle patch, which costs hardly any accuracy."""
        count = len(mel) // musicnn.PATCH
        if count:
            patches = mel[: count * musicnn.PATCH].reshape(count, musicnn.PATCH, musicnn.BANDS)
        else:
            patches = np.resize(mel, (1, musicnn.PATCH, musicnn.BANDS))
        msd, *other_models = (load_model(name) for name in self.models)
        # One patch at a time: its maps stay near the processor, which is faster than several at once.
        patch_outputs = [msd.run({"patches": patch[None]}, ["tags", "penultimate", *_POOLS]) for patch in patches]
        means = {part: np.mean([row[part][0] for row in patch_outputs], axis=0) for part in patch_outputs[0]}
        middle = len(patches) // 2
        heard = [
            model.run({"patches": patches[middle : middle + 1]}, ["tags", "penultimate"]) for model in other_models
        ]
        tags = np.log(np.concatenate([means["tags"], *(output["tags"][0] for output in heard)]) + 1e-3)
        pools = [means[part] for part in _POOLS]
        return [means["penultimate"], *pools, *(output["penultimate"][0] for output in heard), tags]


class MusicLevelled(MusicnnEmbedding):
    """Music as above, and level-free: what the sound itself is like once it was brought to one level.

    A head that looks at the last three blocks instead of the three they repeat gives the same answer however loud a file is.
    """

    name = "music-levelled"
    about = (
        "MusicNN (MSD and MTT) and the level, brightness, rhythm, harmony, roughness and bandwidth of the sound,"
        " brightness, rhythm and roughness also of the sound brought to one level"
    )
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (
        *MusicnnEmbedding.blocks,
        EmbeddingBlock("signal, levelled", len(sound.SIGNAL_NAMES)),
        EmbeddingBlock("rhythm, levelled", len(sound.RHYTHM_NAMES)),
        EmbeddingBlock("roughness, levelled", len(sound.ROUGHNESS_NAMES)),
    )

    @property
    def identity(self) -> str:
        return f"{super().identity}; levelled 1"

    def _levelled(self, samples: Array, mel: Array, strength: Array, tones: sound.Floats) -> list[npt.NDArray[Any]]:
        wide = mel.astype(np.float64)
        return [sound.signal_features(samples, wide, tones), sound.rhythm(wide), sound.roughness(strength)]


class MusicMsd(MusicLevelled):
    """As above without the second MusicNN model, which adds a quarter to the time and nothing to the accuracy.

    A file half of whose windows have the pauses of speech says so.
    """

    name = "music-msd"
    about = MusicLevelled.about.replace("MSD and MTT", "MSD")
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = tuple(
        EmbeddingBlock("tags", 50) if block.name == "tags" else block
        for block in MusicLevelled.blocks
        if block.name != "mtt"
    )
    models: ClassVar[tuple[str, ...]] = ("musicnn-msd",)

    @property
    def identity(self) -> str:
        return f"{super().identity}; pauses 1"

    def _is_speech(self, samples: Array, rate: int) -> bool:
        return sound.pauses(samples, rate) > _MOST_PAUSES


class PictureEmbedding(Embedding):
    """A photograph or drawing through EfficientNet-Lite."""

    name = "picture"
    about = "EfficientNet-Lite 2 (ImageNet): its embedding and its classes"
    media = "image"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (
        EmbeddingBlock("efficientnet", 1280),
        EmbeddingBlock("classes", 1000),
    )
    model = "efficientnet-lite2"
    models: ClassVar[tuple[str, ...]] = (model,)
    near_duplicate: ClassVar[float | None] = 0.85
    outputs: ClassVar[tuple[str, ...]] = ("embedding", "logits")
    """The network's outputs behind the blocks, in order."""

    @property
    def identity(self) -> str:
        return f"{self.name.replace('-', ' ')} 1; {MODELS[self.model].identity}"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        output = efficientnet.look([Path(path)], model=self.model, view="whole")
        row = np.concatenate([output[part][0] for part in self.outputs]).astype(np.float32)
        return Features(row[None], np.zeros(1), 0.0)


class PictureStages(PictureEmbedding):
    """A photograph or drawing through EfficientNet-Lite, with two inner stages."""

    name = "picture-stages"
    about = "EfficientNet-Lite 2 (ImageNet): its embedding, its classes and the means of two inner stages"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (
        *PictureEmbedding.blocks,
        EmbeddingBlock("stage6", 208),
        EmbeddingBlock("stage5", 120),
    )
    model = "efficientnet-lite2-stages"
    models: ClassVar[tuple[str, ...]] = (model,)
    outputs: ClassVar[tuple[str, ...]] = ("embedding", "logits", "stage6", "stage5")


class MusicWords(Embedding):
    """Music and the sentence it was made from."""

    name = "music-words"
    about = "the music embedding and MiniLM of the sentence the music was made from"
    media = "audio"
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = (*MusicnnEmbedding.blocks, EmbeddingBlock("words", 384))
    uses_text: ClassVar[bool] = True
    models: ClassVar[tuple[str, ...]] = (*MusicnnEmbedding.models, "minilm")

    @property
    def identity(self) -> str:
        return f"{MusicnnEmbedding().identity}; words 1; {MODELS['minilm'].identity}"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        if not text:
            raise InputError(f"{path} comes without the text it was made from.", "Give the stimulus its prompt.")
        heard = MusicnnEmbedding().of(path)
        words = np.repeat(minilm.embed([text]), len(heard.rows), axis=0)
        return Features(np.concatenate([heard.rows, words], axis=1), heard.starts, heard.seconds, heard.warnings)


for _embedding in (MusicnnEmbedding, MusicLevelled, MusicMsd, PictureEmbedding, PictureStages, MusicWords):
    EMBEDDINGS.add(_embedding.name, _embedding)


def windows(blocks: Iterator[Array], rate: int) -> Iterator[Array]:
    """Mono sound in windows of ten seconds; a rest under five seconds is part of the window before it."""
    size, shortest_tail = WINDOW_SECONDS * rate, _REST_SECONDS * rate
    buffer: Array = np.zeros(0, np.float32)
    for block in blocks:
        buffer = np.concatenate([buffer, block])
        while len(buffer) >= size + shortest_tail:
            yield buffer[:size]
            buffer = buffer[size:]
    if len(buffer):
        yield buffer


def sound_doubts(rate: int, seconds: float, peak: float) -> tuple[str, ...]:
    """What is doubtful about a sound file, in words that flags are read from."""
    out = []
    if peak < _QUIET:
        out.append(SILENT)
    if seconds < 3.0:
        out.append(f"{_SHORT} {seconds:.2f} s; the model was made from clips of ten seconds")
    if rate < RATE:
        out.append(f"the file has {rate:,} samples per second; the model was made for {RATE:,} or more")
    return tuple(out)


def columns_of(blocks: Sequence[EmbeddingBlock]) -> dict[str, slice]:
    out, at = {}, 0
    for block in blocks:
        out[block.name] = slice(at, at + block.size)
        at += block.size
    return out
