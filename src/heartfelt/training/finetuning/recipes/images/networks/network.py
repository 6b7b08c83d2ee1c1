"""The whole network: backbone, trunk, attributes, and the heads for categories and numbers."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from heartfelt.errors import InputError
from heartfelt.training.finetuning.recipes.images.architectures import ARCHITECTURES, NetworkSpec
from heartfelt.training.finetuning.recipes.images.networks import emotion
from heartfelt.training.finetuning.recipes.images.networks.backbones import (
    Backbone,
    published_backbone,
    random_backbone,
)
from heartfelt.training.finetuning.recipes.images.networks.emotion import Outputs

ATTRIBUTE_WIDTH = 16


class EmotionNetwork(nn.Module):
    """``logits`` of the categories, ``values`` of the questions with numbers, and what the loss needs beyond.

    A number is in units of half the scale about its middle, so that a bounded scale runs from -1 to 1.
    """

    def __init__(self, spec: NetworkSpec, backbone: Backbone) -> None:
        super().__init__()
        self.spec, self.backbone = spec, backbone
        trunk = getattr(emotion, ARCHITECTURES[spec.architecture].trunk)
        self.trunk = trunk(backbone.widths, backbone.size, spec.categories, spec.group_count)
        self.attributes = nn.ModuleList(nn.Linear(columns, ATTRIBUTE_WIDTH, bias=False) for columns in spec.attributes)
        size = self.trunk.size + ATTRIBUTE_WIDTH * len(self.attributes)
        self.dropout = nn.Dropout(spec.dropout)
        self.category_head = nn.Linear(size, spec.categories) if spec.categories else None
        self.number_head = nn.Linear(size, spec.numbers) if spec.numbers else None
        self.register_buffer("mean", torch.tensor(spec.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spec.spread).view(3, 1, 1), persistent=False)
        backbone.has_maps = trunk.needs_maps
        # The layer over a frozen network's numbers is what there is to train.
        self.frozen = spec.frozen and backbone.reads == "pixels"
        backbone.requires_grad_(not self.frozen)

    def train(self, mode: bool = True) -> EmotionNetwork:
        """As usual, except that a frozen backbone stays as it is, its normalisation included."""
        super().train(mode)
        if self.frozen:
            self.backbone.eval()
        return self

    def forward(self, **inputs: Tensor) -> Outputs:
        """``pixels`` from 0 to 255, or ``embedding``; ``attributes``, faces and objects where the network uses them."""
        pixels = inputs[self.backbone.reads]
        if self.backbone.reads == "pixels":
            pixels = (pixels.to(self.mean.dtype) / 255 - self.mean) / self.spread
        vector, more = self.trunk(self.backbone(pixels), inputs)
        outputs: Outputs = dict(more)
        if len(self.attributes):
            columns = inputs["attributes"].split(self.spec.attributes, dim=1)
            extra = [layer(part) for layer, part in zip(self.attributes, columns, strict=True)]
            vector = torch.cat([vector, *extra], dim=1)
        vector = self.dropout(vector)
        if self.category_head is not None:
            logits = self.category_head(vector)
            outputs["logits"] = logits + outputs["local"] if "local" in outputs else logits
        if self.number_head is not None:
            outputs["values"] = self.number_head(vector)
        return outputs


def build_network(spec: NetworkSpec, weights: str = "", revision: str = "main") -> EmotionNetwork:
    """The network, its backbone with random weights or with published ones (a folder, a hub name, a file).

    The network's ``spec`` then has the backbone's whole configuration.
    """
    architecture = ARCHITECTURES[spec.architecture]
    check_spec(spec)
    trunk = getattr(emotion, architecture.trunk)
    vector = bool(trunk.needs_vector)
    if weights and spec.config:
        raise InputError(
            "Published weights come with their own configuration.", "Leave out 'config', or use weights=random."
        )
    if weights:
        backbone = published_backbone(spec.backbone, weights, revision, vector=vector)
    else:
        backbone = random_backbone(spec.backbone, spec.config, vector=vector)
    if trunk.needs_maps and not backbone.widths:
        raise InputError(
            f"'{spec.architecture}' looks at feature maps, and '{spec.backbone}' has none.",
            "Use another backbone, such as resnet50.",
        )
    return EmotionNetwork(replace(spec, config=backbone.configuration()), backbone)


def check_spec(spec: NetworkSpec) -> None:
    architecture = ARCHITECTURES[spec.architecture]
    if not spec.categories and not spec.numbers:
        raise InputError(
            "There is no question to learn from.", "An image recipe needs a question with categories, or with numbers."
        )
    if spec.categories == 1:
        raise InputError("There is only one category, so there is nothing to tell apart.", "Add data of others.")
    if architecture.needs_categories and not spec.categories:
        raise InputError(
            f"'{spec.architecture}' needs a question with categories.",
            "Use another architecture, such as resnet50, for questions answered with numbers.",
        )
    if architecture.needs_groups and spec.group_count < 2:
        raise InputError(
            f"'{spec.architecture}' needs the polarity of the categories, and it is not known.",
            "Give it as polarity: {category: positive, other: negative}, or as 'group' of the study's intents.",
        )
