"""MTCNN: three small networks that propose, refine and settle where faces are.

Each is a chain of convolutions with parametric rectifiers and maximum pooling; the first is applied to whole pictures of any
size, the others to crops of 24 and 48 pixels. Landmarks of faces are not used and left out.

Source: K. Zhang, Z. Zhang, Z. Li and Y. Qiao, Joint face detection and alignment using multitask cascaded convolutional networks
(IEEE Signal Processing Letters 23, 2016); ``mtcnn.py`` of the package facenet-pytorch, version 2.6.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from scripts.weights.layers import linear, weight_and_bias
from scripts.weights.traced import Skeleton, Tensors

from heartfelt.predictors.networks.images.faces import REFINED, SETTLED


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeNetwork:
    """What the weights alone do not say: the pools behind the first convolutions, and the names of the last layers."""

    name: str
    side: int | str
    pools: tuple[int, ...]
    convolutions: int
    dense: str
    faces: str
    boxes: str


CASCADE = (
    CascadeNetwork(name="pnet", side="side", pools=(2,), convolutions=3, dense="", faces="conv4_1", boxes="conv4_2"),
    CascadeNetwork(
        name="rnet", side=REFINED, pools=(3, 3), convolutions=3, dense="4", faces="dense5_1", boxes="dense5_2"
    ),
    CascadeNetwork(
        name="onet", side=SETTLED, pools=(3, 3, 2), convolutions=4, dense="5", faces="dense6_1", boxes="dense6_2"
    ),
)


def build(graph: Skeleton, tensors: Tensors, *, layers: CascadeNetwork) -> None:
    """Pictures as (value - 127.5) / 128 in; the probability of a face and the corrections of its box out."""
    any_size = not layers.dense
    sides: list[int | str] = ["height", "width"] if any_size else [layers.side, layers.side]
    value = graph.input("pictures", ["n", 3, *sides])
    for number in range(1, layers.convolutions + 1):
        value = graph("Conv", value, *weight_and_bias(tensors, f"conv{number}"))
        value = graph("PRelu", value, tensors[f"prelu{number}.weight"].reshape(-1, 1, 1))
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
