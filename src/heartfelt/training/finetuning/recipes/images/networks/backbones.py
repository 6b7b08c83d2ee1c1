"""Backbones: what turns pixels into feature maps, fine to coarse, and a vector.

ResNet50, ConvNeXt-T, Swin-T and ViT-B/16 are Transformers' classes, by folder or hub name (``from_pretrained``) or with random
weights. EfficientNet-Lite 2 is frozen: its 1,280 numbers are computed before training, by heartfelt's own copy of the weights,
and a layer over them is trained. Others come from plug-ins, as VGG16 and DenseNet121 do (``plugins/heartfelt-backbones``). A
vision transformer's map is its patches' tokens on their grid, taken at a quarter, half, three quarters and the end of its
depth; its vector is the class token.

A network that looks at maps only is built with ``vector=False``: what would make the vector is then left out or applied to the
last map, so that no parameter is without a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from torch import Tensor, nn

from heartfelt.errors import InputError, suggestion
from heartfelt.predictors.networks.images.efficientnet import DIMENSIONS
from heartfelt.predictors.weights.hub import loaded_from, transformers_library
from heartfelt.predictors.weights.network import hub_access
from heartfelt.registry import Registry
from heartfelt.training.finetuning.recipes.images.architectures import IMAGENET_MEAN, IMAGENET_SPREAD
from heartfelt.wording import plural

_OF_CLASSES = {"id2label", "label2id", "num_labels", "problem_type", "architectures", "_name_or_path"}
"""What a configuration says of the classes its network was trained on."""


class BackboneOutput(NamedTuple):
    """What a backbone makes of a batch of images."""

    maps: tuple[Tensor, ...]
    """``(batch, channels, height, width)``, up to five of them, the deepest last; none if nothing looks at them."""
    vector: Tensor
    """``(batch, width)``; None for a backbone built without it, whose vector nothing looks at."""


class Backbone(nn.Module):
    """A network from pixels to ``BackboneOutput``: ``widths`` are the channels of its maps, ``size`` the width of its vector."""

    reads = "pixels"
    """The input it looks at."""

    def __init__(self, network: nn.Module, widths: tuple[int, ...], size: int, *, vector: bool) -> None:
        super().__init__()
        self.network = network
        self.widths, self.size, self.has_vector = widths, size, vector
        self.has_maps = True

    def configuration(self) -> dict[str, object]:
        """What ``random_backbone`` needs to build the same network again."""
        return {key: value for key, value in self.network.config.to_diff_dict().items() if key not in _OF_CLASSES}


class _ResNet(Backbone):
    def forward(self, pixels: Tensor) -> BackboneOutput:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        maps = out.hidden_states[1:] if self.has_maps else ()
        return BackboneOutput(maps, out.pooler_output.flatten(1) if self.has_vector else None)


class _ConvNext(Backbone):
    def forward(self, pixels: Tensor) -> BackboneOutput:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        maps: tuple[Tensor, ...] = out.hidden_states[1:] if self.has_maps else ()
        if self.has_vector:
            return BackboneOutput(maps, out.pooler_output)
        last = self.network.layernorm(maps[-1].permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return BackboneOutput((*maps[:-1], last), None)


class _Swin(Backbone):
    def forward(self, pixels: Tensor) -> BackboneOutput:
        out = self.network(pixels, output_hidden_states=self.has_maps)
        vector = out.pooler_output if self.has_vector else None
        if not self.has_maps:
            return BackboneOutput((), vector)
        maps = out.reshaped_hidden_states[1:]
        last = out.last_hidden_state.transpose(1, 2).reshape(maps[-1].shape)
        return BackboneOutput((*maps[:-1], last), vector)


class _ViT(Backbone):
    def forward(self, pixels: Tensor) -> BackboneOutput:
        resized = tuple(pixels.shape[-2:]) != tuple(self.network.embeddings.patch_embeddings.image_size)
        out = self.network(pixels, output_hidden_states=self.has_maps, interpolate_pos_encoding=resized)
        vector = out.last_hidden_state[:, 0] if self.has_vector else None
        if not self.has_maps:
            return BackboneOutput((), vector)
        depth, patch = self.network.config.num_hidden_layers, self.network.config.patch_size
        height, width = pixels.shape[-2] // patch, pixels.shape[-1] // patch
        layers = [out.hidden_states[max(1, depth * quarter // 4)] for quarter in (1, 2, 3)]
        maps = [
            tokens[:, 1:].transpose(1, 2).unflatten(2, (height, width)) for tokens in (*layers, out.last_hidden_state)
        ]
        return BackboneOutput(tuple(maps), vector)


class _Embedded(Backbone):
    """A layer over the numbers of a frozen network, which were computed before training."""

    reads = "embedding"

    def forward(self, embedding: Tensor) -> BackboneOutput:
        return BackboneOutput((), self.network(embedding))

    def configuration(self) -> dict[str, object]:
        return {"width": self.network[1].in_features, "hidden": self.size}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneKind:
    """How a backbone is made: from its configuration with random weights, or from published weights."""

    name: str
    wrap: Callable[[nn.Module, bool], Backbone]
    model: str = ""
    """The class of Transformers; empty for a network that ``make`` builds from its configuration."""
    make: Callable[..., nn.Module] | None = None
    read: Callable[[nn.Module, Path], None] | None = None
    """Reads a published checkpoint, where that is a file."""
    defaults: Mapping[str, object] = field(default_factory=dict)
    """The configuration of the published network, where it differs from the class's own."""
    hub: str = ""
    """Weights on the hub that fit."""
    export_side: int = 1
    """ONNX can hold the network for images whose side is a multiple of this."""


def _convolutional(kind: type[Backbone]) -> Callable[[nn.Module, bool], Backbone]:
    def wrap(network: nn.Module, vector: bool) -> Backbone:
        widths = tuple(network.config.hidden_sizes)
        return kind(network, widths, widths[-1], vector=vector)

    return wrap


def _swin(network: nn.Module, vector: bool) -> Backbone:
    first, stages = network.config.embed_dim, len(network.config.depths)
    last = first * 2 ** (stages - 1)
    # The last stage merges no patches, so the last two maps are equally wide.
    widths = (*(first * 2**stage for stage in range(1, stages)), last)
    return _Swin(network, widths, last, vector=vector)


def _vit(network: nn.Module, vector: bool) -> Backbone:
    width = network.config.hidden_size
    return _ViT(network, (width,) * 4, width, vector=vector)


def _embedded(network: nn.Module, vector: bool) -> Backbone:
    return _Embedded(network, (), network[1].out_features, vector=vector)


def _layers(width: int, hidden: int) -> nn.Module:
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU())


BACKBONES: Registry[BackboneKind] = Registry(
    "image backbone", plugins=dict.fromkeys(("vgg16", "densenet121"), "heartfelt-backbones")
)
for _kind in (
    BackboneKind(name="resnet50", model="ResNetModel", wrap=_convolutional(_ResNet), hub="microsoft/resnet-50"),
    BackboneKind(
        name="convnext-t", model="ConvNextModel", wrap=_convolutional(_ConvNext), hub="facebook/convnext-tiny-224"
    ),
    BackboneKind(name="swin-t", model="SwinModel", wrap=_swin, hub="microsoft/swin-tiny-patch4-window7-224"),
    BackboneKind(name="vit-b16", model="ViTModel", wrap=_vit, hub="google/vit-base-patch16-224-in21k"),
    BackboneKind(
        name="efficientnet-lite2", make=_layers, wrap=_embedded, defaults={"width": DIMENSIONS, "hidden": 256}
    ),
):
    BACKBONES.add(_kind.name, _kind)


def random_backbone(name: str, config: Mapping[str, object], *, vector: bool = True) -> Backbone:
    """A backbone with random weights; ``config`` replaces values of the published configuration."""
    kind = BACKBONES[name]
    try:
        network = (kind.make or partial(_configured, kind))(**{**kind.defaults, **config})
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The configuration of {name} cannot be used: {str(error).splitlines()[0]}.",
            "See docs/training.md for what its configuration holds.",
        ) from error
    return kind.wrap(network, vector)


def _configured(kind: BackboneKind, **config: object) -> nn.Module:
    model = getattr(transformers_library(), kind.model)
    return model(model.config_class(**config), **_without_pooler(kind))


def _without_pooler(kind: BackboneKind) -> dict[str, bool]:
    """A vision transformer's pooler is an extra layer that classification does not use."""
    return {"add_pooling_layer": False} if kind.model == "ViTModel" else {}


def published_backbone(name: str, weights: str, revision: str = "main", *, vector: bool = True) -> Backbone:
    """A backbone with published weights: a hub name or a folder for Transformers' classes, a file for the others."""
    kind = BACKBONES[name]
    if kind.make is not None:
        if kind.read is None:
            raise InputError(f"{name} has no other weights than its own.", "Leave out 'weights'.")
        network = kind.make(**kind.defaults)
        kind.read(network, Path(weights).expanduser())
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
