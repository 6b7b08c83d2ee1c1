"""From an image file to pixels for a network: upright RGB, cropped, resized, sometimes mirrored.

Files are opened as everywhere (:func:`heartfelt.media.images.image.decode_image`): turned as the camera says,
transparency on white, CMYK, palettes and grey as RGB, of an animation the first frame; an image of single 16-bit or
floating-point numbers is refused, since what is white in it is not known.

*Training*: a random part of the image (its area ``crop`` to 1 of the image's, its sides 3:4 to 4:3), mirrored half of the time.
*Otherwise*: the central square, with a margin of an eighth of the network's side around it, as ImageNet networks are tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.media.images.image import decode_image

if TYPE_CHECKING:
    from PIL.Image import Image

Pixels: TypeAlias = npt.NDArray[np.uint8]
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in pixels."""
_MARGIN = 1 / 8
_RATIO = 4 / 3
_TRIES = 10


@dataclass(frozen=True, slots=True)
class ImagePreprocessing:
    """How an image becomes the pixels of a network."""

    side: int = 224
    crop: float = 0.5
    """The smallest share of the image that is seen in training; 1 for the whole image, squeezed into a square."""
    mirror: bool = True

    def training(self, path: Path, draw: np.random.Generator) -> Pixels:
        """``(3, side, side)``, a random part of the image."""
        image = self._opened(path)
        box = random_box(image.width, image.height, self.crop, draw)
        pixels = self._resized(image, box)
        return np.ascontiguousarray(pixels[:, :, ::-1]) if self.mirror and draw.random() < 0.5 else pixels

    def evaluation(self, path: Path) -> Pixels:
        """``(3, side, side)``, the central square."""
        image = self._opened(path)
        if self.crop == 1:
            return self._resized(image, (0, 0, image.width, image.height))
        square = min(image.size) / (1 + _MARGIN)
        x, top = (image.width - square) / 2, (image.height - square) / 2
        return self._resized(image, (x, top, x + square, top + square))

    def _opened(self, path: Path) -> Image:
        """A large JPEG at a half or less of its size, with twice the pixels that are needed."""
        return decode_image(path, least=2 * self.side)

    def _resized(self, image: Image, box: Box) -> Pixels:
        from PIL.Image import Resampling

        small = image.resize((self.side, self.side), Resampling.BILINEAR, box=box, reducing_gap=2.0)
        return np.ascontiguousarray(np.asarray(small).transpose(2, 0, 1))


def random_box(width: int, height: int, least: float, draw: np.random.Generator) -> Box:
    """A random part of an image: its share of the area is ``least`` to 1, its shape 3:4 to 4:3 (all of it if ``least`` is 1)."""
    if least == 1:
        return 0, 0, width, height
    for _ in range(_TRIES):
        area = width * height * draw.uniform(least, 1)
        ratio = math.exp(draw.uniform(-math.log(_RATIO), math.log(_RATIO)))
        wide, high = math.sqrt(area * ratio), math.sqrt(area / ratio)
        if wide <= width and high <= height:
            x, top = draw.uniform(0, width - wide), draw.uniform(0, height - high)
            return x, top, x + wide, top + high
    # A panorama has no such part: the largest of the nearest shape, in its middle.
    wide, high = min(width, height * _RATIO), min(height, width * _RATIO)
    x, top = (width - wide) / 2, (height - high) / 2
    return x, top, x + wide, top + high
