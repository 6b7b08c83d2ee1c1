"""MusicNN: a front end of wide filters over timbre and time, three dense layers, pooling over time, tags.

Every batch normalisation stands behind a rectifier and, in the front end, before a maximum over the mel bands. It is
moved behind the maximum (a channel with a negative factor takes the minimum instead, by turning its filter round), so
that the large maps are touched once.

Source: J. Pons and X. Serra, musicnn: pre-trained convolutional neural networks for music audio tagging (2019);
``models.py`` of the package, version 0.1.0.
"""

from __future__ import annotations

import numpy as np
from scripts.weights.layers import Weights
from scripts.weights.traced import Skeleton, Tensors, Traced

_EPSILON = 1e-3
BANDS = 96
FEATURES = 753
UNITS = 200


def build(graph: Skeleton, tensors: Tensors) -> None:
    """Log-mel patches in; tags, the 200-d layer and the pooled layers out."""
    patches = graph.input("patches", ["n", "frames", BANDS])
    image = graph("Unsqueeze", patches, [1])
    image = graph.affine(image, *_normalisation(tensors, 0))
    pads = ((3, 3), (3, 3), (63, 64), (31, 32), (15, 16))
    front = [_front(graph, image, tensors, number, pad) for number, pad in enumerate(pads)]
    maps = graph("Concat", *front, axis=1)
    cnn1 = _middle(graph, maps, tensors, 5)
    cnn2 = graph("Add", _middle(graph, cnn1, tensors, 6), cnn1)
    cnn3 = graph("Add", _middle(graph, cnn2, tensors, 7), cnn2)
    everything = graph("Concat", maps, cnn1, cnn2, cnn3, axis=1)
    peak = graph("ReduceMax", everything, axes=[2], keepdims=0)
    mean = graph("ReduceMean", everything, axes=[2], keepdims=0)
    centred = graph("Sub", everything, graph("Unsqueeze", mean, [2]))
    spread = graph("Sqrt", graph("ReduceMean", graph("Mul", centred, centred), axes=[2], keepdims=0))
    penultimate = _dense(graph, tensors, peak, mean)
    logits = graph("Gemm", penultimate, tensors["dense_1/kernel"], tensors["dense_1/bias"])
    graph.output(graph("Sigmoid", logits), "tags", ["n", tensors["dense_1/bias"].shape[0]])
    graph.output(penultimate, "penultimate", ["n", UNITS])
    for value, name in ((mean, "mean_pool"), (peak, "max_pool"), (spread, "std_pool")):
        graph.output(value, name, ["n", FEATURES])


def _name(kind: str, number: int) -> str:
    return kind if number == 0 else f"{kind}_{number}"


def _normalisation(tensors: Tensors, number: int) -> Weights:
    name = _name("batch_normalization", number)
    part = {key: tensors[f"{name}/{key}"].astype("<f8") for key in ("gamma", "beta", "moving_mean", "moving_variance")}
    scale = part["gamma"] / np.sqrt(part["moving_variance"] + _EPSILON)
    shift = part["beta"] - part["moving_mean"] * scale
    return scale.astype("<f4"), shift.astype("<f4")


def _front(graph: Skeleton, image: str, tensors: Tensors, number: int, time_pad: tuple[int, int]) -> str:
    """One filter bank of the front end, with its largest value over the mel bands: (n, channels, frames)."""
    name = _name("conv2d", number)
    kernel, bias = tensors[f"{name}/kernel"].transpose(3, 2, 0, 1), tensors[f"{name}/bias"]
    scale, shift = _normalisation(tensors, number + 1)
    sign = ((scale < 0) * -2.0 + 1.0).astype("<f4")
    before, after = time_pad
    convolved = graph("Conv", image, kernel * sign.reshape(-1, 1, 1, 1), bias * sign, pads=[before, 0, after, 0])
    extreme = graph("ReduceMax", convolved, axes=[3], keepdims=0)
    rectified = graph("Relu", graph("Mul", extreme, _column(sign)))
    return graph.affine(rectified, _column(scale), _column(shift))


def _middle(graph: Skeleton, maps: str, tensors: Tensors, number: int) -> str:
    """A layer over seven frames and all channels: (n, 64, frames)."""
    # The package convolves over (time, channel) images; across all channels at once that is a convolution over time.
    name = _name("conv2d", number)
    kernel = tensors[f"{name}/kernel"].take(0, axis=2).transpose(2, 1, 0)
    convolved = graph("Conv", maps, kernel, tensors[f"{name}/bias"], pads=[3, 3])
    scale, shift = _normalisation(tensors, number + 1)
    return graph.affine(graph("Relu", convolved), _column(scale), _column(shift))


def _dense(graph: Skeleton, tensors: Tensors, peak: str, mean: str) -> str:
    """The 200-d layer. The package interleaves maximum and mean; here they stand one after the other."""
    scale, shift = (_ordered(part).astype("<f8") for part in _normalisation(tensors, 9))
    kernel = _ordered(tensors["dense/kernel"]).astype("<f8")
    weights, bias = _column(scale) * kernel, tensors["dense/bias"] + shift @ kernel
    pooled = graph("Concat", peak, mean, axis=1)
    dense = graph("Relu", graph("Gemm", pooled, weights, bias))
    return graph.affine(dense, *_normalisation(tensors, 10))


def _ordered(pairs: Traced) -> Traced:
    """Rows that alternate between maximum and mean: first every maximum, then every mean."""
    axes, width = range(len(pairs.shape)), pairs.shape[1:]
    return pairs.reshape(FEATURES, 2, *width).transpose(1, 0, *(axis + 1 for axis in axes[1:])).reshape(-1, *width)


def _column(values: Traced) -> Traced:
    return values.reshape(-1, 1)
