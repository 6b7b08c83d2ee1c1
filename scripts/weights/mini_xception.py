"""Mini-Xception for facial expressions: two convolutions, four blocks of separable ones with a shortcut, the mean over the picture.

Each batch normalisation stands behind a convolution without a bias and is folded into it.

Source: O. Arriaga, M. Valdenegro-Toro and P. Ploeger, Real-time convolutional neural networks for emotion and gender classification
(2017); the layers listed in the file of weights.
"""

from __future__ import annotations

from scripts.weights.layers import batch_norm
from scripts.weights.traced import Skeleton, Tensors

from heartfelt.predictors.networks.images.expressions import EXPRESSIONS, SIDE

_EPSILON = 1e-3
_BLOCKS = 4


def build(graph: Skeleton, tensors: Tensors) -> None:
    """Grey faces from -1 to 1 in, logits of the expressions out."""
    side = SIDE
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


def _convolved(
    graph: Skeleton, tensors: Tensors, value: str, name: str, norm: int, *, stride: int = 1, part: str = "kernel"
) -> str:
    scale, shift = batch_norm(tensors, f"batch_normalization_{norm}", _EPSILON)
    kernel = tensors[f"{name}.{part}"].transpose(3, 2, 0, 1) * scale.reshape(-1, 1, 1, 1)
    return graph("Conv", value, kernel, shift, strides=[stride, stride])


def _separable(graph: Skeleton, tensors: Tensors, value: str, number: int, norm: int) -> str:
    name = f"separable_conv2d_{number}"
    kernel = tensors[f"{name}.depthwise_kernel"].transpose(2, 3, 0, 1)
    value = graph("Conv", value, kernel, pads=[1, 1, 1, 1], group=kernel.shape[0])
    return _convolved(graph, tensors, value, name, norm, part="pointwise_kernel")
