"""DistillMOS: six convolutions over a compressed spectrogram, seven transformer layers, attention pooling, one score.

Source: B. Stahl and H. Gamper, Distillation and pruning for scalable self-supervised representation-based speech quality
assessment (ICASSP 2025); ``sqa.py`` of the package, version 0.9.1.
"""

from __future__ import annotations

from scripts.weights.layers import Layer, Weights, batch_norm, encoder_layer, linear, weight_and_bias
from scripts.weights.traced import Skeleton, Tensors

FRAMES = 768
BINS = 161
_POOL = "transformer_pool_attn."
_CONVOLUTIONS = 6
_LAYERS = 7
_HEADS = 8
_EPSILON = 1e-5


def build(graph: Skeleton, tensors: Tensors) -> None:
    """Spectrograms (real and imaginary part, bins, frames) in, scores from 1 to 5 out."""
    value = graph.input("spectrograms", ["n", 2, BINS, FRAMES])
    for number in range(_CONVOLUTIONS):
        last = number == _CONVOLUTIONS - 1
        weights = weight_and_bias(tensors, f"cnn.cnn.{2 * number}")
        strides = [1 if number == 0 else 2, 2 if last else 1]
        value = graph("Conv", value, *weights, pads=[0, 1, 0, 1], strides=strides)
        value = graph("LeakyRelu", value, alpha=0.1)
    value = graph("Reshape", value, [0, -1, FRAMES // 2])
    value = linear(graph, graph("Transpose", value, perm=[0, 2, 1]), _projection(tensors))
    value = graph("Add", value, tensors[f"{_POOL}transformer.position_encoding.pe"])
    for number in range(_LAYERS):
        value = encoder_layer(graph, value, _layer(tensors, number))
    value = graph.affine(value, *batch_norm(tensors, f"{_POOL}norm_trans", _EPSILON))
    score = graph("Sigmoid", _pooled(graph, tensors, value))
    graph.output(graph.affine(score, 4.0, 1.0), "score", ["n"])


def _projection(tensors: Tensors) -> Weights:
    """The projection to the transformer's width, with the two normalisations before it folded in."""
    first_scale, first_shift = batch_norm(tensors, f"{_POOL}norm_input", _EPSILON)
    second_scale, second_shift = batch_norm(tensors, f"{_POOL}transformer.norm", _EPSILON)
    matrix, bias = weight_and_bias(tensors, f"{_POOL}transformer.linear_proj")
    shift = first_shift * second_scale + second_shift
    return matrix * (first_scale * second_scale).reshape(1, -1), bias + matrix @ shift


def _layer(tensors: Tensors, number: int) -> Layer:
    name = f"{_POOL}transformer.transformer_encoder.layers.{number}."
    matrices, biases = tensors[f"{name}self_attn.in_proj_weight"], tensors[f"{name}self_attn.in_proj_bias"]
    matrices, biases = matrices.reshape(3, -1, matrices.shape[1]), biases.reshape(3, -1)
    attention = ("query", "key", "value")
    parts = {part: (matrices.take(at, axis=0), biases.take(at, axis=0)) for at, part in enumerate(attention)}
    published = {
        "output": "self_attn.out_proj",
        "wider": "linear1",
        "narrower": "linear2",
        "norm1": "norm1",
        "norm2": "norm2",
    }
    parts |= {part: weight_and_bias(tensors, f"{name}{theirs}") for part, theirs in published.items()}
    return Layer(parts, _HEADS, _EPSILON, "relu")


def _pooled(graph: Skeleton, tensors: Tensors, value: str) -> str:
    first, second, third = (weight_and_bias(tensors, f"{_POOL}pool.linear{number}") for number in (1, 2, 3))
    weights = graph("Softmax", linear(graph, graph("Relu", linear(graph, value, first)), second), axis=1)
    mixed = graph("ReduceSum", graph("Mul", weights, value), [1], keepdims=0)
    return graph("Squeeze", linear(graph, mixed, third), [1])
