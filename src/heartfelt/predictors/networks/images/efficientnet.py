"""EfficientNet-Lite on pictures: 1,280 numbers that say what is seen.

Conventions: a picture is a path, a Pillow image, or an array of bytes ``(height, width, 3)``, RGB. ``view`` says what
part of it is looked at: ``centre``, the central square as the network was tested with, or ``whole``, everything,
squeezed into a square.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.errors import InputError
from heartfelt.media.images.image import decode_image
from heartfelt.predictors.networks.fixed_inputs import Tensors
from heartfelt.predictors.networks.fixed_inputs import picture as fixed_picture
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

if TYPE_CHECKING:
    from PIL.Image import Image

Array = npt.NDArray[np.float32]
Picture: TypeAlias = "Path | str | Image | npt.NDArray[np.uint8]"
View = Literal["centre", "whole"]

DIMENSIONS = 1280
_MARGIN = 32
"""The margin around the central square, at the network's own resolution."""
_BATCH = 8


def embed(pictures: Iterable[Picture], *, model: str | Model = "efficientnet-lite0", view: View = "centre") -> Array:
    """One row of 1,280 per picture. Pictures are taken a few at a time, so their number does not matter."""
    return look(pictures, model=model, view=view)["embedding"]


def look(
    pictures: Iterable[Picture], *, model: str | Model = "efficientnet-lite0", view: View = "centre"
) -> dict[str, Array]:
    """``embedding`` (n, 1280) and ``logits`` of the 1,000 ImageNet classes."""
    loaded = load_model(model) if isinstance(model, str) else model
    side = side_of(loaded)
    ready = (prepared(picture, side, view) for picture in pictures)
    pieces: list[dict[str, npt.NDArray[Any]]] = []
    while batch := list(islice(ready, _BATCH)):
        pieces.append(loaded.run({"pictures": np.stack(batch)}))
    if not pieces:
        return {"embedding": np.empty((0, DIMENSIONS), np.float32), "logits": np.empty((0, 1000), np.float32)}
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def prepared(picture: Picture, side: int, view: View = "centre") -> Array:
    """A picture as the network is given it, ``(3, side, side)``."""
    from PIL import Image

    if isinstance(picture, str | Path):
        image = decode_image(picture)
    elif isinstance(picture, np.ndarray):
        if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or 0 in picture.shape:
            raise InputError(
                f"An array of shape {picture.shape} and type {picture.dtype} is no RGB picture.",
                "Pass bytes of shape (height, width, 3).",
            )
        image = Image.fromarray(picture)
    else:
        image = picture.convert("RGB")
    if view == "centre":
        square = max(1, round(min(image.size) * side / (side + _MARGIN)))
        x_offset, top = (image.width - square) // 2, (image.height - square) // 2
        image = image.crop((x_offset, top, x_offset + square, top + square))
    elif view != "whole":
        raise InputError(f"No view is called '{view}'.", "Choose 'centre' or 'whole'.")
    pixels = np.asarray(image.resize((side, side), Image.Resampling.BICUBIC), dtype=np.float32)
    return network_input(pixels)


def network_input(pixels: npt.NDArray[Any]) -> Array:
    """RGB values from 0 to 255, ``(height, width, 3)``, in the network's units and order."""
    out: Array = np.ascontiguousarray(((pixels.astype(np.float32) - 127.0) / 128.0).transpose(2, 0, 1))
    return out


def softmax(logits: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Probabilities that add up to 1 in each row."""
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def side_of(model: Model) -> int:
    side = model.input_shape("pictures")[-1]
    if not isinstance(side, int):
        raise InputError(f"{model.name} does not say how large its pictures are.", "Use a graph of fixed size.")
    return side


def reference_answers(model: Model) -> Tensors:
    side = side_of(model)
    return model.run({"pictures": network_input(fixed_picture(side, side))[None]})
