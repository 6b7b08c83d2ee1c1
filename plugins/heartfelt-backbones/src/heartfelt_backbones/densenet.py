"""DenseNet121: four blocks whose layers each see the output of all layers of the block before them.

Parameters have the names of the published torchvision checkpoints (``features.denseblock1.denselayer1.norm1.weight``); in the
older of those files a layer's parts are called ``norm.1`` and ``conv.1``, which are read too. Source: Huang, Liu, van der
Maaten and Weinberger (2017), CVPR, 7,978,856 parameters with 1,000 classes.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

BLOCKS = (6, 12, 24, 16)
GROWTH, FIRST, BOTTLENECK = 32, 64, 4
_OLD = re.compile(r"(.*denselayer\d+\.(?:norm|conv))\.([12]\..*)")


class _Layer(nn.Module):
    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, BOTTLENECK * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(BOTTLENECK * growth)
        self.conv2 = nn.Conv2d(BOTTLENECK * growth, growth, 3, padding=1, bias=False)

    def forward(self, values: Tensor) -> Tensor:
        narrow = self.conv1(self.norm1(values).relu())
        return torch.cat([values, self.conv2(self.norm2(narrow).relu())], dim=1)


class DenseNet121(nn.Module):
    """The network without its last layer: ``maps`` after each block, ``vector`` the mean of the last map."""

    def __init__(self, blocks: Sequence[int] = BLOCKS, growth: int = GROWTH, first: int = FIRST) -> None:
        super().__init__()
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        parts["conv0"] = nn.Conv2d(3, first, 7, stride=2, padding=3, bias=False)
        parts["norm0"] = nn.BatchNorm2d(first)
        parts["relu0"] = nn.ReLU()
        parts["pool0"] = nn.MaxPool2d(3, stride=2, padding=1)
        width = first
        self.widths: list[int] = []
        for block, depth in enumerate(blocks, 1):
            layers = OrderedDict(
                (f"denselayer{layer + 1}", _Layer(width + layer * growth, growth)) for layer in range(depth)
            )
            parts[f"denseblock{block}"] = nn.Sequential(layers)
            width += depth * growth
            self.widths.append(width)
            if block < len(blocks):
                steps = OrderedDict[str, nn.Module]()
                steps["norm"] = nn.BatchNorm2d(width)
                steps["relu"] = nn.ReLU()
                steps["conv"] = nn.Conv2d(width, width // 2, 1, bias=False)
                steps["pool"] = nn.AvgPool2d(2)
                parts[f"transition{block}"] = nn.Sequential(steps)
                width //= 2
        parts["norm5"] = nn.BatchNorm2d(width)
        self.features = nn.Sequential(parts)

    def maps(self, pixels: Tensor) -> list[Tensor]:
        """The map after each block; the last is normalised."""
        out, values = [], pixels
        for name, part in self.features.named_children():
            values = part(values)
            if name.startswith("denseblock"):
                out.append(values)
        return [*out[:-1], values.relu()]

    def vector(self, last: Tensor) -> Tensor:
        """The mean over the last map's places."""
        return last.mean(dim=(2, 3))


def current_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A checkpoint's tensors with the older names of a layer's parts brought up to date."""
    return {
        "".join(match.groups()) if (match := _OLD.fullmatch(name)) else name: tensor for name, tensor in state.items()
    }
