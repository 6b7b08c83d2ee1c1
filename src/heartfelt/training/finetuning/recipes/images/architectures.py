"""The image architectures by name: a backbone, or a model of the emotion literature on top of one.

Nothing here needs PyTorch: the command line lists and checks names without it. ``NetworkSpec`` is what a model folder holds to
build the same network again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

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
for _name, _facts in tomllib.loads(
    files(__package__).joinpath("architectures.toml").read_text(encoding="utf-8")
).items():
    ARCHITECTURES.add(_name, Architecture(name=_name, **_facts))


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
