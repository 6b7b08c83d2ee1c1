"""The literature's emotion models as trunks: what each makes of a backbone's maps before the heads.

A trunk returns a vector per image and, where its loss needs them, further outputs (``Outputs`` by name). ``size`` is the
vector's width. Each class cites its paper and says what is simpler here than there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from heartfelt.training.finetuning.recipes.images.architectures import FACE_COLUMNS, OBJECT_CLASSES
from heartfelt.training.finetuning.recipes.images.networks.backbones import BackboneOutput

Outputs: TypeAlias = dict[str, Tensor]
Inputs: TypeAlias = Mapping[str, Tensor]


class Trunk(nn.Module):
    """The plain trunk: the backbone's own vector."""

    needs_vector = True
    needs_maps = False

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__()
        del widths, categories, groups
        self.size = size

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        """The vector of each image and what else the loss needs."""
        del inputs
        return features.vector, {}


def gram_matrix(features: Tensor) -> Tensor:
    """``(batch, channels, channels)``: products of channels, averaged over the places of a map."""
    flat = features.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[2]


class StyleTrunk(Trunk):
    """Content of the deepest layer with the style of the earlier ones (Zhang, He and Lu 2020, IEEE TMM 22, 515-523).

    Style is the Gram matrix of a map (Gatys, Ecker and Bethge 2016): which channels go together anywhere in the image. Channels
    are first reduced to 32 by a 1 x 1 convolution; the triangle of the matrix goes through a linear layer to 128 numbers. The
    paper's weighting of labels by their quality is this package's weighting by reliability.
    """

    needs_maps = True
    reduced, style = 32, 128

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__(widths, size, categories, groups)
        triangle = self.reduced * (self.reduced + 1) // 2
        self.reduce = nn.ModuleList(nn.Conv2d(width, self.reduced, 1) for width in widths[:-1])
        self.linear = nn.ModuleList(nn.Linear(triangle, self.style) for _ in widths[:-1])
        self.norm = nn.ModuleList(nn.LayerNorm(triangle) for _ in widths[:-1])
        self.size = size + self.style * len(self.reduce)

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        del inputs
        rows, columns = torch.triu_indices(self.reduced, self.reduced, device=features.maps[0].device)
        parts = [features.vector]
        for values, reduce, norm, linear in zip(features.maps[:-1], self.reduce, self.norm, self.linear, strict=True):
            triangle = gram_matrix(reduce(values))[:, rows, columns]
            parts.append(functional.gelu(linear(norm(triangle))))
        return torch.cat(parts, dim=1), {}


class CoupledTrunk(Trunk):
    """WSCNet: a map of where the emotion is, learned from image labels alone, coupled with the features
    (Yang, She, Lai, Rosin and Yang 2018, CVPR; She et al. 2020, IEEE TMM 22, 1358-1371).

    Four detectors per category by a 1 x 1 convolution; cross-spatial pooling takes each detector's maximum and averages a
    category's detectors; the sentiment map is the mean over categories of their maps, weighted with those scores; the vector is
    the mean of the features and of the features times the map. Both branches are trained. The paper's backbone is ResNet-101 on
    larger images.
    """

    needs_maps = True
    needs_vector = False
    detectors = 4

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__(widths, size, categories, groups)
        self.categories = categories
        self.detect = nn.Conv2d(widths[-1], self.detectors * categories, 1)
        self.size = 2 * widths[-1]

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        del inputs
        last = features.maps[-1]
        maps = self.detect(last).unflatten(1, (self.categories, self.detectors))
        scores = maps.amax(dim=(3, 4)).mean(dim=2)
        sentiment = (maps.mean(dim=2) * scores[:, :, None, None]).mean(dim=1, keepdim=True)
        vector = torch.cat([last, last * sentiment], dim=1).mean(dim=(2, 3))
        return vector, {"detector": scores, "map": sentiment.squeeze(1)}


class AttentionTrunk(Trunk):
    """PDANet: which places and which channels matter (Zhao, Jia, Chen, Li, Ding and Keutzer 2019, ACM Multimedia, 192-201).

    Spatial attention is a softmax over places after two 1 x 1 convolutions; channel attention squeezes the map to its mean and
    weights the channels. The vector holds both. The loss is what makes it polarity-consistent (``losses``). The paper regresses
    valence, arousal and dominance from ResNet-101; here the heads are those of the study.
    """

    needs_maps = True
    needs_vector = False

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__(widths, size, categories, groups)
        width = widths[-1]
        narrow = max(8, width // 16)
        self.places = nn.Sequential(nn.Conv2d(width, narrow, 1), nn.Tanh(), nn.Conv2d(narrow, 1, 1, bias=False))
        self.channels = _squeeze(width, width)
        self.size = 2 * width

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        del inputs
        last = features.maps[-1]
        attention = self.places(last).flatten(2).softmax(dim=2)
        at_places = (last.flatten(2) * attention).sum(dim=2)
        mean = last.mean(dim=(2, 3))
        return torch.cat([at_places, mean * self.channels(mean)], dim=1), {}


class HierarchyTrunk(Trunk):
    """MDAN: polarity from the layer before the last, categories from the last, each level guided by the level before
    (Xu, Wang, Wu and Lui 2022, CVPR, 9479-9488).

    The polarity's class activation map, weighted with its probabilities, tells the last layer where to look; channel attention
    of the last layer sees both levels. Local classifiers of both levels are trained together with the heads on the backbone's
    own vector, and the local category scores are added to the head's. Simpler than the paper: two levels (polarity, category)
    in place of up to three, a gate in place of multi-head channel attention.
    """

    needs_maps = True

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__(widths, size, categories, groups)
        before, last = widths[-2], widths[-1]
        self.channels_before, self.channels = _squeeze(before, before), _squeeze(before + last, last)
        self.groups = nn.Conv2d(before, groups, 1)
        self.categories = nn.Conv2d(last, categories, 1)
        self.size = size + last

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        del inputs
        before, last = features.maps[-2], features.maps[-1]
        before = before * self.channels_before(before.mean(dim=(2, 3)))[:, :, None, None]
        group_maps = self.groups(before)
        group_scores = group_maps.mean(dim=(2, 3))
        weighted = (group_maps * group_scores.softmax(dim=1)[:, :, None, None]).sum(dim=1, keepdim=True)
        size = [int(cells) for cells in last.shape[2:]]
        where = functional.interpolate(weighted.sigmoid(), size=size, mode="bilinear", align_corners=False)
        last = last * (1 + where)
        both = torch.cat([before.mean(dim=(2, 3)), last.mean(dim=(2, 3))], dim=1)
        last = last * self.channels(both)[:, :, None, None]
        local = self.categories(last).mean(dim=(2, 3))
        vector = torch.cat([features.vector, last.mean(dim=(2, 3))], dim=1)
        return vector, {"groups": group_scores, "local": local}


class StimuliTrunk(Trunk):
    """Stimuli-aware: the whole image with what its faces express and which objects it shows
    (Yang, Li, Wang, Ding and Gao 2021, IEEE TIP 30, 7432-7445).

    Faces are ``(batch, 4, 9)`` with ``face_mask``; their mean after a layer, or a learned vector where there is none. Objects
    are the probabilities of 1,000 classes, with a learned vector where they are not known. Simpler than the paper: expression
    probabilities of the ``expressions`` network in place of a network trained along, classes of the whole image in place of
    detected regions in an LSTM. The loss is hierarchical as there (``losses``).
    """

    def __init__(self, widths: Sequence[int], size: int, categories: int, groups: int) -> None:
        super().__init__(widths, size, categories, groups)
        self.faces = nn.Sequential(nn.Linear(FACE_COLUMNS, 64), nn.GELU())
        self.objects = nn.Sequential(nn.Linear(OBJECT_CLASSES, 128), nn.GELU())
        self.no_face, self.no_objects = nn.Parameter(torch.zeros(64)), nn.Parameter(torch.zeros(128))
        self.size = size + 64 + 128

    def forward(self, features: BackboneOutput, inputs: Inputs) -> tuple[Tensor, Outputs]:
        mask = inputs["face_mask"].to(features.vector.dtype)[:, :, None]
        count = mask.sum(dim=1)
        faces = (self.faces(inputs["faces"]) * mask).sum(dim=1) / count.clamp(min=1)
        faces = torch.where(count > 0, faces, self.no_face)
        objects_known = inputs["objects_known"].to(torch.bool)[:, None]
        objects = torch.where(objects_known, self.objects(inputs["objects"]), self.no_objects)
        return torch.cat([features.vector, faces, objects], dim=1), {}


def _squeeze(width: int, out: int) -> nn.Sequential:
    """A weight between 0 and 1 for each channel (squeeze and excitation)."""
    narrow = max(8, width // 16)
    return nn.Sequential(nn.Linear(width, narrow), nn.ReLU(), nn.Linear(narrow, out), nn.Sigmoid())
