"""Frozen embeddings by models of the Transformers library: ``clap:MODEL``, ``mert:MODEL``, ``clip:MODEL``.

``MODEL`` is a folder or a name on the hub. CLAP and MERT hear windows of about ten seconds, as the music embeddings do: CLAP gives
its vector of the sound, MERT the mean over time of every layer, a block each. CLIP gives its vector of an image. Vectors have a
length of 1. MERT's weights are those of a HuBERT model and are read as such; its own Python code is not run, and a model that needs
more of it than that is refused.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from heartfelt.errors import InputError
from heartfelt.media.sound import CANCELS, SoundFile, resample
from heartfelt.predictors.trained.embeddings import (
    EMBEDDINGS,
    Array,
    Embedding,
    EmbeddingBlock,
    Features,
    sound_doubts,
    windows,
)
from heartfelt.predictors.weights.checkpoint import checkpoint_path, filled, open_checkpoint

_LOADING = Lock()
_NO_SIZES = ("model_type", "architectures", "torch_dtype", "dtype", "transformers_version", "auto_map")
"""Keys of a configuration that are not about the model's layers."""


class HubEmbedding(Embedding):
    """An embedding by a model of the user's choice; ``bound`` makes the class of one model."""

    default: ClassVar[str]
    argument: ClassVar[str] = ""
    blocks: ClassVar[tuple[EmbeddingBlock, ...]] = ()
    matcher: ClassVar[str] = ""
    """The predictor's class that loads the model and gives a vector, where one does."""

    @classmethod
    def bound(cls, argument: str) -> type[HubEmbedding]:
        """The class of embeddings that look through the model ``argument``."""
        path = Path(argument).expanduser()
        return _bound(cls, str(path.resolve()) if path.exists() else argument)

    @classmethod
    def blocks_of(cls, config: Mapping[str, Any]) -> tuple[EmbeddingBlock, ...]:
        """The columns, from the model's configuration: by default one vector."""
        return (EmbeddingBlock(cls.name, int(config.get("projection_dim", 512))),)

    def __init__(self) -> None:
        if not self.argument:
            raise InputError(
                f"The embedding '{self.name}' needs a model.", f"Write {self.name}:{self.default}, or a folder."
            )

    @property
    def identity(self) -> str:
        return f"{self.name.partition(':')[0]} 1; {self.model.identity}"

    @property
    def model(self) -> Any:
        """The model, loaded once per process."""
        with _LOADING:
            return _loaded(type(self))

    @classmethod
    def load(cls) -> Any:
        """Load the model, something with an ``identity``: by default the predictor of the same name."""
        from heartfelt.predictors.measures import contrastive

        return getattr(contrastive, cls.matcher).make(cls.argument)


@cache
def _bound(kind: type[HubEmbedding], argument: str) -> type[HubEmbedding]:
    path, _ = checkpoint_path(argument, ("config.json",))
    config = json.loads(path.read_bytes())
    name = f"{kind.name}:{argument}"
    return type(kind.__name__, (kind,), {"name": name, "argument": argument, "blocks": kind.blocks_of(config)})


@lru_cache(maxsize=2)
def _loaded(kind: type[HubEmbedding]) -> Any:
    return kind.load()


class _SoundEmbedding(HubEmbedding):
    """Windows of about ten seconds, a row each."""

    media = "audio"

    @abstractmethod
    def row(self, samples: Array) -> Array:
        """The row of one window of one channel at the model's rate."""

    def of(self, path: Path | str, text: str | None = None) -> Features:
        del text
        clip = SoundFile.of(path)
        rows, starts, at, peak = [], [], 0.0, 0.0
        for samples in windows(clip.samples(), clip.rate):
            rows.append(self.row(resample(samples, clip.rate, self.model.rate)))
            starts.append(at)
            at += len(samples) / clip.rate
            peak = max(peak, float(np.abs(samples).max(initial=0.0)))
        if not rows:
            raise InputError(f"{path} holds no sound.", "Check the file.")
        doubts = sound_doubts(clip.rate, at, peak)
        return Features(np.stack(rows), np.asarray(starts), at, doubts if clip.channel is None else (CANCELS, *doubts))


class ClapEmbedding(_SoundEmbedding):
    """Sound through CLAP."""

    name = "clap"
    about = "the vector of a CLAP model"
    default = "laion/clap-htsat-unfused"
    matcher = "ClapMatch"

    def row(self, samples: Array) -> Array:
        from heartfelt.predictors.measures.contrastive import unit

        return unit(self.model.embed_samples(samples))


class ClipEmbedding(HubEmbedding):
    """An image through CLIP."""

    name = "clip"
    about = "the image vector of a CLIP model"
    default = "openai/clip-vit-large-patch14"
    matcher = "ClipMatch"
    media = "image"

    def of(self, path: Path | str, text: str | None = None) -> Features:
        from heartfelt.predictors.measures.contrastive import unit

        del text
        row = unit(self.model.embed_media(Path(path).read_bytes()))
        return Features(row[None], np.zeros(1), 0.0)


class Mert(_SoundEmbedding):
    """Music through MERT."""

    name = "mert"
    about = "the mean over time of every layer of a MERT model"
    default = "m-a-p/MERT-v1-95M"

    @classmethod
    def blocks_of(cls, config: Mapping[str, Any]) -> tuple[EmbeddingBlock, ...]:
        size, depth = int(config.get("hidden_size", 768)), int(config.get("num_hidden_layers", 12))
        return tuple(EmbeddingBlock(f"layer {layer}", size) for layer in range(depth + 1))

    @classmethod
    def load(cls) -> Any:
        return _Hubert(cls.argument)

    def row(self, samples: Array) -> Array:
        means: Array = self.model.means(samples)
        return means


def _check_hubert(config: Mapping[str, Any], where: str) -> None:
    """Raise where the library's HuBERT model would compute something else than the model's own code."""
    needs = [name for name in ("feature_extractor_cqt", "deepnorm") if config.get(name)]
    needs += ["attention_relax"] if (config.get("attention_relax") or -1.0) > 0 else []
    if config.get("model_type") not in ("mert_model", "hubert") or needs:
        reason = f"it uses {', '.join(needs)}" if needs else f"its type is {config.get('model_type')}"
        raise InputError(
            f"'{where}' cannot be read as a HuBERT model: {reason}. Its own code from the hub is never run.",
            f"Use {Mert.default}.",
        )


class _Hubert:
    """MERT's weights in the library's HuBERT model, and the preprocessing its configuration asks for."""

    def __init__(self, where: str) -> None:
        from heartfelt.predictors.measures.hub_model import checkpoint_identity
        from heartfelt.predictors.weights.devices import checked_device
        from heartfelt.predictors.weights.hub import transformers_library

        library = transformers_library(where)
        files = ("model.safetensors", "pytorch_model.bin")
        checkpoint = open_checkpoint(where, files, ("config.json", "preprocessor_config.json"))
        config = checkpoint.config
        _check_hubert(config, where)
        names = library.HubertConfig().to_dict().keys() & config.keys() - set(_NO_SIZES)
        sizes = {name: config[name] for name in sorted(names)}
        self.device = checked_device("auto")
        model = library.HubertModel(library.HubertConfig(**sizes))
        tensors = checkpoint.state.renamed(
            (("weight_g$", "parametrizations.weight.original0"), ("weight_v$", "parametrizations.weight.original1"))
        )
        # Others belong to pre-training; what is in the way of sound to states must fit.
        for name in set(tensors) - set(model.state_dict()):
            if not name.startswith(("encoder.", "feature_")):
                del tensors[name]
        self.model = filled(model, tensors).to(self.device)
        file = checkpoint.path.with_name("preprocessor_config.json")
        facts = json.loads(file.read_bytes()) if file.is_file() else {}
        self.rate = int(facts.get("sampling_rate") or config.get("sample_rate") or 24_000)
        self.normalise = bool(facts.get("do_normalize", True))
        self.identity = checkpoint_identity(where, checkpoint)

    def means(self, samples: Array) -> Array:
        import torch

        if self.normalise:
            samples = (samples - samples.mean()) / np.sqrt(samples.var() + 1e-7)
        with torch.inference_mode():
            wave = torch.from_numpy(np.ascontiguousarray(samples, dtype=np.float32)).to(self.device)[None]
            layers = self.model(wave, output_hidden_states=True).hidden_states
            out: Array = torch.cat([layer[0].mean(dim=0) for layer in layers]).cpu().numpy()
        return out


for _embedding in (ClapEmbedding, ClipEmbedding, Mert):
    EMBEDDINGS.add(_embedding.name, _embedding)
