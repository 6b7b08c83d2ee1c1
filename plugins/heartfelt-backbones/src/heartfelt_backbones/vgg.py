"""VGG16: thirteen layers of 3 x 3 convolutions in five blocks, and three linear layers.

Parameters have the names of the published torchvision checkpoints (``features.0.weight`` to ``classifier.6.bias``), so that
those load by name. Source: Simonyan and Zisserman (2015), ICLR, configuration D, 138,357,544 parameters with 1,000 classes.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

DEPTHS = (2, 2, 3, 3, 3)
WIDTHS = (64, 128, 256, 512, 512)
GRID = 7
"""The last map is averaged to this many cells a side, whatever the size of the image."""


class VGG16(nn.Module):
    """The network without its last layer: ``maps`` before each pooling, ``vector`` of the second linear layer.

    ``linear`` is the width of the linear layers; 0 leaves them out.
    """

    def __init__(self, widths: Sequence[int] = WIDTHS, linear: int = 4096, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        self.ends: list[int] = []
        before = 3
        for width, depth in zip(widths, DEPTHS, strict=True):
            for _ in range(depth):
                layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU()]
                before = width
            self.ends.append(len(layers))
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(GRID)
        self.classifier = nn.Sequential()
        if linear:
            self.classifier = nn.Sequential(
                nn.Linear(before * GRID**2, linear),
                nn.ReLU(),
                nn.Dropout(dropout),
                nn.Linear(linear, linear),
                nn.ReLU(),
                nn.Dropout(dropout),
            )

    def maps(self, pixels: Tensor) -> list[Tensor]:
        """The map at the end of each block before it is pooled, and the last block's pooled map."""
        out, start, values = [], 0, pixels
        for end in self.ends:
            values = self.features[start:end](values)
            out.append(values)
            start = end
        return [*out[:-1], self.features[start:](values)]

    def vector(self, last: Tensor) -> Tensor:
        """What the linear layers make of the last map."""
        return self.classifier(self.avgpool(last).flatten(1))
