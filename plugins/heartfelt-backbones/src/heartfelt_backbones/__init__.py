"""VGG16 and DenseNet121 as backbones of heartfelt's image recipes; ``pyproject.toml`` offers both as entry points."""

from __future__ import annotations

from torch import Tensor, nn

from heartfelt.training.finetuning.recipes.images.networks.backbones import Backbone, BackboneKind, BackboneOutput
from heartfelt_backbones.checkpoints import load_checkpoint
from heartfelt_backbones.densenet import BLOCKS, FIRST, GROWTH, DenseNet121
from heartfelt_backbones.vgg import VGG16, WIDTHS

__all__ = ["DENSENET121", "VGG16", "VGG16_BACKBONE", "DenseNet121", "load_checkpoint"]


class _Convolutional(Backbone):
    """Of networks that have ``maps`` and ``vector``."""

    def forward(self, pixels: Tensor) -> BackboneOutput:
        maps = self.network.maps(pixels)
        return BackboneOutput(tuple(maps), self.network.vector(maps[-1]) if self.has_vector else None)


class _VGG(_Convolutional):
    def configuration(self) -> dict[str, object]:
        return {"widths": list(self.widths), "linear": self.size if len(self.network.classifier) else 0}


class _DenseNet(_Convolutional):
    def configuration(self) -> dict[str, object]:
        features = self.network.features
        blocks = [len(part) for name, part in features.named_children() if "block" in name]
        growth = features.denseblock1.denselayer1.conv2.out_channels
        return {"blocks": blocks, "growth": growth, "first": features.conv0.out_channels}


def _vgg(network: nn.Module, vector: bool) -> Backbone:
    widths = tuple(network.features[end - 2].out_channels for end in network.ends)
    size = network.classifier[-3].out_features if len(network.classifier) else widths[-1]
    if not vector:
        network.classifier = nn.Sequential()
    return _VGG(network, widths, size, vector=vector)


def _densenet(network: nn.Module, vector: bool) -> Backbone:
    return _DenseNet(network, tuple(network.widths), network.widths[-1], vector=vector)


VGG16_BACKBONE = BackboneKind(
    name="vgg16",
    make=VGG16,
    read=load_checkpoint,
    wrap=_vgg,
    defaults={"widths": WIDTHS, "linear": 4096, "dropout": 0.5},
    # ONNX has no pooling from maps of other images to 7 x 7 cells.
    export_side=224,
)
DENSENET121 = BackboneKind(
    name="densenet121",
    make=DenseNet121,
    read=load_checkpoint,
    wrap=_densenet,
    defaults={"blocks": BLOCKS, "growth": GROWTH, "first": FIRST},
)
