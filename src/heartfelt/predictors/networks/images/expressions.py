"""The expression of a face, by the network of the package ``fer``: seven expressions with their probabilities.

A face is a grey square of 64 pixels: the box of the face, its shorter side extended, filled with its own mean beyond the picture.
The network was trained on FER2013, 35,887 photographs of faces from a web search, and is right
for about two thirds of them; so are people. It says what a face looks like, not what a person feels, and is not meant for drawings
and masks.

Source: Arriaga, Valdenegro-Toro and Ploeger (2017), arXiv 1710.07557; Goodfellow et al. (2013), arXiv 1307.0414 (FER2013).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.fixed_inputs import Tensors, picture
from heartfelt.predictors.networks.images.efficientnet import softmax
from heartfelt.predictors.networks.images.faces import Face
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

if TYPE_CHECKING:
    from PIL.Image import Image

Array = npt.NDArray[np.float32]

EXPRESSIONS = ("angry", "disgusted", "afraid", "happy", "sad", "surprised", "neutral")
"""In the order of the network's outputs."""
SIDE = 64


def recognise_expressions(
    image: Image, faces: Sequence[Face], *, model: str | Model = "fer"
) -> npt.NDArray[np.float64]:
    """One row per face with the probability of each of ``EXPRESSIONS``."""
    if not faces:
        return np.empty((0, len(EXPRESSIONS)))
    loaded = load_model(model) if isinstance(model, str) else model
    grey = image.convert("L")
    return softmax(loaded.run({"faces": np.stack([_square(grey, face) for face in faces])})["logits"])


def network_input(grey: npt.NDArray[Any]) -> Array:
    """Grey values from 0 to 255, ``(height, width)``, in the network's units."""
    out: Array = (grey.astype(np.float32) / 127.5 - 1)[None]
    return out


def _square(grey: Image, face: Face) -> Array:
    from PIL import Image, ImageStat

    side = max(1, round(max(face.right - face.left, face.bottom - face.top)))
    x_offset, top = round((face.left + face.right - side) / 2), round((face.top + face.bottom - side) / 2)
    inside = max(x_offset, 0), max(top, 0), min(x_offset + side, grey.width), min(top + side, grey.height)
    part = grey.crop(inside)
    square = Image.new("L", (side, side), round(ImageStat.Stat(part).mean[0]))
    square.paste(part, (inside[0] - x_offset, inside[1] - top))
    return network_input(np.asarray(square.resize((SIDE, SIDE), Image.Resampling.BILINEAR)))


def reference_answers(model: Model) -> Tensors:
    grey = picture(SIDE, 3 * SIDE).mean(axis=2)
    return model.run({"faces": np.stack([network_input(part) for part in np.hsplit(grey, 3)])})
