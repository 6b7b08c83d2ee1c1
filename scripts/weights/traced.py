"""Arrays that remember how they were computed from a file of weights, and a graph that stores this in place of the numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from heartfelt.predictors.weights.filling import Recipe
from heartfelt.predictors.weights.graph_writer import Graph


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, and the recipe by which ``heartfelt.predictors.weights.filling`` computes it again."""

    def __init__(self, value: npt.NDArray[Any], recipe: Recipe) -> None:
        self.value = value
        self.recipe = recipe

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Traced:
        if method != "__call__" or options:
            raise TypeError(f"{ufunc.__name__}.{method} with {sorted(options)} has no recipe")
        values = [part.value if isinstance(part, Traced) else part for part in inputs]
        recipes = [part.recipe if isinstance(part, Traced) else part for part in inputs]
        return Traced(np.asarray(ufunc(*values)), [ufunc.__name__, *recipes])

    def astype(self, kind: str) -> Traced:
        return Traced(self.value.astype(kind), ["astype", self.recipe, kind])

    def reshape(self, *shape: int) -> Traced:
        return Traced(self.value.reshape(shape), ["reshape", self.recipe, list(shape)])

    def take(self, indices: int | Sequence[int], axis: int) -> Traced:
        indices = indices if isinstance(indices, int) else list(indices)
        return Traced(np.take(self.value, indices, axis), ["take", self.recipe, indices, axis])

    def transpose(self, *axes: int) -> Traced:
        return Traced(self.value.transpose(axes), ["transpose", self.recipe, list(axes)])


Tensors: TypeAlias = Mapping[str, Traced]


def located(tensors: Mapping[str, npt.NDArray[Any]], weights: bytes) -> Tensors:
    """Tensors as places of the file they were read from."""
    return {name: _located(name, values, weights) for name, values in tensors.items()}


def _located(name: str, values: npt.NDArray[Any], weights: bytes) -> Traced:
    """The tensor's place. Equal bytes elsewhere in the file are as good; some files store their axes in another order."""
    for order in permutations(range(values.ndim)):
        stored = values.transpose(order)
        offset = weights.find(stored.tobytes())
        if offset >= 0:
            place = Traced(stored, ["tensor", values.dtype.str, offset, list(stored.shape)])
            back = [order.index(axis) for axis in range(values.ndim)]
            return place if back == sorted(back) else place.transpose(*back)
    raise ValueError(f"the numbers of '{name}' are not in the file")


class Skeleton(Graph):
    """A graph being written whose numbers from the weights are recipes."""

    def constant(self, array: object) -> str:
        """Store numbers; of a traced array the shape and the recipe."""
        if not isinstance(array, Traced):
            return super().constant(array)
        name = f"c{len(self.constants)}"
        kind = TensorProto.DOUBLE if self.floats is np.float64 else TensorProto.FLOAT
        recipe = json.dumps(array.recipe, separators=(",", ":"))
        self.constants.append(TensorProto(name=name, dims=array.shape, data_type=kind, doc_string=recipe))
        return name
