"""Which network each model is, and how its tensors are called there."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scripts.weights import brisque, distillmos, efficientnet, mini_xception, minilm, mtcnn, musicnn
from scripts.weights.readers import (
    read_checkpoint,
    read_hdf5,
    read_lists,
    read_safetensors,
    read_support_vectors,
    read_torch,
)
from scripts.weights.traced import Skeleton, Tensors, located

from heartfelt.predictors.networks.images.faces import NETWORKS
from heartfelt.predictors.weights import Pretrained

Arrays = Mapping[str, npt.NDArray[Any]]
Build = Callable[[Skeleton, Tensors], None]

_KERAS = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
_STAGES = (5, 6)
"""Stages whose means know more of style and mood than the last layer."""
_BUILDERS: dict[tuple[str, str], tuple[str, Build]] = {
    ("musicnn-msd", "model.onnx"): ("musicnn", musicnn.build),
    ("musicnn-mtt", "model.onnx"): ("musicnn", musicnn.build),
    **{
        (f"efficientnet-lite{variant}", "model.onnx"): (
            f"efficientnet-lite{variant}",
            partial(efficientnet.build, variant=variant),
        )
        for variant in (0, 1, 2)
    },
    ("efficientnet-lite2-stages", "model.onnx"): (
        "efficientnet-lite2",
        partial(efficientnet.build, variant=2, stages=_STAGES),
    ),
    ("distillmos", "model.onnx"): ("distillmos", distillmos.build),
    ("minilm", "model.onnx"): ("minilm", minilm.build),
    ("fer", "model.onnx"): ("mini-xception", mini_xception.build),
    **{
        ("mtcnn", stored): (layers.name, partial(mtcnn.build, layers=layers))
        for stored, layers in zip(NETWORKS, mtcnn.CASCADE, strict=True)
    },
}
"""By model and stored file: the graph's name, and what builds it."""


def skeleton(model: Pretrained, stored: str, archive: zipfile.ZipFile) -> bytes:
    """The graph of a model's stored file, with recipes in place of what comes from the weights."""
    member = model.files[stored]
    weights = archive.read(member)
    if model.name == "brisque":
        graph = Skeleton("brisque", np.float64)
        facts, rows = read_support_vectors(weights)
        ranges = read_lists(archive.read("brisque/models/normalize.pickle"))
        brisque.build(graph, brisque.vectors(weights, rows), facts, ranges)
    else:
        name, build = _BUILDERS[model.name, stored]
        graph = Skeleton(name)
        build(graph, located(tensors_of(member, weights, archive), weights))
    return graph.content(check=False)


def tensors_of(member: str, weights: bytes, archive: zipfile.ZipFile) -> Arrays:
    """The tensors of a file of weights, by the names that the networks use."""
    if ".data-" in member:
        return read_checkpoint(archive.read(f"{member.partition('.data-')[0]}.index"), weights)
    if member.endswith(".safetensors"):
        return read_safetensors(weights)
    if member.endswith(".hdf5"):
        return _keras_layers(read_hdf5(weights))
    return {name.removeprefix("model."): tensor for name, tensor in read_torch(weights).items()}


def _keras_layers(tensors: Arrays) -> Arrays:
    paths = ((path.removesuffix(":0").split("/"), values) for path, values in tensors.items())
    return {f"{path[1]}.{_KERAS.get(path[3], path[3])}": values for path, values in paths if path[0] == "model_weights"}
