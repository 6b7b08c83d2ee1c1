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


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A network for images."""

    name: str
    about: str
    source: str
    details: str
    """Its size and published weights; how it differs from the paper."""
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
        name="vgg16",
        about="VGG with 16 layers",
        source="Simonyan and Zisserman (2015), ICLR",
        details="138,357,544 parameters with 1,000 classes; `weights=vgg16-397923af.pth` reads torchvision's "
        "checkpoint (.pth or .safetensors); `config` with random weights: `widths`, `linear`, `dropout`",
        backbone="vgg16",
    ),
    Architecture(
        name="resnet50",
        about="ResNet with 50 layers",
        source="He et al. (2016), CVPR",
        details="25,557,032 parameters; Transformers' `ResNetModel`; published weights: microsoft/resnet-50",
        backbone="resnet50",
    ),
    Architecture(
        name="densenet121",
        about="DenseNet with 121 layers",
        source="Huang et al. (2017), CVPR",
        details="7,978,856 parameters; `weights=densenet121-a639ec97.pth` reads torchvision's checkpoint; "
        "`config`: `blocks`, `growth`, `first`",
        backbone="densenet121",
    ),
    Architecture(
        name="convnext-t",
        about="ConvNeXt, tiny",
        source="Liu, Mao et al. (2022), CVPR",
        details="28,589,128 parameters; `ConvNextModel`; facebook/convnext-tiny-224",
        backbone="convnext-t",
    ),
    Architecture(
        name="swin-t",
        about="Swin transformer, tiny",
        source="Liu, Lin et al. (2021), ICCV",
        details="28,288,354 parameters; `SwinModel`; microsoft/swin-tiny-patch4-window7-224",
        backbone="swin-t",
    ),
    Architecture(
        name="vit-b16",
        about="vision transformer, base, patches of 16",
        source="Dosovitskiy et al. (2021), ICLR",
        details="86,567,656 parameters; `ViTModel`, from the class token; google/vit-base-patch16-224-in21k; "
        "emotion models on it see the patches' tokens as maps",
        backbone="vit-b16",
    ),
    Architecture(
        name="efficientnet-lite2",
        about="EfficientNet-Lite 2, frozen, with a trained layer",
        source="Tan and Le (2019), ICML",
        details="the 1,280 numbers of the frozen network are computed once per file; needs no GPU and no hub; "
        "nothing is cropped or mirrored",
        backbone="efficientnet-lite2",
    ),
    Architecture(
        name="stylenet",
        about="Gram-matrix style of the earlier layers with the content of the last",
        source="Zhang, He and Lu (2020), IEEE Transactions on Multimedia 22, 515-523",
        details="labels are weighted by reliability in place of the paper's quality",
        trunk="StyleTrunk",
    ),
    Architecture(
        name="wscnet",
        about="a map of where the emotion is, coupled with the features",
        source="Yang, She, Lai, Rosin and Yang (2018), CVPR; She et al. (2020), IEEE Transactions on Multimedia "
        "22, 1358-1371",
        details="needs a question with categories; any backbone and image size in place of ResNet-101 with 448 pixels",
        trunk="CoupledTrunk",
        needs_categories=True,
    ),
    Architecture(
        name="pdanet",
        about="attention to places and channels, with a polarity-consistent loss",
        source="Zhao et al. (2019), ACM Multimedia, 192-201",
        details="an error counts 1 + `penalty` times on the wrong side of the scale's middle, or for a category "
        "of the other polarity (Zhao et al. 2020, AAAI, 303-311); any backbone, and the study's own "
        "numbers",
        trunk="AttentionTrunk",
    ),
    Architecture(
        name="mdan",
        about="polarity, then category, each level guided by the level before",
        source="Xu, Wang, Wu and Lui (2022), CVPR, 9479-9488",
        details="polarity from the map before the last, categories from the last; needs categories with a "
        "polarity; two levels in place of up to three, a gate in place of multi-head cross channel "
        "attention",
        trunk="HierarchyTrunk",
        needs_categories=True,
        needs_groups=True,
    ),
    Architecture(
        name="stimuli-aware",
        about="the whole image with the expressions of its faces and its objects",
        source="Yang, Li, Wang, Ding and Gao (2021), IEEE Transactions on Image Processing 30, 7432-7445",
        details="the expressions of the four largest faces (MTCNN and fer) and the probabilities of ImageNet's "
        "classes (EfficientNet-Lite 2) in place of trained parts and detected regions; the loss adds the "
        "cross-entropy of the polarity",
        trunk="StimuliTrunk",
        needs_stimuli=True,
    ),
):
    ARCHITECTURES.add(_architecture.name, _architecture)


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return max(self.groups, default=-1) + 1
