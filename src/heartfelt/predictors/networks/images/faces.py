"""Where faces are in a picture, by MTCNN: a cascade of three networks, each of which discards most of what the one before proposed.

A picture is reduced to at most ``LONGEST`` pixels a side, so that the smallest face that can be detected has 20 pixels of that
size, 2% of a square picture. The first network sees the picture at sizes that shrink by 0.709; of boxes that overlap only the
best stays (intersection over union above 0.5 within a size, 0.7 between sizes; at the end above 0.7 of the smaller box); the
second and third network correct the boxes. Faces from the side, from behind, covered, very small, drawn or strongly turned are
often missed.

Source: K. Zhang, Z. Zhang, Z. Li and Y. Qiao, IEEE Signal Processing Letters 23 (2016), 1499-1503, with the thresholds of the
package facenet-pytorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.networks.fixed_inputs import Tensors, picture
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

if TYPE_CHECKING:
    from PIL.Image import Image

Array = npt.NDArray[np.float32]
Boxes = npt.NDArray[np.float64]
"""Rows of left, top, right, bottom and score."""

NETWORKS = ("model.onnx", "refine.onnx", "settle.onnx")
REFINED, SETTLED = 24, 48
LONGEST = 1024
_CELL, _STRIDE, _FACTOR = 12, 2, 0.709
_SMALLEST = 20
_PROPOSED, _LIKELY = 0.6, 0.7
_BATCH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """A face: its box in the picture's own pixels, and how sure the network is."""

    left: float
    top: float
    right: float
    bottom: float
    score: float

    @property
    def area(self) -> float:
        return max(self.right - self.left, 0.0) * max(self.bottom - self.top, 0.0)


def detect_faces(image: Image, *, model: str | Model = "mtcnn", least: float = 0.9) -> tuple[Face, ...]:
    """The faces in an RGB image with a score of at least ``least``, the largest first."""
    loaded = load_model(model) if isinstance(model, str) else model
    scale = min(1.0, LONGEST / max(image.size))
    if scale < 1:
        from PIL.Image import Resampling

        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Resampling.BOX, reducing_gap=3.0)
    boxes = _proposed(image, loaded)
    if boxes.size:
        boxes = _checked(image, boxes, loaded, 1, _LIKELY)
    if boxes.size:
        boxes = _checked(image, _squares(boxes), loaded, 2, least)
        boxes = _without_overlaps(boxes, 0.7, of_smaller=True)
    boxes[:, :4] /= scale
    faces = [
        Face(left=left, top=top, right=right, bottom=bottom, score=score)
        for left, top, right, bottom, score in boxes.tolist()
    ]
    return tuple(sorted(faces, key=lambda face: -face.area))


def network_input(pixels: npt.NDArray[Any]) -> Array:
    """RGB values from 0 to 255, ``(height, width, 3)``, in the networks' units and order."""
    out: Array = np.ascontiguousarray(((pixels.astype(np.float32) - 127.5) / 128.0).transpose(2, 0, 1))
    return out


def _proposed(image: Image, model: Model) -> Boxes:
    from PIL.Image import Resampling

    scale, proposals = _CELL / _SMALLEST, [np.empty((0, 9))]
    while min(image.size) * scale >= _CELL:
        size = int(image.width * scale + 1), int(image.height * scale + 1)
        small = np.asarray(image.resize(size, Resampling.BOX))
        result = model.run({"pictures": network_input(small)[None]}, file=NETWORKS[0])
        scores, moves = result["faces"][0, 1], result["boxes"][0]
        rows, columns = np.nonzero(scores >= _PROPOSED)
        corners = _STRIDE * np.stack([columns, rows], axis=1)
        low, high = np.floor((corners + 1) / scale), np.floor((corners + _CELL) / scale)
        boxes = np.column_stack([low, high, scores[rows, columns], moves[:, rows, columns].T]).astype(np.float64)
        proposals.append(_without_overlaps(boxes, 0.5))
        scale *= _FACTOR
    boxes = _without_overlaps(np.concatenate(proposals), 0.7)
    return _squares(_moved(boxes[:, :5], boxes[:, 5:], 0.0))


def _checked(image: Image, boxes: Boxes, model: Model, network: int, least: float) -> Boxes:
    """The boxes that the second or third network takes for faces, with its scores and corrections."""
    from PIL.Image import Resampling

    side = (REFINED, SETTLED)[network - 1]
    corners = np.trunc(boxes[:, :4]).astype(np.int64)
    low = np.maximum(corners[:, :2], 1) - 1
    high = np.minimum(corners[:, 2:], image.size)
    inside = (high > low).all(axis=1)
    boxes, regions = boxes[inside], np.hstack([low, high])[inside].tolist()
    crops = [network_input(np.asarray(image.resize((side, side), Resampling.BOX, box=tuple(box)))) for box in regions]
    results = [
        model.run({"pictures": np.stack(crops[start : start + _BATCH])}, file=NETWORKS[network])
        for start in range(0, len(crops), _BATCH)
    ]
    if not results:
        return np.empty((0, 5))
    scores = np.concatenate([result["faces"][:, 1] for result in results])
    moves = np.concatenate([result["boxes"] for result in results])
    likely = scores >= least
    boxes = np.column_stack([boxes[likely, :4], scores[likely]])
    if network == 1:
        separate = _separate_order(boxes, 0.7)
        return _moved(boxes[separate], moves[likely][separate], 1.0)
    return _moved(boxes, moves[likely], 1.0)


def _moved(boxes: Boxes, moves: npt.NDArray[Any], more: float) -> Boxes:
    """Boxes corrected by shares of their sizes, which count ``more`` pixels."""
    sizes = boxes[:, 2:4] - boxes[:, :2] + more
    return np.column_stack([boxes[:, :4] + moves * np.hstack([sizes, sizes]), boxes[:, 4]])


def _squares(boxes: Boxes) -> Boxes:
    sizes = boxes[:, 2:4] - boxes[:, :2]
    side = sizes.max(axis=1, initial=0.0, keepdims=True) if sizes.size else sizes[:, :1]
    low = boxes[:, :2] + sizes / 2 - side / 2
    return np.column_stack([low, low + side, boxes[:, 4]])


def _without_overlaps(boxes: Boxes, most: float, *, of_smaller: bool = False) -> Boxes:
    return boxes[_separate_order(boxes, most, of_smaller=of_smaller)]


def _separate_order(boxes: Boxes, most: float, *, of_smaller: bool = False) -> list[int]:
    """The indices of boxes of which no two overlap by more than ``most`` of their union (or of the smaller), the best first."""
    low, high = boxes[:, :2], boxes[:, 2:4]
    areas = (high - low).clip(min=0).prod(axis=1)
    order, chosen = np.argsort(-boxes[:, 4], kind="stable"), list[int]()
    while order.size:
        best, order = int(order[0]), order[1:]
        chosen.append(best)
        common = (np.minimum(high[best], high[order]) - np.maximum(low[best], low[order])).clip(min=0).prod(axis=1)
        total = np.minimum(areas[best], areas[order]) if of_smaller else areas[best] + areas[order] - common
        order = order[common <= most * total]
    return chosen


def reference_answers(model: Model) -> Tensors:
    out: dict[str, npt.NDArray[Any]] = {}
    for file, shape in zip(NETWORKS, ((60, 80), (REFINED, REFINED), (SETTLED, SETTLED)), strict=True):
        for name, values in model.run({"pictures": network_input(picture(*shape))[None]}, file=file).items():
            out[f"{file.removesuffix('.onnx')} {name}"] = values
    return out
