"""Writing an ONNX graph node by node, with the weights inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

OPSET = 17
_IR_VERSION = 8
"""Old enough for every ONNX Runtime that knows the operators."""


class Graph:
    """A graph being written. Calling it adds a node and returns the name of what the node gives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], kind: str = "FLOAT") -> str:
        """Declare what the graph is given; a dimension with a name may have any size."""
        self._inputs.append(_value(name, shape, kind))
        return name

    def output(self, value: str, name: str, shape: Sequence[int | str]) -> None:
        """Declare ``value`` as something the graph gives back under ``name``."""
        from onnx import helper

        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(_value(name, shape, "FLOAT"))

    def constant(self, array: npt.NDArray[Any] | Sequence[int] | float) -> str:
        """Keep numbers in the graph: floats as float32, integers as int64."""
        from onnx import numpy_helper

        values = np.asarray(array)
        kept = np.ascontiguousarray(values, dtype=np.float32 if values.dtype.kind == "f" else np.int64)
        name = f"c{len(self._constants)}"
        # ascontiguousarray makes a lone number a list of one; the shape says what it was.
        self._constants.append(numpy_helper.from_array(kept.reshape(values.shape), name))
        return name

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one result."""
        from onnx import helper

        result = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def affine(self, value: str, scale: npt.NDArray[Any], shift: npt.NDArray[Any]) -> str:
        """``value * scale + shift``, with shapes that broadcast."""
        return self("Add", self("Mul", value, self.constant(scale)), self.constant(shift))

    def content(self) -> bytes:
        """The finished model, checked."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION
        )
        model.producer_name = "heartfelt"
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _value(name: str, shape: Sequence[int | str], kind: str) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), list(shape))
