"""BRISQUE's support vectors and the ranges of its statistics, as one graph. The vectors are read from LIBSVM's text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scripts.weights.traced import Skeleton, Traced


def vectors(text: bytes, rows: npt.NDArray[np.float64]) -> Traced:
    """The support vectors as a place of the file: a row per vector, its weight, then a number and a value per component."""
    head, mark, body = text.partition(b"\nSV\n")
    numbers = np.array(body.replace(b":", b" ").split()).astype(np.float64).reshape(len(rows), -1)
    table = Traced(numbers, ["text", len(head) + len(mark), list(numbers.shape)])
    if not np.array_equal(_components(table).value, rows[:, 1:]) or not np.array_equal(numbers[:, 0], rows[:, 0]):
        raise ValueError("some vectors lack components, which only the reader allows")
    return table


def build(
    graph: Skeleton, table: Traced, facts: Mapping[str, float], ranges: Mapping[str, npt.NDArray[np.float64]]
) -> None:
    """Statistics in, scores out; in double precision, because weights of up to 1,024 cancel each other."""
    components = _components(table)
    scale = 2 / (ranges["max_"] - ranges["min_"])
    value = graph.input("statistics", ["n", components.shape[1]], "DOUBLE")
    value = graph.affine(graph("Sub", value, ranges["min_"]), scale, -1.0)
    differences = graph("Sub", graph("Unsqueeze", value, [1]), components.reshape(1, *components.shape))
    squares = graph("ReduceSum", graph("Mul", differences, differences), [2], keepdims=0)
    kernels = graph("Exp", graph("Mul", squares, -facts["gamma"]))
    score = graph("Sub", graph("MatMul", kernels, table.take(0, axis=1)), facts["rho"])
    graph.output(score, "score", ["n"], "DOUBLE")


def _components(table: Traced) -> Traced:
    return table.take(range(2, table.shape[1], 2), axis=1)
