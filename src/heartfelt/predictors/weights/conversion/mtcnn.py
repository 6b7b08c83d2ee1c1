"""MTCNN: three small networks that propose, refine and settle where faces are.

Each is a chain of convolutions with parametric rectifiers and maximum pooling; the first is applied to whole pictures of any
size, the others to crops of 24 and 48 pixels. Landmarks of faces are not used and left out.

Source: K. Zhang, Z. Zhang, Z. Li and Y. Qiao, Joint face detection and alignment using multitask cascaded convolutional networks
(IEEE Signal Processing Letters 23, 2016); ``mtcnn.py`` of the package facenet-pytorch, version 2.6.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from heartfelt.predictors.networks.faces import NETWORKS, REFINED, SETTLED, network_input
from heartfelt.predictors.weights.conversion import picture
from heartfelt.predictors.weights.conversion.graph import Graph, Tensors, linear, weight_and_bias
from heartfelt.predictors.weights.conversion.readers import read_torch
from heartfelt.predictors.weights.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class _Network:
    """What the weights alone do not say: the pools behind the first convolutions, and the names of the last layers."""

    name: str
    side: int | str
    pools: tuple[int, ...]
    convolutions: int
    dense: str
    faces: str
    boxes: str


_LAYERS = (
    _Network(name="pnet", side="side", pools=(2,), convolutions=3, dense="", faces="conv4_1", boxes="conv4_2"),
    _Network(name="rnet", side=REFINED, pools=(3, 3), convolutions=3, dense="4", faces="dense5_1", boxes="dense5_2"),
    _Network(name="onet", side=SETTLED, pools=(3, 3, 2), convolutions=4, dense="5", faces="dense6_1", boxes="dense6_2"),
)


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    weights = {name.rpartition("/")[2].removesuffix(".pt"): content for name, content in members.items()}
    built = [_built(layers, read_torch(weights[layers.name])) for layers in _LAYERS]
    return dict(zip(NETWORKS, built, strict=True))


def answers(model: Model) -> Tensors:
    out: dict[str, npt.NDArray[Any]] = {}
    for file, shape in zip(NETWORKS, ((60, 80), (REFINED, REFINED), (SETTLED, SETTLED)), strict=True):
        for name, values in model.run({"pictures": network_input(picture(*shape))[None]}, file=file).items():
            out[f"{file.removesuffix('.onnx')} {name}"] = values
    return out


def _built(layers: _Network, tensors: Tensors) -> bytes:
    """The graph: pictures as (value - 127.5) / 128 in; the probability of a face and the corrections of its box out."""
    graph, any_size = Graph(layers.name), not layers.dense
    sides: list[int | str] = ["height", "width"] if any_size else [layers.side, layers.side]
    value = graph.input("pictures", ["n", 3, *sides])
    for number in range(1, layers.convolutions + 1):
        value = graph("Conv", value, *weight_and_bias(tensors, f"conv{number}"))
        value = graph("PRelu", value, tensors[f"prelu{number}.weight"][:, None, None])
        if number <= len(layers.pools):
            size = layers.pools[number - 1]
            value = graph("MaxPool", value, kernel_shape=[size, size], strides=[2, 2], ceil_mode=1)
    if any_size:
        faces, boxes = (graph("Conv", value, *weight_and_bias(tensors, name)) for name in (layers.faces, layers.boxes))
    else:
        # The weights were made where columns come before rows.
        value = graph("Flatten", graph("Transpose", value, perm=[0, 3, 2, 1]))
        value = linear(graph, value, weight_and_bias(tensors, f"dense{layers.dense}"))
        value = graph("PRelu", value, tensors[f"prelu{layers.dense}.weight"])
        faces, boxes = (linear(graph, value, weight_and_bias(tensors, name)) for name in (layers.faces, layers.boxes))
    grid: list[int | str] = ["rows", "columns"] if any_size else []
    graph.output(graph("Softmax", faces, axis=1), "faces", ["n", 2, *grid])
    graph.output(boxes, "boxes", ["n", 4, *grid])
    return graph.content()
