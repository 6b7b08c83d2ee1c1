"""BRISQUE: how distorted a photograph looks, by the statistics of its pixels; 0 is natural, 100 badly distorted.

An image in grey is divided, at every pixel, by the contrast around it (a Gaussian window of seven pixels, beyond the edges
black). The values, and the products of neighbours in four directions, follow generalised Gaussians in undistorted photographs.
Their 18 parameters, at full and at half size, go into support vectors trained on people's ratings of photographs with blur, noise
and compression (the LIVE set). The published range of the result is 0 to 100; some images lie outside.

The package fits the shapes by a search that begins at 0.2, here they are read from a table of the same equation.

Conventions: grey is 0 to 1, ``(height, width)``.

Source: A. Mittal, A. K. Moorthy and A. C. Bovik (2012); ``brisque.py`` and the model of brisque 0.2.0, with which the stored
reference was made.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from heartfelt.errors import InputError
from heartfelt.predictors.networks.fixed_inputs import Tensors, picture
from heartfelt.predictors.weights.loading import load_model
from heartfelt.predictors.weights.model import Model

Floats = npt.NDArray[np.float64]

SMALLEST = 16
"""The fewest pixels a side."""
_GREY = (0.2125, 0.7154, 0.0721)
_SIGMA, _REACH = 7 / 6, 3
_CUBIC = (-0.09375, 0.59375, 0.59375, -0.09375)
"""Bicubic weights (a = -0.75) half-way between two pixels, as OpenCV's."""


def brisque(image: Image, *, model: Model | None = None) -> float:
    return score_of(statistics(grey_of(image)), model or load_model("brisque"))


def grey_of(image: Image) -> Floats:
    """An image in grey, from 0 to 1."""
    return np.asarray(np.asarray(image.convert("RGB"), dtype=np.float64) @ np.array(_GREY) / 255)


def score_of(values: Floats, model: Model) -> float:
    return float(model.run({"statistics": values[None]})["score"][0])


def statistics(grey: Floats) -> Floats:
    if min(grey.shape) < SMALLEST:
        raise InputError(
            f"An image of {grey.shape[1]} x {grey.shape[0]} pixels is too small to judge.",
            f"Give images of at least {SMALLEST} pixels a side.",
        )
    return np.concatenate([_one_size(grey), _one_size(_halved(grey))])


def _one_size(grey: Floats) -> Floats:
    local = _normalised(grey)
    shape, _, below_scale, right = _fitted(local)
    neighbours = (
        local[:, :-1] * local[:, 1:],
        local[:-1] * local[1:],
        local[:-1, :-1] * local[1:, 1:],
        local[1:, :-1] * local[:-1, 1:],
    )
    return np.array([shape, (below_scale + right) / 2, *(number for part in neighbours for number in _fitted(part))])


def _normalised(grey: Floats) -> Floats:
    from scipy.ndimage import correlate1d

    window = np.exp(-(np.arange(-_REACH, _REACH + 1) ** 2) / (2 * _SIGMA**2))
    window /= window.sum()

    def around(values: Floats) -> Floats:
        return np.asarray(correlate1d(correlate1d(values, window, 0, mode="constant"), window, 1, mode="constant"))

    mean = around(grey)
    return np.asarray((grey - mean) / (np.sqrt(np.abs(mean**2 - around(grey**2))) + 1 / 255))


def _fitted(values: Floats) -> tuple[float, float, float, float]:
    """Shape, mean, and the mean squares left and right of zero of an asymmetric generalised Gaussian."""
    from scipy.special import gamma

    below, above = values[values < 0], values[values >= 0]
    if not len(below) or not len(above) or not values.any():
        raise InputError("The image has one colour, or nearly so.", "Leave it out: there is no texture to judge.")
    below_scale, right = float(np.mean(below**2)), float(np.mean(above**2))
    ratio = np.sqrt(below_scale / right) if right > 0 else np.inf
    if not 0 < ratio < np.inf:
        raise InputError("The image has hardly any texture.", "Leave it out: there is nothing to judge.")
    moments = float(np.mean(np.abs(values)) ** 2 / np.mean(values**2))
    shapes, table = _shapes()
    shape = float(np.interp(moments * (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2, table, shapes))
    width = np.sqrt(gamma(1 / shape) / gamma(3 / shape))
    mean = (np.sqrt(right) - np.sqrt(below_scale)) * width * gamma(2 / shape) / gamma(1 / shape)
    return shape, float(mean), below_scale, right


@cache
def _shapes() -> tuple[Floats, Floats]:
    """Shapes from 0.1 to 10, and the ratio of moments that belongs to each."""
    from scipy.special import gammaln

    shapes = np.arange(0.1, 10.0005, 0.001)
    return shapes, np.exp(2 * gammaln(2 / shapes) - gammaln(1 / shapes) - gammaln(3 / shapes))


def _halved(grey: Floats) -> Floats:
    for axis in (0, 1):
        size = grey.shape[axis]
        middle = 2 * np.arange(round(size / 2))
        taps = (np.clip(middle + step, 0, size - 1) for step in (-1, 0, 1, 2))
        parts = (weight * grey.take(tap, axis) for weight, tap in zip(_CUBIC, taps, strict=True))
        grey = np.sum(list(parts), axis=0)
    return grey


def reference_answers(model: Model) -> Tensors:
    from PIL import Image

    pictures = [Image.fromarray(picture(height, width)) for height, width in ((240, 320), (201, 155))]
    values = [statistics(grey_of(image)) for image in pictures]
    return {"statistics": np.concatenate(values), "scores": np.array([score_of(row, model) for row in values])}
