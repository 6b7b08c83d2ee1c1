"""Writing an ONNX graph node by node, with the weights inside; and a transformer encoder's layer as such nodes.

The layer normalises behind each part, as in BERT and PyTorch's default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
Constant: TypeAlias = npt.NDArray[Any] | Sequence[int] | float
Weights: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[Any]]
"""A matrix ordered (out, in) and its bias; or a normalisation's scale and shift."""

OPSET = 17
_IR_VERSION = 8
"""Old enough for every ONNX Runtime that knows the operators."""


class Graph:
    """A graph being written. Calling it adds a node and returns the name of what the node gives."""

    def __init__(self, name: str, floats: type[np.floating[Any]] = np.float32) -> None:
        self.name = name
        self.floats = floats
        """How numbers with a fraction are stored."""
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], kind: str = "FLOAT") -> str:
        """Declare what the graph is given; a dimension with a name may have any size."""
        self._inputs.append(_value(name, shape, kind))
        return name

    def output(self, value: str, name: str, shape: Sequence[int | str], kind: str = "FLOAT") -> None:
        """Declare ``value`` as something the graph gives back under ``name``."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(_value(name, shape, kind))

    def external(self, name: str, shape: Sequence[int], kind: str, *, location: str, offset: int, length: int) -> str:
        """Declare an array that stands in another file next to the graph."""
        from onnx import StringStringEntryProto, TensorProto

        where = {"location": location, "offset": str(offset), "length": str(length)}
        entries = [StringStringEntryProto(key=key, value=value) for key, value in where.items()]
        number = getattr(TensorProto, kind)
        external = TensorProto.EXTERNAL
        self._constants.append(
            TensorProto(name=name, dims=shape, data_type=number, data_location=external, external_data=entries)
        )
        return name

    def __call__(self, operator: str, *inputs: str | Constant, **attributes: Any) -> str:
        """Add a node with one result. Inputs are results of other nodes, or numbers."""
        from onnx import helper

        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        result = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def _constant(self, array: Constant) -> str:
        """Store numbers in the graph: integers as int64."""
        from onnx import numpy_helper

        values = np.asarray(array)
        stored = np.ascontiguousarray(values, dtype=self.floats if values.dtype.kind == "f" else np.int64)
        name = f"c{len(self._constants)}"
        # ascontiguousarray makes a lone number a list of one; the shape says what it was.
        self._constants.append(numpy_helper.from_array(stored.reshape(values.shape), name))
        return name

    def affine(self, value: str, scale: Constant, shift: Constant) -> str:
        return self("Add", self("Mul", value, scale), shift)

    def content(self, *, check: bool = True) -> bytes:
        """The finished model, checked; what refers to other files can be checked only where they are."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION)
        model.producer_name = "heartfelt"
        if check:
            onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _value(name: str, shape: Sequence[int | str], kind: str) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), list(shape))


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
        return int(self.parts["output"][0].shape[0])


def linear(graph: Graph, value: str, weights: Weights) -> str:
    matrix, bias = weights
    return graph("Add", graph("MatMul", value, matrix.T), bias)


def encoder_layer(graph: Graph, value: str, layer: Layer, bias: str | None = None) -> str:
    """Attention over all positions, then two matrices; ``bias`` is added to the attention's scores."""
    attended = linear(graph, _attention(graph, value, layer, bias), layer.parts["output"])
    value = layer_norm(graph, graph("Add", value, attended), layer.parts["norm1"], layer.epsilon)
    wide = linear(graph, value, layer.parts["wider"])
    wide = graph("Relu", wide) if layer.activation == "relu" else _gelu(graph, wide)
    narrow = graph("Add", value, linear(graph, wide, layer.parts["narrower"]))
    return layer_norm(graph, narrow, layer.parts["norm2"], layer.epsilon)


def _attention(graph: Graph, value: str, layer: Layer, bias: str | None) -> str:
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


def layer_norm(graph: Graph, value: str, weights: Weights, epsilon: float) -> str:
    return graph("LayerNormalization", value, *weights, axis=-1, epsilon=epsilon)


def _gelu(graph: Graph, value: str) -> str:
    inner = graph("Erf", graph("Mul", value, 1.0 / np.sqrt(2.0)))
    return graph("Mul", graph("Mul", value, 0.5), graph("Add", inner, 1.0))


def weight_and_bias(tensors: Tensors, name: str) -> Weights:
    """A layer's matrix and bias, or a normalisation's scale and shift, under their usual names."""
    return tensors[f"{name}.weight"], tensors[f"{name}.bias"]


def batch_norm(tensors: Tensors, name: str, epsilon: float) -> Weights:
    """A batch normalisation with its running mean and variance as one scale and one shift, in float64."""
    weight, bias, mean, variance = (
        tensors[f"{name}.{key}"].astype(np.float64) for key in ("weight", "bias", "running_mean", "running_var")
    )
    scale = weight / np.sqrt(variance + epsilon)
    return scale, bias - mean * scale
