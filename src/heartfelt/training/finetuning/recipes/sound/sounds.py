"""Sound and words as inputs: crops at a model's own rate, and prompts as tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media.sound import Samples, SoundFile, decode
from heartfelt.predictors.measures.contrastive import cut_windows

if TYPE_CHECKING:
    from heartfelt.training.finetuning.task import Tensors


class Crops:
    """Stretches of ``length`` samples at ``rate``; a shorter clip is repeated as often as it fits, then followed by silence.

    Only what is needed is read and resampled, whatever the rate of the file.
    """

    def __init__(self, rate: int, length: int) -> None:
        self.rate, self.length = rate, length
        self._known: dict[Path, SoundFile] = {}

    def _file(self, path: Path) -> SoundFile:
        if path not in self._known:
            self._known[path] = SoundFile.of(path)
        return self._known[path]

    def random(self, path: Path, generator: np.random.Generator) -> Samples:
        """A stretch that begins anywhere."""
        file = self._file(path)
        room = int(file.seconds * self.rate) - self.length
        if room <= 0:
            return self.fixed(path)[0]
        (samples,) = file.excerpts([int(generator.integers(0, room + 1))], self.length, self.rate)
        return samples

    def fixed(self, path: Path) -> list[Samples]:
        """Stretches one after the other that cover the clip, the last one ending with it."""
        return [self._filled(part) for part in cut_windows(decode(path, self.rate), self.length)]

    def _filled(self, samples: Samples) -> Samples:
        if samples.shape[0] >= self.length:
            return samples
        repeated = np.tile(samples, self.length // samples.shape[0])
        return np.pad(repeated, (0, self.length - repeated.shape[0]))


class Words:
    """Prompts as tokens, each read once."""

    def __init__(self, tokenizer: Any, longest: int) -> None:
        self.tokenizer, self.longest = tokenizer, longest
        self._known: dict[str, Tensors] = {}

    def of(self, text: str) -> Tensors:
        """``input_ids`` and ``attention_mask`` of one text."""
        if text not in self._known:
            tokens = self.tokenizer(text, return_tensors="pt", truncation=True, max_length=self.longest)
            self._known[text] = {key: tokens[key][0] for key in ("input_ids", "attention_mask")}
        return self._known[text]

    def padded(self, samples: Sequence[Tensors]) -> Tensors:
        """Tokens of several texts, filled to the longest."""
        import torch

        fills = {"input_ids": self.tokenizer.pad_token_id or 0, "attention_mask": 0}
        return {
            key: torch.nn.utils.rnn.pad_sequence(
                [sample[key] for sample in samples], batch_first=True, padding_value=fill
            )
            for key, fill in fills.items()
        }


def longest_text(tokenizer: Any, config: Any) -> int:
    """How many tokens a text encoder reads; some count positions from two."""
    positions = int(getattr(config, "max_position_embeddings", 512))
    from_two = 2 if getattr(config, "model_type", "") in ("roberta", "clap_text_model", "xlm-roberta") else 0
    return min(int(tokenizer.model_max_length), positions - from_two, 512)


def check_tokenizer(name: str, tokenizer: Any, config: Any) -> None:
    """Refuse a tokenizer that knows more tokens than the text encoder."""
    vocabulary_size = int(config.vocab_size)
    if len(tokenizer) > vocabulary_size:
        raise InputError(
            f"The tokenizer of '{name}' has {len(tokenizer):,} tokens, and its text encoder knows {vocabulary_size:,}:"
            " they do not belong together.",
            "Give a folder or hub name whose tokenizer and model were saved together.",
        )


def answers_on_scale(values: Mapping[str, Any], bounds: Mapping[str, tuple[float, float] | None]) -> Tensors:
    return {name: value if (ends := bounds[name]) is None else value.clamp(*ends) for name, value in values.items()}
