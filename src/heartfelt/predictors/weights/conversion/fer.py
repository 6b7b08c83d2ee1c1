"""Mini-Xception for facial expressions: two convolutions, four blocks of separable ones with a shortcut, the mean over the picture.

Each batch normalisation stands behind a convolution without a bias and is folded into it.

Source: O. Arriaga, M. Valdenegro-Toro and P. Ploeger, Real-time convolutional neural networks for emotion and gender classification
(2017); the layers listed in the file of weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from heartfelt.predictors.networks.expressions import EXPRESSIONS, SIDE, network_input
from heartfelt.predictors.weights.conversion import picture
from heartfelt.predictors.weights.conversion.graph import Graph, Tensors, batch_norm
from heartfelt.predictors.weights.conversion.readers import read_hdf5
from heartfelt.predictors.weights.model import Model

_EPSILON = 1e-3
_BLOCKS = 4
_NAMES = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    weights = next(content for name, content in members.items() if name.endswith(".hdf5"))
    tensors = {}
    for path, values in read_hdf5(weights).items():
        if path.startswith("model_weights/"):
            _, layer, _, part = path.removesuffix(":0").split("/")
            tensors[f"{layer}.{_NAMES.get(part, part)}"] = values
    return {"model.onnx": build(tensors)}


def answers(model: Model) -> Tensors:
    grey = picture(SIDE, 3 * SIDE).mean(axis=2)
    faces = np.stack([network_input(part) for part in np.hsplit(grey, 3)])
    return model.run({"faces": faces})


def build(tensors: Tensors) -> bytes:
    """The graph: grey faces from -1 to 1 in, logits of the expressions out."""
    graph, side = Graph("mini-xception"), SIDE
    value = graph.input("faces", ["n", 1, SIDE, SIDE])
    for number in (1, 2):
        value = graph("Relu", _convolved(graph, tensors, value, f"conv2d_{number}", number))
        side -= 2
    for block in range(1, _BLOCKS + 1):
        after = -(-side // 2)
        shortcut = _convolved(graph, tensors, value, f"conv2d_{block + 2}", 3 * block, stride=2)
        value = graph("Relu", _separable(graph, tensors, value, 2 * block - 1, 3 * block + 1))
        value = _separable(graph, tensors, value, 2 * block, 3 * block + 2)
        # As TensorFlow pads: the odd one goes to the end.
        pad = 2 * (after - 1) + 3 - side
        pads = [pad // 2, pad // 2, pad - pad // 2, pad - pad // 2]
        value = graph("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=pads)
        value, side = graph("Add", value, shortcut), after
    kernel, bias = tensors["conv2d_7.kernel"].transpose(3, 2, 0, 1), tensors["conv2d_7.bias"]
    value = graph("Conv", value, kernel, bias, pads=[1, 1, 1, 1])
    logits = graph("ReduceMean", value, axes=[2, 3], keepdims=0)
    graph.output(logits, "logits", ["n", len(EXPRESSIONS)])
    return graph.content()


def _convolved(
    graph: Graph, tensors: Tensors, value: str, name: str, norm: int, *, stride: int = 1, part: str = "kernel"
) -> str:
    scale, shift = batch_norm(tensors, f"batch_normalization_{norm}", _EPSILON)
    kernel = tensors[f"{name}.{part}"].transpose(3, 2, 0, 1) * scale[:, None, None, None]
    return graph("Conv", value, kernel, shift, strides=[stride, stride])


def _separable(graph: Graph, tensors: Tensors, value: str, number: int, norm: int) -> str:
    name = f"separable_conv2d_{number}"
    kernel = tensors[f"{name}.depthwise_kernel"].transpose(2, 3, 0, 1)
    value = graph("Conv", value, kernel, pads=[1, 1, 1, 1], group=kernel.shape[0])
    return _convolved(graph, tensors, value, name, norm, part="pointwise_kernel")
