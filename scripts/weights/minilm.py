"""MiniLM: six BERT layers of width 384, the mean over a text's tokens, brought to length one.

Source: N. Reimers and I. Gurevych, Sentence-BERT (EMNLP 2019); W. Wang et al., MiniLM (NeurIPS 2020);
``sentence-transformers/all-MiniLM-L6-v2``.
"""

from __future__ import annotations

from scripts.weights.layers import Layer, encoder_layer, layer_norm, weight_and_bias
from scripts.weights.traced import Skeleton, Tensors

from heartfelt.predictors.networks.minilm import WIDTH

_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12


def build(graph: Skeleton, tensors: Tensors) -> None:
    """Token numbers and which of them count in, unit vectors out."""
    tokens = graph.input("tokens", ["n", "length"], "INT64")
    counts = graph.input("mask", ["n", "length"])
    words = graph("Gather", tensors["embeddings.word_embeddings.weight"], tokens)
    kind = tensors["embeddings.token_type_embeddings.weight"].take([0], axis=0)
    length = graph("Slice", graph("Shape", tokens), [1], [2])
    positions = graph("Slice", tensors["embeddings.position_embeddings.weight"] + kind, [0], length, [0])
    value = layer_norm(
        graph, graph("Add", words, positions), weight_and_bias(tensors, "embeddings.LayerNorm"), _EPSILON
    )
    absent = graph("Mul", graph("Sub", 1.0, counts), -1e9)
    bias = graph("Unsqueeze", absent, [1, 2])
    for number in range(_LAYERS):
        value = encoder_layer(graph, value, _layer(tensors, number), bias)
    counted = graph("Mul", value, graph("Unsqueeze", counts, [2]))
    summed = graph("ReduceSum", counted, [1], keepdims=0)
    graph.output(graph("LpNormalization", summed, axis=1, p=2), "embedding", ["n", WIDTH])
    graph.output(graph("LpNormalization", value, axis=2, p=2), "token_vectors", ["n", "length", WIDTH])


def _layer(tensors: Tensors, number: int) -> Layer:
    name = f"encoder.layer.{number}."
    published = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "output": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "wider": "intermediate.dense",
        "narrower": "output.dense",
        "norm2": "output.LayerNorm",
    }
    parts = {part: weight_and_bias(tensors, f"{name}{theirs}") for part, theirs in published.items()}
    return Layer(parts, _HEADS, _EPSILON, "gelu")
