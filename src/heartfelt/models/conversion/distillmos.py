"""DistillMOS: six convolutions over a compressed spectrogram, seven transformer layers, attention pooling, one score.

Source: B. Stahl and H. Gamper, Distillation and pruning for scalable self-supervised representation-based speech quality
assessment (ICASSP 2025); ``sqa.py`` of the package, version 0.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heartfelt.models import speech
from heartfelt.models.conversion.graph import (
    Graph,
    Layer,
    Tensors,
    Weights,
    batch_norm,
    encoder_layer,
    linear,
    weight_and_bias,
)
from heartfelt.models.conversion.inputs import LONG, SHORT, sound
from heartfelt.models.conversion.readers import read_torch
from heartfelt.models.session import Model

FRAMES = 768
BINS = 161
_POOL = "transformer_pool_attn."
_CONVOLUTIONS = 6
_LAYERS = 7
_HEADS = 8
_EPSILON = 1e-5


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The checkpoint as one ONNX model."""
    weights = next(content for name, content in members.items() if name.endswith(".pt"))
    tensors = {name.removeprefix("model."): tensor for name, tensor in read_torch(weights).items()}
    return {"model.onnx": build(tensors)}


def answers(model: Model) -> Tensors:
    """The synthetic sound, longer than a window and shorter."""
    given = {"long": sound(LONG), "short": sound(LONG)[:SHORT]}
    return {
        name: np.array(list(speech.distillmos(samples, model=model).scores.values()))
        for name, samples in given.items()
    }


def build(tensors: Tensors) -> bytes:
    """The graph: spectrograms (real and imaginary part, bins, frames) in, scores from 1 to 5 out."""
    graph = Graph("distillmos")
    value = graph.input("spectrograms", ["n", 2, BINS, FRAMES])
    for number in range(_CONVOLUTIONS):
        last = number == _CONVOLUTIONS - 1
        value = graph(
            "Conv",
            value,
            graph.constant(tensors[f"cnn.cnn.{2 * number}.weight"]),
            graph.constant(tensors[f"cnn.cnn.{2 * number}.bias"]),
            pads=[0, 1, 0, 1],
            strides=[1 if number == 0 else 2, 2 if last else 1],
        )
        value = graph("LeakyRelu", value, alpha=0.1)
    value = graph("Reshape", value, graph.constant([0, -1, FRAMES // 2]))
    value = linear(graph, graph("Transpose", value, perm=[0, 2, 1]), _projection(tensors))
    value = graph("Add", value, graph.constant(tensors[f"{_POOL}transformer.position_encoding.pe"]))
    for number in range(_LAYERS):
        value = encoder_layer(graph, value, _layer(tensors, number))
    value = graph.affine(value, *batch_norm(tensors, f"{_POOL}norm_trans", _EPSILON))
    score = graph("Sigmoid", _pooled(graph, tensors, value))
    graph.output(graph.affine(score, np.asarray(4.0), np.asarray(1.0)), "score", ["n"])
    return graph.content()


def _projection(tensors: Tensors) -> Weights:
    """The projection to the transformer's width, with the two normalisations before it folded in."""
    first_scale, first_shift = batch_norm(tensors, f"{_POOL}norm_input", _EPSILON)
    second_scale, second_shift = batch_norm(tensors, f"{_POOL}transformer.norm", _EPSILON)
    matrix, bias = weight_and_bias(tensors, f"{_POOL}transformer.linear_proj")
    shift = first_shift * second_scale + second_shift
    return matrix * (first_scale * second_scale)[None, :], bias + matrix @ shift


def _layer(tensors: Tensors, number: int) -> Layer:
    name = f"{_POOL}transformer.transformer_encoder.layers.{number}."
    matrices = np.split(tensors[f"{name}self_attn.in_proj_weight"], 3)
    biases = np.split(tensors[f"{name}self_attn.in_proj_bias"], 3)
    parts = dict(zip(("query", "key", "value"), zip(matrices, biases, strict=True), strict=True))
    published = {
        "output": "self_attn.out_proj",
        "wider": "linear1",
        "narrower": "linear2",
        "norm1": "norm1",
        "norm2": "norm2",
    }
    parts |= {part: weight_and_bias(tensors, f"{name}{theirs}") for part, theirs in published.items()}
    return Layer(parts, _HEADS, _EPSILON, "relu")


def _pooled(graph: Graph, tensors: Tensors, value: str) -> str:
    hidden = graph("Relu", linear(graph, value, weight_and_bias(tensors, f"{_POOL}pool.linear1")))
    weights = graph(
        "Softmax", linear(graph, hidden, weight_and_bias(tensors, f"{_POOL}pool.linear2")), axis=1
    )
    mixed = graph("ReduceSum", graph("Mul", weights, value), graph.constant([1]), keepdims=0)
    return graph(
        "Squeeze", linear(graph, mixed, weight_and_bias(tensors, f"{_POOL}pool.linear3")), graph.constant([1])
    )
