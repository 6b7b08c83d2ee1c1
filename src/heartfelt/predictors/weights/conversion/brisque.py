"""BRISQUE's support vectors (LIBSVM's text format) and the ranges of its statistics, as one graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from PIL import Image

from heartfelt.predictors.networks import brisque
from heartfelt.predictors.weights.conversion import picture
from heartfelt.predictors.weights.conversion.graph import Graph, Tensors
from heartfelt.predictors.weights.conversion.readers import read_lists, read_support_vectors
from heartfelt.predictors.weights.model import Model


def convert(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """The graph: statistics in, scores out."""
    named = {name.rpartition("/")[2]: content for name, content in members.items()}
    facts, vectors = read_support_vectors(named["svm.txt"])
    ranges = read_lists(named["normalize.pickle"])
    scale = 2 / (ranges["max_"] - ranges["min_"])
    # Weights of up to 1,024 cancel each other: single precision would move scores by a tenth.
    graph = Graph("brisque", np.float64)
    value = graph.input("statistics", ["n", vectors.shape[1] - 1], "DOUBLE")
    value = graph.affine(graph("Sub", value, ranges["min_"]), scale, -1.0)
    differences = graph("Sub", graph("Unsqueeze", value, [1]), vectors[None, :, 1:])
    squares = graph("ReduceSum", graph("Mul", differences, differences), [2], keepdims=0)
    kernels = graph("Exp", graph("Mul", squares, -facts["gamma"]))
    score = graph("Sub", graph("MatMul", kernels, vectors[:, 0]), facts["rho"])
    graph.output(score, "score", ["n"], "DOUBLE")
    return {"model.onnx": graph.content()}


def answers(model: Model) -> Tensors:
    pictures = [Image.fromarray(picture(height, width)) for height, width in ((240, 320), (201, 155))]
    statistics = [brisque.statistics(brisque.grey_of(image)) for image in pictures]
    scores = [brisque.score_of(values, model) for values in statistics]
    return {"statistics": np.concatenate(statistics), "scores": np.array(scores)}
