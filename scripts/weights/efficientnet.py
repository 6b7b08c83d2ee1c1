"""EfficientNet-Lite: a stem, sixteen or more inverted bottlenecks, a head, the mean over the picture.

Each batch normalisation stands before its activation and is folded into the convolution it follows. The widths and
depths are read off the weights; the strides are the architecture's.

Source: M. Tan and Q. V. Le, EfficientNet (ICML 2019); the Lite variants of the TensorFlow TPU models (2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scripts.weights.layers import batch_norm
from scripts.weights.traced import Skeleton, Tensors

_EPSILON = 1e-3
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
"""Repeats at depth 1 and stride of each stage; the first and last stage are never deepened."""
_DEPTHS = {0: 1.0, 1: 1.1, 2: 1.2}
SIDES = {0: 224, 1: 240, 2: 260}


def build(graph: Skeleton, tensors: Tensors, *, variant: int, stages: Sequence[int] = ()) -> None:
    """Pictures as (value - 127) / 128 in; the mean over the last maps and the class logits out.

    ``stages`` adds the mean over the maps of these stages, counted from 1, as ``stage5`` and the like.
    """
    side = SIDES[variant]
    value = graph.input("pictures", ["n", 3, side, side])
    value, side = _convolved(graph, tensors, value, ("_conv_stem", "_bn0"), side, stride=2)
    number = 0
    for stage, strides in enumerate(_strides(variant), 1):
        for stride in strides:
            value, side = _block(graph, tensors, value, f"_blocks.{number}.", side, stride)
            number += 1
        if stage in stages:
            mean = graph("ReduceMean", value, axes=[2, 3], keepdims=0)
            graph.output(mean, f"stage{stage}", ["n", "channels"])
    value, _ = _convolved(graph, tensors, value, ("_conv_head", "_bn1"), side)
    embedding = graph("ReduceMean", value, axes=[2, 3], keepdims=0)
    logits = graph("Gemm", embedding, tensors["_fc.weight"], tensors["_fc.bias"], transB=1)
    graph.output(embedding, "embedding", ["n", 1280])
    graph.output(logits, "logits", ["n", tensors["_fc.bias"].shape[0]])


def _strides(variant: int) -> list[list[int]]:
    out: list[list[int]] = []
    for stage, (repeats, stride) in enumerate(_STAGES):
        deepened = 0 < stage < len(_STAGES) - 1
        count = math.ceil(repeats * _DEPTHS[variant]) if deepened else repeats
        out.append([stride] + [1] * (count - 1))
    return out


def _block(graph: Skeleton, tensors: Tensors, value: str, name: str, side: int, stride: int) -> tuple[str, int]:
    inner = value
    if f"{name}_expand_conv.weight" in tensors:
        inner, _ = _convolved(graph, tensors, inner, (f"{name}_expand_conv", f"{name}_bn0"), side)
    inner, after = _convolved(
        graph, tensors, inner, (f"{name}_depthwise_conv", f"{name}_bn1"), side, stride=stride, depthwise=True
    )
    inner, _ = _convolved(graph, tensors, inner, (f"{name}_project_conv", f"{name}_bn2"), after, rectified=False)
    first = tensors.get(f"{name}_expand_conv.weight")
    channels = first.shape[1] if first is not None else tensors[f"{name}_depthwise_conv.weight"].shape[0]
    if stride == 1 and channels == tensors[f"{name}_project_conv.weight"].shape[0]:
        inner = graph("Add", inner, value)
    return inner, after


def _convolved(
    graph: Skeleton,
    tensors: Tensors,
    value: str,
    names: tuple[str, str],
    side: int,
    *,
    stride: int = 1,
    depthwise: bool = False,
    rectified: bool = True,
) -> tuple[str, int]:
    """A convolution with its normalisation folded in and, where asked, the activation; and the side it leaves."""
    convolution, normalisation = names
    scale, shift = batch_norm(tensors, normalisation, _EPSILON)
    kernel = tensors[f"{convolution}.weight"] * scale.reshape(-1, 1, 1, 1)
    after = -(-side // stride)
    # As TensorFlow pads: the odd one goes to the end.
    pad = max((after - 1) * stride + kernel.shape[2] - side, 0)
    out = graph(
        "Conv",
        value,
        *(kernel, shift),
        pads=[pad // 2, pad // 2, pad - pad // 2, pad - pad // 2],
        strides=[stride, stride],
        group=kernel.shape[0] if depthwise else 1,
    )
    return (graph("Clip", out, 0.0, 6.0) if rectified else out), after
