"""Writing an ONNX graph node by node, with its numbers inside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
        self.constants: list[Any] = []
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
        self.constants.append(
            TensorProto(name=name, dims=shape, data_type=number, data_location=external, external_data=entries)
        )
        return name

    def __call__(self, operator: str, *inputs: object, **attributes: Any) -> str:
        """Add a node with one result. Inputs are results of other nodes (their names), or numbers."""
        from onnx import helper

        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        result = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def constant(self, array: object) -> str:
        """Store numbers in the graph: integers as int64."""
        from onnx import numpy_helper

        values = np.asarray(array)
        stored = np.ascontiguousarray(values, dtype=self.floats if values.dtype.kind == "f" else np.int64)
        name = f"c{len(self.constants)}"
        # ascontiguousarray makes a lone number a list of one; the shape says what it was.
        self.constants.append(numpy_helper.from_array(stored.reshape(values.shape), name))
        return name

    def affine(self, value: str, scale: object, shift: object) -> str:
        return self("Add", self("Mul", value, scale), shift)

    def content(self, *, check: bool = True) -> bytes:
        """The finished model, checked; what refers to other files can be checked only where they are."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=_IR_VERSION)
        model.producer_name = "heartfelt"
        if check:
            onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _value(name: str, shape: Sequence[int | str], kind: str) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, getattr(TensorProto, kind), list(shape))
