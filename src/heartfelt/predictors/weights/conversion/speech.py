"""DNSMOS, personalised DNSMOS, PLCMOS, AECMOS, Silero VAD and Basic Pitch come as ONNX already and are stored as they are.

DistillMOS: six convolutions over a compressed spectrogram, seven transformer layers, attention pooling, one score.

Source: B. Stahl and H. Gamper, Distillation and pruning for scalable self-supervised representation-based speech quality
assessment (ICASSP 2025); ``sqa.py`` of the package, version 0.9.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heartfelt.predictors.networks import notes, speech, speech_activity
from heartfelt.predictors.weights.conversion import sound
from heartfelt.predictors.weights.conversion.graph import (
    Graph,
    Layer,
    Tensors,
    Weights,
    batch_norm,
    encoder_layer,
    linear,
    weight_and_bias,
)
from heartfelt.predictors.weights.conversion.readers import read_torch
from heartfelt.predictors.weights.model import Model

FRAMES = 768
BINS = 161
_POOL = "transformer_pool_attn."
_CONVOLUTIONS = 6
_LAYERS = 7
_HEADS = 8
_EPSILON = 1e-5
_FILES = {
    "sig_bak_ovr.onnx": "model.onnx",
    "model_v8.onnx": "p808.onnx",
    "plcmos_v2.onnx": "model.onnx",
    "Run_1663829550_Stage_0.onnx": "model.onnx",
    "Run_1663915512_Stage_0.onnx": "talk.onnx",
    "silero_vad_16k_sequence.onnx": "model.onnx",
    "nmp.onnx": "model.onnx",
}


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """DistillMOS's checkpoint as one ONNX model; the networks of the others as they are."""
    named = {name.rpartition("/")[2]: content for name, content in members.items()}
    stored = {file: named[name] for name, file in _FILES.items() if name in named}
    if stored:
        return stored
    weights = next(content for name, content in named.items() if name.endswith(".pt"))
    tensors = {name.removeprefix("model."): tensor for name, tensor in read_torch(weights).items()}
    return {"model.onnx": build(tensors)}


def answers(model: Model) -> Tensors:
    if model.name == "silero-vad":
        return {"speech": speech_activity.probabilities(sound(100_000), model=model)}
    if model.name == "basic-pitch":
        heard = notes.keys(sound(100_000, notes.RATE), model=model)
        return {"sounding": heard.sounding[::40], "beginning": heard.beginning[::40]}
    long = sound(170_000)
    if model.name == "aecmos":
        far, microphone = 0.5 * long[::-1].copy(), long + 0.3 * long[::-1]
        scores = {
            talk or "any": speech.aecmos(long, far, microphone, talk=talk, model=model).scores
            for talk in ("", *speech.TALKS)
        }
        return {talk: np.array(list(values.values())) for talk, values in scores.items()}
    judge = speech.JUDGES[model.name]
    return {
        name: np.array(list(judge(samples, model=model).scores.values()))
        for name, samples in (("long", long), ("short", long[:50_000]))
    }


def build(tensors: Tensors) -> bytes:
    """The graph: spectrograms (real and imaginary part, bins, frames) in, scores from 1 to 5 out."""
    graph = Graph("distillmos")
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
    first, second, third = (weight_and_bias(tensors, f"{_POOL}pool.linear{number}") for number in (1, 2, 3))
    weights = graph("Softmax", linear(graph, graph("Relu", linear(graph, value, first)), second), axis=1)
    mixed = graph("ReduceSum", graph("Mul", weights, value), [1], keepdims=0)
    return graph("Squeeze", linear(graph, mixed, third), [1])
