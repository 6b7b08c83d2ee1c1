"""Heads as one ONNX graph: from an embedding's columns to the answers to every question, clipped to the scale.

The graph computes in double precision, as NumPy does. Its numbers are not stored twice: its constants refer to the bytes of
``model.safetensors`` next to it (ONNX's external data).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from heartfelt.errors import DamagedError
from heartfelt.files import write_bytes
from heartfelt.predictors.trained.folder import ONNX, WEIGHTS
from heartfelt.predictors.trained.heads.head import QuestionHead
from heartfelt.predictors.weights.graph_writer import Graph
from heartfelt.streams import stream

INPUT = "embedding"
_TOLERANCE = 1e-6
"""The largest difference between the graph and NumPy, as a share of the largest answer."""


def write_head_graph(folder: Path, outputs: Sequence[QuestionHead], weights: bytes) -> None:
    """Write ``model.onnx`` next to the weights and compare its answers with NumPy's."""
    heads = _HeadGraph(weights)
    for output in outputs:
        heads.add(output)
    write_bytes(folder / ONNX, heads.graph.content(check=False))
    _compare(folder, outputs)


class _StoredArray(TypedDict):
    """What the header of a safetensors file says of an array."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _HeadGraph:
    """The graph being written, over the arrays of a safetensors file."""

    def __init__(self, weights: bytes) -> None:
        size = int.from_bytes(weights[:8], "little")
        self.start = 8 + size
        self.header: dict[str, _StoredArray] = json.loads(weights[8 : self.start])
        self.graph = Graph("heads", np.float64)
        self.rows = ""

    def array(self, name: str) -> str:
        stored = self.header[name]
        begin, end = stored["data_offsets"]
        kind = {"F64": "DOUBLE", "F32": "FLOAT", "F16": "FLOAT16"}[stored["dtype"]]
        value = self.graph.external(
            name, stored["shape"], kind, location=WEIGHTS, offset=self.start + begin, length=end - begin
        )
        return self._double(value)

    def _double(self, value: str) -> str:
        from onnx import TensorProto

        return self.graph("Cast", value, to=TensorProto.DOUBLE)

    def add(self, output: QuestionHead) -> None:
        g, kind = self.graph, output.head.kind
        if not self.rows:
            columns = self.header[f"{output.question}/mean"]["shape"][0]
            self.rows = self._double(g.input(INPUT, ["rows", columns]))

        def a(name: str) -> str:
            return self.array(f"{output.question}/{name}")

        scaled = g("Mul", g("Sub", self.rows, a("mean")), a("factor"))
        reach = a("reach")
        scaled = g("Min", g("Max", scaled, g("Neg", reach)), reach)
        if kind == "ridge":
            value = g("MatMul", scaled, a("weight"))
        elif kind == "kernel":
            value = g("MatMul", self._radial(g("MatMul", scaled, a("basis")), a("centres"), a("width")), a("weight"))
        else:
            value = self._layers(g("MatMul", scaled, a("basis")), a, soft=kind == "ordinal")
        if kind != "ordinal":
            value = g("Add", value, a("intercept"))
        if output.bounds is not None:
            value = g("Min", g("Max", value, output.bounds[0]), output.bounds[1])
        g.output(value, output.question, ["rows"], "DOUBLE")

    def _radial(self, scaled: str, centres: str, width: str) -> str:
        g = self.graph
        rows = g("ReduceSum", g("Mul", scaled, scaled), [1], keepdims=1)
        points = g("ReduceSum", g("Mul", centres, centres), [1], keepdims=0)
        across = g("Mul", g("MatMul", scaled, g("Transpose", centres, perm=[1, 0])), 2.0)
        distance = g("Max", g("Sub", g("Add", rows, points), across), 0.0)
        return g("Exp", g("Neg", g("Mul", distance, width)))

    def _layers(self, hidden: str, a: Callable[[str], str], *, soft: bool) -> str:
        """Two hidden layers of tanh, then a number or the mean of probabilities of the scale's points."""
        g = self.graph
        for layer in "12":
            hidden = g("Tanh", g("Add", g("MatMul", hidden, a(f"w{layer}")), a(f"b{layer}")))
        last = g("MatMul", hidden, a("w3"))
        return g("MatMul", g("Softmax", g("Add", last, a("b3")), axis=-1), a("points")) if soft else last


def _compare(folder: Path, outputs: Sequence[QuestionHead]) -> None:
    """Raise unless the graph answers as NumPy does, about ordinary rows and about rows far from the training stimuli."""
    import onnxruntime

    mean = np.asarray(outputs[0].head.arrays["mean"])
    factor = np.asarray(outputs[0].head.arrays["factor"])
    size = np.where(factor > 0, 1.0 / np.maximum(factor, 1e-12), 1.0)
    draw = stream(0, "head graph").normal(0.0, 1.0, (6, mean.size)) * np.array([0.01, 0.03, 0.1, 0.3, 1, 9])[:, None]
    rows = (mean + size * draw).astype(np.float32)
    session = onnxruntime.InferenceSession(str(folder / ONNX), providers=["CPUExecutionProvider"])
    answers = session.run([output.question for output in outputs], {INPUT: rows})
    for output, answer in zip(outputs, answers, strict=True):
        expected = output.on_scale(output.head.answer(rows))
        worst = float(np.abs(answer - expected).max())
        if not worst <= _TOLERANCE * max(float(np.abs(expected).max()), 1.0):
            raise DamagedError(
                f"model.onnx answers '{output.question}' with differences of up to {worst:.2g}.",
                "Report this: a bug of heartfelt or of ONNX Runtime.",
            )
