"""Backbones: what turns pixels into feature maps, fine to coarse, and a vector.

ResNet50, ConvNeXt-T, Swin-T and ViT-B/16 are Transformers' classes, by folder or hub name (``from_pretrained``) or with random
weights; VGG16 and DenseNet121 are this package's, and read published checkpoints from a file. EfficientNet-Lite 2 is frozen:
its 1,280 numbers are computed before training, by heartfelt's own copy of the weights, and a layer over them is trained. A
vision transformer's map is its patches' tokens on their grid, taken at a quarter, half, three quarters and the end of its
depth; its vector is the class token.

A network that looks at maps only is built with ``vector=False``: what would make the vector is then left out or applied to the
last map, so that no parameter is without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.networks.efficientnet import DIMENSIONS
from heartfelt.predictors.weights.hub import loaded_from, transformers_library
from heartfelt.predictors.weights.network import hub_access
from heartfelt.training.finetuning.images.architectures import IMAGENET_MEAN, IMAGENET_SPREAD
from heartfelt.training.finetuning.images.networks.densenet import BLOCKS, FIRST, GROWTH, DenseNet121, current_names
from heartfelt.training.finetuning.images.networks.vgg import VGG16, WIDTHS
from heartfelt.wording import plural

_OF_CLASSES = {"id2label", "label2id", "num_labels", "problem_type", "architectures", "_name_or_path"}
"""What a configuration says of the classes its network was trained on."""
CHECKPOINTS = (".safetensors", ".pth", ".pt", ".bin")


class Seen(NamedTuple):
    """What a backbone makes of a batch of images."""

    maps: tuple[Tensor, ...]
    """``(batch, channels, height, width)``, up to five of them, the deepest last; none if nothing looks at them."""
    vector: Tensor
    """``(batch, width)``; None for a backbone built without it, whose vector nothing looks at."""


class Backbone(nn.Module):
    """A network from pixels to ``Seen``: ``widths`` are the channels of its maps, ``size`` the width of its vector."""

    reads = "pixels"
    """The input it looks at."""

    def __init__(self, network: nn.Module, widths: tuple[int, ...], size: int, *, vector: bool) -> None:
        super().__init__()
        self.network = network
        self.widths, self.size, self.has_vector = widths, size, vector
        self.has_maps = True

    def forward(self, pixels: Tensor) -> Seen:
        """Of plain networks, which have ``maps`` and ``vector``."""
        maps = self.network.maps(pixels)
        return Seen(tuple(maps), self.network.vector(maps[-1]) if self.has_vector else None)


class _ResNet(Backbone):
    def forward(self, pixels: Tensor) -> Seen:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        maps = out.hidden_states[1:] if self.has_maps else ()
        return Seen(maps, out.pooler_output.flatten(1) if self.has_vector else None)


class _ConvNext(Backbone):
    def forward(self, pixels: Tensor) -> Seen:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        maps: tuple[Tensor, ...] = out.hidden_states[1:] if self.has_maps else ()
        if self.has_vector:
            return Seen(maps, out.pooler_output)
        last = self.network.layernorm(maps[-1].permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return Seen((*maps[:-1], last), None)


class _Swin(Backbone):
    def forward(self, pixels: Tensor) -> Seen:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        vector = out.pooler_output if self.has_vector else None
        if not self.has_maps:
            return Seen((), vector)
        maps = out.reshaped_hidden_states[1:]
        last = out.last_hidden_state.transpose(1, 2).reshape(maps[-1].shape)
        return Seen((*maps[:-1], last), vector)


class _ViT(Backbone):
    def forward(self, pixels: Tensor) -> Seen:
        resized = tuple(pixels.shape[-2:]) != tuple(self.network.embeddings.patch_embeddings.image_size)
        out = self.network(pixels, output_hidden_states=self.has_maps, interpolate_pos_encoding=resized)
        vector = out.last_hidden_state[:, 0] if self.has_vector else None
        if not self.has_maps:
            return Seen((), vector)
        depth, patch = self.network.config.num_hidden_layers, self.network.config.patch_size
        height, width = pixels.shape[-2] // patch, pixels.shape[-1] // patch
        layers = [out.hidden_states[max(1, depth * quarter // 4)] for quarter in (1, 2, 3)]
        maps = [
            tokens[:, 1:].transpose(1, 2).unflatten(2, (height, width)) for tokens in (*layers, out.last_hidden_state)
        ]
        return Seen(tuple(maps), vector)


class _Embedded(Backbone):
    """A layer over the numbers of a frozen network, which were computed before training."""

    reads = "embedding"

    def forward(self, embedding: Tensor) -> Seen:
        return Seen((), self.network(embedding))


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneKind:
    """How a backbone is made: from its configuration with random weights, or from published weights."""

    name: str
    model: str
    """The class of Transformers; empty for this package's networks."""
    defaults: Mapping[str, object]
    """The configuration of the published network, where it differs from the class's own."""
    wrap: Callable[[nn.Module, bool], Backbone]
    hub: str = ""
    """Weights on the hub that fit."""


def _convolutional(kind: type[Backbone]) -> Callable[[nn.Module, bool], Backbone]:
    def wrap(network: nn.Module, vector: bool) -> Backbone:
        widths = tuple(network.config.hidden_sizes)
        return kind(network, widths, widths[-1], vector=vector)

    return wrap


def _swin(network: nn.Module, vector: bool) -> Backbone:
    first, stages = network.config.embed_dim, len(network.config.depths)
    last = first * 2 ** (stages - 1)
    widths = (*(first * 2**stage for stage in range(1, stages)), last)
    return _Swin(network, widths, last, vector=vector)


def _vit(network: nn.Module, vector: bool) -> Backbone:
    width = network.config.hidden_size
    return _ViT(network, (width,) * 4, width, vector=vector)


def _plain(network: nn.Module, vector: bool) -> Backbone:
    if isinstance(network, DenseNet121):
        return Backbone(network, tuple(network.widths), network.widths[-1], vector=vector)
    widths = tuple(network.features[end - 2].out_channels for end in network.ends)
    size = network.classifier[-3].out_features if len(network.classifier) else widths[-1]
    if not vector:
        network.classifier = nn.Sequential()
    return Backbone(network, widths, size, vector=vector)


def _embedded(network: nn.Module, vector: bool) -> Backbone:
    return _Embedded(network, (), network[1].out_features, vector=vector)


def _layers(width: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU())


BACKBONES: Mapping[str, BackboneKind] = {
    kind.name: kind
    for kind in (
        BackboneKind(
            name="resnet50", model="ResNetModel", defaults={}, wrap=_convolutional(_ResNet), hub="microsoft/resnet-50"
        ),
        BackboneKind(
            name="convnext-t",
            model="ConvNextModel",
            defaults={},
            wrap=_convolutional(_ConvNext),
            hub="facebook/convnext-tiny-224",
        ),
        BackboneKind(
            name="swin-t", model="SwinModel", defaults={}, wrap=_swin, hub="microsoft/swin-tiny-patch4-window7-224"
        ),
        BackboneKind(name="vit-b16", model="ViTModel", defaults={}, wrap=_vit, hub="google/vit-base-patch16-224-in21k"),
        BackboneKind(name="vgg16", model="", defaults={"widths": WIDTHS, "linear": 4096, "dropout": 0.5}, wrap=_plain),
        BackboneKind(
            name="densenet121", model="", defaults={"blocks": BLOCKS, "growth": GROWTH, "first": FIRST}, wrap=_plain
        ),
        BackboneKind(
            name="efficientnet-lite2", model="", defaults={"width": DIMENSIONS, "hidden": 256}, wrap=_embedded
        ),
    )
}
_PLAIN: Mapping[str, Callable[..., nn.Module]] = {
    "vgg16": VGG16,
    "densenet121": DenseNet121,
    "efficientnet-lite2": _layers,
}


def random_backbone(name: str, config: Mapping[str, object], *, vector: bool = True) -> Backbone:
    """A backbone with random weights; ``config`` replaces values of the published configuration."""
    kind = BACKBONES[name]
    try:
        if not kind.model:
            network = _PLAIN[name](**{**kind.defaults, **config})
        else:
            network = _configured(kind, config)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The configuration of {name} cannot be used: {str(error).splitlines()[0]}.",
            "See docs/training.md for what its configuration holds.",
        ) from error
    return kind.wrap(network, vector)


def _configured(kind: BackboneKind, config: Mapping[str, object]) -> nn.Module:
    model = getattr(transformers_library(), kind.model)
    return model(model.config_class(**{**kind.defaults, **config}), **_without_pooler(kind))


def _without_pooler(kind: BackboneKind) -> dict[str, Any]:
    """A vision transformer's pooler is an extra layer that classification does not use."""
    return {"add_pooling_layer": False} if kind.model == "ViTModel" else {}


def published_backbone(name: str, weights: str, revision: str = "main", *, vector: bool = True) -> Backbone:
    """A backbone with published weights: a hub name or a folder for Transformers' classes, a file for the others."""
    kind = BACKBONES[name]
    if not kind.model:
        network = _PLAIN[name](**kind.defaults)
        load_checkpoint(network, Path(weights).expanduser())
        return kind.wrap(network, vector)
    library = transformers_library()
    model = getattr(library, kind.model)

    def load(where: str) -> nn.Module:
        model_type = library.AutoConfig.from_pretrained(where, revision=revision).model_type
        if model_type != model.config_class.model_type:
            raise ValueError(
                f"it is a model of type '{model_type}', and {name} needs '{model.config_class.model_type}'"
            )
        network, report = model.from_pretrained(
            where, revision=revision, output_loading_info=True, **_without_pooler(kind)
        )
        missing = sorted(report["missing_keys"])
        if missing:
            raise ValueError(f"{plural(len(missing), 'weight')} of {name} are missing, such as {missing[0]}")
        return network

    return kind.wrap(loaded_from(weights, load, revision), vector)


def check_config(name: str, config: Mapping[str, object]) -> None:
    """Raise where a configuration names something that a backbone does not have; Transformers would not mind."""
    kind = BACKBONES[name]
    defaults: Mapping[str, object] = kind.defaults
    if kind.model:
        defaults = getattr(transformers_library(), kind.model).config_class(**kind.defaults).to_dict()
    for key in config:
        if key not in defaults:
            raise InputError(f"The configuration of {name} has no '{key}'.", suggestion(key, defaults, "It has"))


def standardisation(weights: str, revision: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and spread of red, green and blue that published weights were trained with; ImageNet's where they do not say."""
    from transformers.image_processing_utils import BaseImageProcessor

    where = str(Path(weights).expanduser())
    try:
        with hub_access(weights, revision):
            stored, _ = BaseImageProcessor.get_image_processor_dict(
                where if Path(where).is_dir() else weights, revision=revision
            )
    except OSError:
        stored = {}
    return tuple(stored.get("image_mean") or IMAGENET_MEAN), tuple(stored.get("image_std") or IMAGENET_SPREAD)


def configuration(backbone: Backbone) -> dict[str, Any]:
    """What ``random_backbone`` needs to build the same network again."""
    config = getattr(backbone.network, "config", None)
    if config is not None:
        return {key: value for key, value in config.to_diff_dict().items() if key not in _OF_CLASSES}
    network = backbone.network
    if isinstance(network, DenseNet121):
        blocks = [len(part) for name, part in network.features.named_children() if "block" in name]
        growth = network.features.denseblock1.denselayer1.conv2.out_channels
        return {"blocks": blocks, "growth": growth, "first": network.features.conv0.out_channels}
    if isinstance(backbone, _Embedded):
        return {"width": network[1].in_features, "hidden": backbone.size}
    linear = backbone.size if len(network.classifier) else 0
    return {"widths": list(backbone.widths), "linear": linear}


def load_checkpoint(network: nn.Module, path: Path) -> None:
    """Read a checkpoint of VGG16 or DenseNet121 by its parameters' names; the layer of the 1,000 classes is not used."""
    state = current_names(read_tensors(path))
    expected = network.state_dict()
    classes = {name for name in state if name.startswith("classifier.") and name not in expected}  # the 1,000 classes
    missing = [name for name in expected if name not in state and not name.endswith("num_batches_tracked")]
    extra = [name for name in state if name not in expected and name not in classes]
    wrong = [name for name in expected if name in state and expected[name].shape != state[name].shape]
    if missing or extra or wrong:
        first = (missing or extra or wrong)[0]
        raise InputError(
            f"{path} does not hold the weights of {type(network).__name__}: {len(missing)} tensors are missing, "
            f"{len(extra)} are unknown, {len(wrong)} have another shape, such as '{first}'.",
            "Give the published checkpoint of this network (torchvision's names), as .pth or .safetensors.",
        )
    network.load_state_dict({name: state.get(name, expected[name]) for name in expected})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors or PyTorch file; a pickle that would run code is refused."""
    if not path.is_file() or path.suffix not in CHECKPOINTS:
        raise InputError(f"{path} is not a file of weights.", f"Give a file that ends in {', '.join(CHECKPOINTS)}.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        return dict(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # the libraries raise errors of many kinds for a file they cannot read
        reason = str(error).strip().splitlines()[0][:200] or type(error).__name__
        raise InputError(f"{path} cannot be read as weights: {reason}.", "Fetch the checkpoint again.") from error
