"""Frozen encoders of sound and text by name, and the states they give, stored by what the file holds.

Any model of the Transformers library that turns sound (``input_values`` or ``input_features``) or text (``input_ids``) into a
sequence of states. Sound is cut into windows one after the other, up to ``seconds``; the states of all of them are averaged into a
fixed number of steps, so that clips of any length are alike in size.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.files import write_bytes
from heartfelt.media.sound import decode
from heartfelt.predictors.measures.contrastive import cut_windows
from heartfelt.predictors.trained.feature_cache import user_features
from heartfelt.predictors.weights.hub import identity_of, loaded_from, quiet, transformers_library
from heartfelt.training.finetuning.recipes.sound.sounds import check_tokenizer, longest_text
from heartfelt.training.finetuning.task import Tensors

States = npt.NDArray[np.float32]
_SOUND, _TEXT = ("input_values", "input_features"), ("input_ids",)
_WINDOW_SECONDS = 10.0


def _frozen(where: str, main_inputs: Sequence[str], modality: str) -> Any:
    """A model that reads this kind of input, without gradients."""
    library = transformers_library()
    model = loaded_from(where, library.AutoModel.from_pretrained)
    if hasattr(model, "audio_model") and modality == "audio":
        model = model.audio_model
    elif hasattr(model, "text_model") and modality == "text":
        model = model.text_model
    elif hasattr(model, "get_encoder") and getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    if model.main_input_name not in main_inputs:
        raise InputError(
            f"'{where}' is not an encoder of {modality}: it reads {model.main_input_name}"
            f" (a model of type '{model.config.model_type}').",
            f"Give a model that reads {' or '.join(main_inputs)} as the {modality} encoder.",
        )
    return model.eval().requires_grad_(False)


class _Encoder:
    """What both kinds share: the model, its identity and the size of its states."""

    model: Any
    identity: str

    @property
    def size(self) -> int:
        """How many numbers a state has."""
        return int(self.model.config.hidden_size)

    def _sequence(self, inputs: Tensors, device: Any) -> Any:
        """States as ``(n, steps, size)``; a map of patches is read row by row."""
        import torch

        self.model.to(device)
        with torch.inference_mode():
            states = self.model(**{key: value.to(device) for key, value in inputs.items()}).last_hidden_state
        states = states.flatten(2).transpose(1, 2) if states.ndim == 4 else states
        if states.shape[-1] != self.size:
            raise InputError(
                f"The model's states have {states.shape[-1]} numbers, and its configuration says {self.size}.",
                "Use another model: this one does not fit its own configuration.",
            )
        return states.float()


class SoundEncoder(_Encoder):
    """Sound as states."""

    def __init__(self, where: str, *, seconds: float, steps: int) -> None:
        library = transformers_library()
        self.where, self.seconds, self.steps = where, seconds, steps
        self.model = _frozen(where, _SOUND, "audio")
        self.extractor = loaded_from(where, library.AutoFeatureExtractor.from_pretrained)
        self.rate = int(self.extractor.sampling_rate)
        longest = getattr(self.extractor, "nb_max_samples", None) or getattr(self.extractor, "n_samples", None)
        self.window = int(longest) if longest else round(_WINDOW_SECONDS * self.rate)
        self.identity = f"sound {identity_of(where, self.model)} seconds={seconds:g} steps={steps} window={self.window}"

    def of(self, path: Path, content: str, device: Any) -> States:
        """The states of a file, from the cache or computed and stored: ``(steps, size)``."""
        key = hashlib.sha256(self.identity.encode()).hexdigest()[:16]
        cached = user_features() / key / content[:2] / f"{content}.npy"
        with suppress(OSError, ValueError, EOFError):
            stored: States = np.load(io.BytesIO(cached.read_bytes()), allow_pickle=False)
            if stored.shape == (self.steps, self.size):
                return stored
        states = self._computed(path, device)
        memory = io.BytesIO()
        np.save(memory, states)
        with suppress(OSError):
            cached.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(cached, memory.getvalue())
        return states

    def _computed(self, path: Path, device: Any) -> States:
        import torch

        samples = decode(path, self.rate)[: round(self.seconds * self.rate)]
        parts = []
        for window in cut_windows(samples, self.window):
            features = self.extractor([window], sampling_rate=self.rate, return_tensors="pt")
            inputs = {key: value for key, value in features.items() if key in _SOUND}
            parts.append(self._sequence(inputs, device)[0])
        # Windows are joined before they are averaged, so that a long clip's parts count alike.
        states = torch.cat(parts).T[None]
        pooled = torch.nn.functional.adaptive_avg_pool1d(states, self.steps)[0].T
        out: States = pooled.cpu().numpy().astype(np.float32)
        if not np.isfinite(out).all():
            raise InputError(
                f"The encoder '{self.where}' gives numbers that are not finite for {path}.",
                "Check the clip and the model.",
            )
        return out

    def save(self, folder: Path) -> None:
        with quiet():
            self.model.save_pretrained(folder)
            self.extractor.save_pretrained(folder)


class TextEncoder(_Encoder):
    """Text as states, one per token."""

    def __init__(self, where: str) -> None:
        library = transformers_library()
        self.where = where
        self.model = _frozen(where, _TEXT, "text")
        self.tokenizer = loaded_from(where, library.AutoTokenizer.from_pretrained)
        check_tokenizer(where, self.tokenizer, self.model.config)
        self.identity = f"text {identity_of(where, self.model)}"
        self._longest = longest_text(self.tokenizer, self.model.config)
        self._known: dict[str, States] = {}

    def of(self, text: str, device: Any = "cpu") -> States:
        """The states of a text: ``(tokens, size)``."""
        if text not in self._known:
            tokens = self.tokenizer(text, return_tensors="pt", truncation=True, max_length=self._longest)
            inputs = {key: tokens[key] for key in ("input_ids", "attention_mask")}
            self._known[text] = self._sequence(inputs, device)[0].cpu().numpy().astype(np.float32)
        return self._known[text]

    def save(self, folder: Path) -> None:
        with quiet():
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
