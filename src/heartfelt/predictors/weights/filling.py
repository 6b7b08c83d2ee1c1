"""Published weights put into a graph that was built without them.

``graphs/MODEL.FILE`` is an ONNX graph whose large constants have no numbers. Where such a constant has a recipe (JSON in its
``doc_string``), its numbers are computed from the file of weights: ``["tensor", type, offset, shape]`` lies at that offset of the
file, ``["text", offset, shape]`` is written there in digits; every other recipe names an operation of NumPy, with recipes and
numbers as its arguments. Offsets are safe because a file is read only if its hash is the known one. ``scripts/weights`` writes
the graphs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heartfelt.predictors.weights.model import Pretrained

Array: TypeAlias = npt.NDArray[Any]
Recipe: TypeAlias = list[Any]

GRAPHS = files("heartfelt.predictors.weights") / "graphs"
_ELEMENTWISE = {"add", "divide", "less", "matmul", "multiply", "negative", "sqrt", "subtract"}
_LAYOUT: dict[str, Callable[..., Array]] = {
    "astype": lambda array, kind: array.astype(kind),
    "reshape": np.reshape,
    "take": np.take,
    "transpose": np.transpose,
}
_STORED_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<f4"), 11: np.dtype("<f8")}
"""By ONNX's number of the type."""


def converted(model: Pretrained, members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files that are stored of a model: its graphs, filled, and what is stored as it was published."""
    return {
        stored: filled((GRAPHS / f"{model.name}.{stored}").read_bytes(), members[member])
        if stored in model.built_files
        else members[member]
        for stored, member in model.files.items()
    }


def filled(skeleton: bytes, weights: bytes) -> bytes:
    """The graph with the numbers its recipes take from a file of weights."""
    import onnx

    model = onnx.load_model_from_string(skeleton)
    for constant in model.graph.initializer:
        if constant.doc_string:
            values = evaluate(json.loads(constant.doc_string), weights).reshape(tuple(constant.dims))
            constant.raw_data = np.ascontiguousarray(values, _STORED_TYPES[constant.data_type]).tobytes()
            constant.ClearField("doc_string")
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def evaluate(recipe: Recipe, weights: bytes) -> Array:
    """The array that a recipe makes of a file of weights."""
    operation, *arguments = recipe
    if operation == "tensor":
        kind, offset, shape = arguments
        return np.frombuffer(weights, kind, math.prod(shape), offset).reshape(shape)
    if operation == "text":
        offset, shape = arguments
        return np.array(weights[offset:].replace(b":", b" ").split()).astype(np.float64).reshape(shape)
    values = [evaluate(argument, weights) if _is_recipe(argument) else argument for argument in arguments]
    if operation in _LAYOUT:
        return _LAYOUT[operation](*values)
    if operation not in _ELEMENTWISE:
        raise ValueError(f"the recipe asks for '{operation}', which is unknown")
    computed: Array = getattr(np, operation)(*values)
    return computed


def _is_recipe(argument: Any) -> bool:
    """A recipe begins with the name of its operation; other lists are shapes and indices."""
    return isinstance(argument, list) and bool(argument) and isinstance(argument[0], str)
