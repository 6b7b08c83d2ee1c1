"""``clap``: how well a text matches a sound, by a contrastive language-audio model of the Transformers library.

The sound is one channel at the model's rate, cut into windows of the model's own length: one after the other, the last
one moved back to end with the clip. A shorter clip is repeated to fill one window. The clip's vector is the mean of its
windows' unit vectors. Nothing is drawn at random.

Source: Wu et al. 2023, "Large-scale contrastive language-audio pretraining with feature fusion and keyword-to-caption
augmentation"; the released models' own preprocessing, whose random crop the windows replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from heartfelt.media.sound import decode
from heartfelt.predictors.matching import Matcher, Vector
from heartfelt.predictors.predictor import PREDICTORS
from heartfelt.predictors.pretrained import loaded, text_vector, transformers_library
from heartfelt.predictors.tiny import write_tiny_clap

DEFAULT = "laion/clap-htsat-unfused"
_AT_ONCE = 16


@PREDICTORS.register("clap")
class Clap(Matcher):
    """Text and sound in one space."""

    name: ClassVar[str] = "clap"
    about: ClassVar[str] = "cosine of text and sound by a CLAP model"
    default: ClassVar[str] = DEFAULT
    argument: ClassVar[str] = f"a folder or a name on the hub ({DEFAULT})"

    def __init__(self, where: str, options: Mapping[str, str]) -> None:
        super().__init__(where, options)
        library = transformers_library()
        self._load(where, library.ClapModel)
        processor = loaded(where, library.ClapProcessor.from_pretrained)
        self._extract: Any = processor.feature_extractor
        self._tokenize: Any = processor.tokenizer

    @classmethod
    def example(cls, folder: Path) -> str:
        """A tiny model with random weights."""
        return str(write_tiny_clap(folder / "tiny-clap"))

    @property
    def identity(self) -> str:
        """The model's content and what the options change."""
        return f"clap {self._identity} windows=1 temperature={self.temperature:.9g}"

    def embed_text(self, text: str) -> tuple[Vector, str | None]:
        """The text's vector, and a remark where only a part of it was read."""
        # The text encoder counts its positions from two.
        longest = min(
            int(self._tokenize.model_max_length), self._model.config.text_config.max_position_embeddings - 2
        )
        return text_vector(self._model, self._tokenize, text, longest)

    def embed_media(self, content: bytes) -> Vector:
        """The mean of the windows' unit vectors."""
        import torch

        rate = int(self._extract.sampling_rate)
        windows = cut_windows(decode(content, rate), int(self._extract.nb_max_samples))
        vectors = []
        for start in range(0, len(windows), _AT_ONCE):
            some = windows[start : start + _AT_ONCE]
            features = self._extract(some, sampling_rate=rate, return_tensors="pt")
            # The extractor marks a random window as longer than it is where fusion is on.
            longer = torch.zeros((len(some), 1), dtype=torch.bool, device=self.device)
            with torch.inference_mode():
                found = self._model.get_audio_features(
                    features["input_features"].float().to(self.device), is_longer=longer
                )
            vectors.append(_pooled(found))
        every = np.concatenate(vectors)
        mean: Vector = (every / np.linalg.norm(every, axis=1, keepdims=True)).mean(axis=0)
        return mean


def cut_windows(samples: npt.NDArray[np.float32], length: int) -> list[npt.NDArray[np.float32]]:
    """Windows of ``length`` samples that cover the clip, the last one ending with it; a shorter clip is the only one."""
    if samples.shape[0] <= length:
        return [samples]
    starts = list(range(0, samples.shape[0] - length + 1, length))
    if starts[-1] + length < samples.shape[0]:
        starts.append(samples.shape[0] - length)
    return [samples[start : start + length] for start in starts]


def _pooled(found: Any) -> Vector:
    out: Vector = found.pooler_output.float().cpu().numpy()
    return out
