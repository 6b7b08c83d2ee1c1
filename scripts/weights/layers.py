"""Layers that several networks have: a transformer encoder's as nodes, a batch normalisation as one scale and one shift.

The encoder's layer normalises behind each part, as in BERT and PyTorch's default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scripts.weights.traced import Skeleton, Tensors, Traced

Weights: TypeAlias = tuple[Traced, Traced]
"""A matrix ordered (out, in) and its bias; or a normalisation's scale and shift."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer, by what they do: query, key, value, output, wider, narrower, and the two norms."""

    parts: Mapping[str, Weights]
    heads: int
    epsilon: float
    activation: str
    """``relu`` or ``gelu``."""

    @property
    def width(self) -> int:
        return self.parts["output"][0].shape[0]


def linear(graph: Skeleton, value: str, weights: Weights) -> str:
    matrix, bias = weights
    return graph("Add", graph("MatMul", value, matrix.transpose(1, 0)), bias)


def encoder_layer(graph: Skeleton, value: str, layer: Layer, bias: str | None = None) -> str:
    """Attention over all positions, then two matrices; ``bias`` is added to the attention's scores."""
    attended = linear(graph, _attention(graph, value, layer, bias), layer.parts["output"])
    value = layer_norm(graph, graph("Add", value, attended), layer.parts["norm1"], layer.epsilon)
    wide = linear(graph, value, layer.parts["wider"])
    wide = graph("Relu", wide) if layer.activation == "relu" else _gelu(graph, wide)
    narrow = graph("Add", value, linear(graph, wide, layer.parts["narrower"]))
    return layer_norm(graph, narrow, layer.parts["norm2"], layer.epsilon)


def _attention(graph: Skeleton, value: str, layer: Layer, bias: str | None) -> str:
    size = layer.width // layer.heads

    def split(part: str, order: list[int]) -> str:
        heads = graph("Reshape", linear(graph, value, layer.parts[part]), [0, 0, layer.heads, size])
        return graph("Transpose", heads, perm=order)

    query, key, content = (split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3]))
    scores = graph("Mul", graph("MatMul", query, key), 1.0 / np.sqrt(size))
    if bias is not None:
        scores = graph("Add", scores, bias)
    mixed = graph("MatMul", graph("Softmax", scores, axis=-1), content)
    return graph("Reshape", graph("Transpose", mixed, perm=[0, 2, 1, 3]), [0, 0, layer.width])


def layer_norm(graph: Skeleton, value: str, weights: Weights, epsilon: float) -> str:
    return graph("LayerNormalization", value, *weights, axis=-1, epsilon=epsilon)


def _gelu(graph: Skeleton, value: str) -> str:
    inner = graph("Erf", graph("Mul", value, 1.0 / np.sqrt(2.0)))
    return graph("Mul", graph("Mul", value, 0.5), graph("Add", inner, 1.0))


def weight_and_bias(tensors: Tensors, name: str) -> Weights:
    """A layer's matrix and bias, or a normalisation's scale and shift, under their usual names."""
    return tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def batch_norm(tensors: Tensors, name: str, epsilon: float) -> Weights:
    """A batch normalisation with its running mean and variance as one scale and one shift, in float64."""
    weight, bias, mean, variance = (
        tensors[f"{name}.{key}"].astype("<f8") for key in ("weight", "bias", "running_mean", "running_var")
    )
    scale = weight / np.sqrt(variance + epsilon)
    return scale, bias - mean * scale
