"""The image architectures by name: a backbone, or a model of the emotion literature on top of one.

Nothing here needs PyTorch: the command line lists and checks names without it. ``NetworkSpec`` is what a model folder holds to
build the same network again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heartfelt.registry import Registry

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_SPREAD = (0.229, 0.224, 0.225)
FACES, FACE_COLUMNS, OBJECT_CLASSES = 4, 9, 1000
"""Faces per image; of each its seven expressions, share of the image and score; classes of ImageNet."""
EMOTION_BACKBONE = "resnet50"
"""What the emotion models stand on by default; their papers use ResNets."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A network for images."""

    name: str
    about: str
    source: str
    trunk: str = "Trunk"
    """The class in ``networks.emotion``."""
    backbone: str = ""
    """The backbone, where the architecture is nothing else."""
    needs_categories: bool = False
    needs_groups: bool = False
    """Whether it needs the polarity of the categories."""
    needs_stimuli: bool = False
    """Whether it looks at faces and objects, detected by the drafters."""


ARCHITECTURES: Registry[Architecture] = Registry("image architecture")
for _architecture in (
    Architecture(
        "vgg16", "VGG with 16 layers", "Simonyan and Zisserman (2015), ICLR", backbone="vgg16"
    ),
    Architecture("resnet50", "ResNet with 50 layers", "He et al. (2016), CVPR", backbone="resnet50"),
    Architecture(
        "densenet121", "DenseNet with 121 layers", "Huang et al. (2017), CVPR", backbone="densenet121"
    ),
    Architecture("convnext-t", "ConvNeXt, tiny", "Liu et al. (2022), CVPR", backbone="convnext-t"),
    Architecture("swin-t", "Swin transformer, tiny", "Liu et al. (2021), ICCV", backbone="swin-t"),
    Architecture(
        "vit-b16", "vision transformer, base, patches of 16", "Dosovitskiy et al. (2021), ICLR", backbone="vit-b16"
    ),
    Architecture(
        "efficientnet-lite2",
        "EfficientNet-Lite 2, frozen, with a trained layer",
        "Tan and Le (2019), ICML",
        backbone="efficientnet-lite2",
    ),
    Architecture(
        "stylenet",
        "Gram-matrix style of the earlier layers with the content of the last",
        "Zhang, He and Lu (2020), IEEE TMM",
        "StyleTrunk",
    ),
    Architecture(
        "wscnet",
        "a map of where the emotion is, coupled with the features",
        "Yang et al. (2018), CVPR; She et al. (2020), IEEE TMM",
        "CoupledTrunk",
        needs_categories=True,
    ),
    Architecture(
        "pdanet",
        "attention to places and channels, with a polarity-consistent loss",
        "Zhao et al. (2019), ACM Multimedia",
        "AttentionTrunk",
    ),
    Architecture(
        "mdan",
        "polarity, then category, each level guided by the level before",
        "Xu et al. (2022), CVPR",
        "HierarchyTrunk",
        needs_categories=True,
        needs_groups=True,
    ),
    Architecture(
        "stimuli-aware",
        "the whole image with the expressions of its faces and its objects",
        "Yang et al. (2021), IEEE TIP",
        "StimuliTrunk",
        needs_stimuli=True,
    ),
):  # fmt: skip
    ARCHITECTURES.add(_architecture.name, _architecture)


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    """Everything a network is built from, except its weights."""

    architecture: str
    backbone: str
    config: Mapping[str, object] = field(default_factory=dict)
    """The backbone's configuration."""
    categories: int = 0
    """How many categories there are; 0 for no category head."""
    numbers: int = 0
    """How many questions are answered with numbers."""
    groups: tuple[int, ...] = ()
    """The group (such as positive or negative) of each category; empty where not known."""
    attributes: tuple[int, ...] = ()
    """Columns of each attribute that is a further input."""
    dropout: float = 0.0
    frozen: bool = False
    """Whether the backbone stays as it is."""
    mean: tuple[float, ...] = IMAGENET_MEAN
    """Of red, green and blue, from 0 to 1: what the backbone's pixels are standardised with."""
    spread: tuple[float, ...] = IMAGENET_SPREAD

    @property
    def group_count(self) -> int:
        """How many groups the categories have."""
        return max(self.groups, default=-1) + 1
