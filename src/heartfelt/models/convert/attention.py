"""One layer of a transformer encoder with the normalisation behind each part, as in BERT and PyTorch's default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heartfelt.models.convert.graph import Graph

Weights = tuple[npt.NDArray[Any], npt.NDArray[Any]]
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
        """How many numbers stand for a position."""
        return int(self.parts["output"][0].shape[0])


def linear(graph: Graph, value: str, weights: Weights) -> str:
    """``value`` times the matrix, plus the bias."""
    matrix, bias = weights
    return graph("Add", graph("MatMul", value, graph.constant(matrix.T)), graph.constant(bias))


def encoder_layer(graph: Graph, value: str, layer: Layer, bias: str | None = None) -> str:
    """Attention over all positions, then two matrices; ``bias`` is added to the attention's scores."""
    attended = linear(graph, _attention(graph, value, layer, bias), layer.parts["output"])
    value = _norm(graph, graph("Add", value, attended), layer, "norm1")
    wide = linear(graph, value, layer.parts["wider"])
    wide = graph("Relu", wide) if layer.activation == "relu" else _gelu(graph, wide)
    return _norm(graph, graph("Add", value, linear(graph, wide, layer.parts["narrower"])), layer, "norm2")


def _attention(graph: Graph, value: str, layer: Layer, bias: str | None) -> str:
    size = layer.width // layer.heads
    split = graph.constant([0, 0, layer.heads, size])
    query, key, content = (
        graph("Reshape", linear(graph, value, layer.parts[part]), split) for part in ("query", "key", "value")
    )
    query = graph("Transpose", query, perm=[0, 2, 1, 3])
    key = graph("Transpose", key, perm=[0, 2, 3, 1])
    content = graph("Transpose", content, perm=[0, 2, 1, 3])
    scores = graph("Mul", graph("MatMul", query, key), graph.constant(1.0 / np.sqrt(size)))
    if bias is not None:
        scores = graph("Add", scores, bias)
    mixed = graph("MatMul", graph("Softmax", scores, axis=-1), content)
    mixed = graph("Transpose", mixed, perm=[0, 2, 1, 3])
    return graph("Reshape", mixed, graph.constant([0, 0, layer.width]))


def _norm(graph: Graph, value: str, layer: Layer, part: str) -> str:
    return layer_norm(graph, value, layer.parts[part], layer.epsilon)


def layer_norm(graph: Graph, value: str, weights: Weights, epsilon: float) -> str:
    """Normalise over the last axis."""
    scale, shift = (graph.constant(part) for part in weights)
    return graph("LayerNormalization", value, scale, shift, axis=-1, epsilon=epsilon)


def _gelu(graph: Graph, value: str) -> str:
    inner = graph("Erf", graph("Mul", value, graph.constant(1.0 / np.sqrt(2.0))))
    half = graph("Mul", value, graph.constant(0.5))
    return graph("Mul", half, graph("Add", inner, graph.constant(1.0)))
